"""The engines, tiers and links of a fleet, made from its file."""

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from cachecast_sim.fleet.config import FleetConfig, TierTable
from cachecast_sim.fleet.eviction import ORDERS, Uses
from cachecast_sim.fleet.held import held_by_sglang, held_by_vllm
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.kv_size import KvSize
from cachecast_sim.fleet.links import Link
from cachecast_sim.fleet.tiers import Tier, TierStack
from cachecast_sim.fleet.vllm.beside import Beside
from cachecast_sim.fleet.vllm.server import VllmServer
from cachecast_sim.fleet.vllm.transfers import Receive
from cachecast_sim.latency.files import LatencyFiles
from cachecast_sim.latency.kinds import latency_of
from cachecast_sim.latency.logged import LoggedModel, OnStep
from cachecast_sim.latency.model import LatencyModel

if TYPE_CHECKING:  # imported where a fleet has such servers
    from cachecast_sim.fleet.sglang.server import SglangServer

NS = 1_000_000_000


class ServerMaker:
    """Makes one server after the other, each with a latency model and tiers of its own; shared
    tiers are made once. `uses` is what a clairvoyant tier knows of the future; `on_step` hears of
    every step."""

    def __init__(
        self, config: FleetConfig, kv: KvSize, files: LatencyFiles, uses: Uses | None,
        on_step: OnStep | None = None,
    ) -> None:  # fmt: skip
        self._on_step = on_step
        self.latencies: list[LatencyModel] = []
        self.tiers: list[Tier] = []
        self._config = config
        self._kv = kv
        self._files = files
        self._uses = uses
        self._shared: dict[int, Tier] = {}
        self._beside = Beside()

    def vllm(
        self, on_finish: Callable[[Job, int], None],
        hand_over: Callable[[Job, int], None] | None = None, receive: Receive | None = None,
    ) -> VllmServer:  # fmt: skip
        """A server that does both, only prefills (`hand_over`) or only decodes (`receive`)."""
        engine, latency = self._config.engine, self._latency()
        server = VllmServer(
            engine.block_tokens, self._kv.blocks - 1, engine.max_batch_tokens,
            1 if engine.admission == "sequential" else engine.max_seqs, latency,
            on_finish, ttl_ns=None if engine.ttl_s is None else nanoseconds(engine.ttl_s),
            tiers=None if receive is not None else self._tier_stack(),
            hand_over=hand_over, receive=receive, beside=self._beside,
        )  # fmt: skip
        latency.watch(held_by_vllm(server))
        return server

    def sglang(self, on_finish: Callable[[Job, int], None]) -> "SglangServer":
        """A server that does both; it has no null block."""
        from cachecast_sim.fleet.sglang.server import SglangServer
        from cachecast_sim.fleet.sglang.settings import SglangSettings

        engine, latency = self._config.engine, self._latency()
        settings = SglangSettings(
            self._kv.blocks * engine.block_tokens, engine.block_tokens, engine.max_batch_tokens,
            engine.max_seqs, engine.admission,
        )  # fmt: skip
        server = SglangServer(settings, latency, on_finish)
        latency.watch(held_by_sglang(server, engine.block_tokens))
        return server

    def _latency(self) -> LatencyModel:
        """A model of its own for each server; it may remember what it has seen."""
        latency = latency_of(self._config.latency, self._files)
        if self._on_step is not None:
            latency = LoggedModel(latency, self._on_step)
        self.latencies.append(latency)
        return latency

    def link(self) -> Link:
        """The way into one decode server."""
        transfer = self._config.transfer
        assert transfer is not None, "a disaggregated fleet has a transfer table"
        return _link(transfer.bandwidth_bytes_per_s, transfer.latency_s)

    def _tier_stack(self) -> TierStack | None:
        tables = self._config.tiers
        if not tables:
            return None
        per_token = self._kv.bytes_of_a_token("a tier")
        tiers = [self._tier(number, table) for number, table in enumerate(tables)]
        return TierStack(tiers, per_token * self._config.engine.block_tokens)

    def _tier(self, number: int, table: TierTable) -> Tier:
        if number in self._shared:
            return self._shared[number]
        tier = Tier(
            table.name, self._kv.tier_blocks(table, self._config.engine.block_tokens),
            _link(table.bandwidth_bytes_per_s, table.latency_s), ORDERS[table.policy](self._uses),
            write_through=table.write == "through",
            ttl_ns=None if table.ttl_s is None else nanoseconds(table.ttl_s),
            expires_from_write=table.policy == "ttl",
        )  # fmt: skip
        self.tiers.append(tier)
        if table.shared:
            self._shared[number] = tier
        return tier


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds of a number as it is written: 0.1 is one tenth."""
    return round(Fraction(str(seconds)) * NS)


def _link(bytes_per_s: float, latency_s: float) -> Link:
    return Link(Fraction(str(bytes_per_s)), nanoseconds(latency_s))
