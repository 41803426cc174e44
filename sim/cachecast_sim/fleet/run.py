"""A log's run through a fleet that a file describes."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from cachecast_datasets.request import Request
from cachecast_sim.fleet.closed_loop import ClosedLoop
from cachecast_sim.fleet.compiled.choice import fits, is_plain, size_of
from cachecast_sim.fleet.config import FleetConfig
from cachecast_sim.fleet.eviction import Uses
from cachecast_sim.fleet.gaps import GapCounts, counted, together
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.kv_size import kv_size, usable_blocks
from cachecast_sim.fleet.log_jobs import Asked, KeptJobs, LogJobs
from cachecast_sim.fleet.routers import ROUTERS, RouterSettings
from cachecast_sim.fleet.servers import ServerMaker
from cachecast_sim.fleet.summary import FleetTotals
from cachecast_sim.fleet.tiers import Tier
from cachecast_sim.fleet.timeline import Timeline
from cachecast_sim.fleet.vllm.server import VllmServer
from cachecast_sim.fleet.world import FleetWorld
from cachecast_sim.latency.files import LatencyFiles, NoFiles
from cachecast_sim.latency.logged import OnStep

if TYPE_CHECKING:
    from cachecast_sim.fleet.compiled.servers import CompiledServers
    from cachecast_sim.fleet.sglang.server import SglangServer


class FleetRun:
    """One run. `jobs` gives every request that can be served once, in log order; totals, timeline
    and assumptions are complete after the last of them.

    Open loop: memory is bounded by the jobs in flight, the caches and 8 bytes a distinct block.
    Closed loop, or a clairvoyant tier: the whole log's jobs are held.
    """

    def __init__(
        self, config: FleetConfig, files: LatencyFiles | None = None,
        on_step: OnStep | None = None, *, compiled: bool = False,
    ) -> None:  # fmt: skip
        """BadInput for a model, a file or a hardware that does not exist or does not fit.

        `on_step` hears of every step; with several servers they come mixed. `compiled`: kept jobs
        are served in machine code where that can be (`fleet.compiled`), with the same results.
        """
        self._compiled = compiled and on_step is None and is_plain(config)
        self.config = config
        self.totals = FleetTotals()
        self.timeline = Timeline(config.servers)
        self.engines: Sequence[VllmServer | SglangServer] = ()
        self.machine: CompiledServers | None = None  # serves instead of them where that can be
        files = files or NoFiles()
        self.kv = kv_size(config, files)  # of one server
        self._log = LogJobs(*self.cut)
        self._loop: ClosedLoop | None = None
        clairvoyant = any(tier.policy == "clairvoyant" for tier in config.tiers)
        self._uses = Uses() if clairvoyant else None
        self._maker = ServerMaker(config, self.kv, files, self._uses, on_step)
        self._world = FleetWorld(self._ended, self.timeline.sample)
        self._connect()

    @property
    def cut(self) -> tuple[int, bool]:
        """What `KeptJobs` need to know of the engine: tokens of a block, whether outputs count."""
        return self.config.engine.block_tokens, self.config.engine.ignore_output

    def jobs(self, requests: Iterable[Request] | KeptJobs) -> Iterator[Job]:
        """The requests, served; of kept ones with this run's `cut`. BadInput for a request whose
        blocks the engine cannot cache."""
        source = self._asked(requests)
        if self._uses is not None:
            known = list(source)
            for job, _, _ in known:
                self._uses.add(job)
            source = iter(known)
        if self.config.fleet.loop == "closed":
            self._loop = ClosedLoop(source)
            arriving: Iterable[Job] = self._loop.first
        else:
            arriving = (job for job, _, _ in source)
        add, admitted = self.totals.add, self.timeline.admitted
        for job in self._world.run(arriving):
            add(job)
            admitted(job)
            yield job

    @property
    def skipped(self) -> int:
        """Requests without a prompt size."""
        return self._log.skipped

    @property
    def blocks_per_server(self) -> int:
        """Those that hold tokens."""
        return usable_blocks(self.config, self.kv)

    @property
    def gaps(self) -> GapCounts:
        """Nanoseconds between two tokens of a request: how often, over all servers."""
        if self.machine is not None:
            return self.machine.counted_gaps()
        return together(
            engine.counted_gaps() if isinstance(engine, VllmServer) else counted(engine.gaps)
            for engine in self.engines
        )

    @property
    def preemptions(self) -> int:
        return sum(engine.preemptions for engine in self._at_work)

    @property
    def evicted_blocks(self) -> int:
        """Blocks that lost their content on a GPU for want of room."""
        return sum(engine.evicted_blocks for engine in self._at_work)

    @property
    def steps(self) -> int:
        return sum(engine.steps for engine in self._at_work)

    @property
    def _at_work(self) -> "Sequence[VllmServer | SglangServer | CompiledServers]":
        return self.engines if self.machine is None else [self.machine]

    @property
    def gpu_time_ns(self) -> int:
        """The makespan of every GPU, added up."""
        totals = self.totals
        if totals.first_arrival_ns is None or not totals.completed:
            return 0
        return self.config.gpus * (totals.last_end_ns - totals.first_arrival_ns)

    def gpu_hours(self) -> float:
        """Every GPU of the fleet counts from the first arrival to the last end."""
        return self.config.gpus * self.totals.makespan_s / 3600

    @property
    def tiers(self) -> list[Tier]:
        """All tiers below the GPUs."""
        return self._maker.tiers

    def cost(self) -> tuple[Decimal, str] | None:
        """(total, currency) of the GPU hours, exact; None where the file names no price."""
        table = self.config.cost
        return None if table is None else (table.of(self.gpu_time_ns), table.currency)

    def assumptions(self) -> list[str]:
        """What the run took for granted."""
        found = [*self.config.unused(), *self.kv.assumptions]
        for latency in self._maker.latencies:
            found += latency.assumptions()
        seen, pauses = self._log.seen, self._log.pauses
        if seen.prompts_estimated:
            found.append(
                f"{seen.prompts_estimated:,} requests do not say their prompt tokens: the estimate "
                "of their content blocks is taken"
            )
        if seen.outputs_unknown:
            found.append(
                f"{seen.outputs_unknown:,} requests do not say their output tokens: taken as 1"
            )
        if seen.from_content_blocks:
            found.append(
                "token blocks follow from content blocks: a content block that differs anywhere "
                "shares none of its tokens"
            )
        if pauses.guessed and self.config.fleet.loop == "closed":
            found.append(
                f"{pauses.guessed:,} pauses between turns are unknown: the time between the "
                "two arrivals is taken"
            )
        if self.config.fleet.traffic != 1:
            found.append(
                f"the same requests come {self.config.fleet.traffic:g} times as densely (traffic): "
                "so many more users would also need more cache for the same hits"
            )
        if self.skipped:
            found.append(f"{self.skipped:,} requests without a prompt size were left out")
        return list(dict.fromkeys(found))

    def _asked(self, requests: Iterable[Request] | KeptJobs) -> Iterator[Asked]:
        """The requests that can be served, at the times at which they come here."""
        if isinstance(requests, KeptJobs):
            assert requests.cut == self.cut, "kept for engines of another block size"
            self._log = requests.log
            source = requests.asked(on_tables=self._compiled and self._connect_compiled(requests))
        else:
            source = self._log.made(requests, self.config.fleet.loop == "closed")
        traffic = Fraction(str(self.config.fleet.traffic))
        return source if traffic == 1 else _denser(source, traffic)

    def _ended(self, job: Job, now_ns: int) -> None:
        if self._loop is not None:
            self._loop.ended(job, now_ns, self._world.arrive_at)

    def _connect_compiled(self, kept: KeptJobs) -> bool:
        """Servers in machine code instead, if they can serve that log."""
        terms, size = self._maker.latencies[0].terms(), size_of(self.config, self.blocks_per_server)
        if terms is None or not fits(kept.tables, size, terms, self.config.fleet.traffic):
            return False
        from cachecast_sim.fleet.compiled.servers import CompiledServers

        fleet, world = self.config.fleet, self._world
        servers = CompiledServers(
            kept.tables, size, terms, world.finished, self.timeline.sample, world.env.peek,
            stop_at_end=fleet.loop == "closed",
        )  # fmt: skip
        route = ROUTERS[fleet.router](servers.views, RouterSettings(fleet.router_balance))
        world.connect_together(servers, fleet.servers, route)
        self.machine = servers
        return True

    def _connect(self) -> None:
        fleet, make, world = self.config.fleet, self._maker, self._world
        settings = RouterSettings(fleet.router_balance)
        if fleet.prefill_servers is None or fleet.decode_servers is None:
            one = make.sglang if fleet.engine == "sglang" else make.vllm
            self.engines = [one(world.finished) for _ in range(fleet.servers)]
            world.connect(self.engines, ROUTERS[fleet.router](self.engines, settings))
            return
        givers = [
            make.vllm(world.finished, hand_over=world.hand_over)
            for _ in range(fleet.prefill_servers)
        ]
        takers = [
            make.vllm(world.finished, receive=world.receive) for _ in range(fleet.decode_servers)
        ]
        self.engines = [*givers, *takers]
        world.connect(givers, ROUTERS[fleet.router](givers, settings))
        world.connect_decode(
            givers, takers, ROUTERS[fleet.decode_router](takers, settings),
            [make.link() for _ in takers], self.kv.bytes_of_a_token("a transfer"),
        )  # fmt: skip


def _denser(source: Iterator[Asked], traffic: Fraction) -> Iterator[Asked]:
    for asked in source:
        job = asked[0]
        job.arrival_ns = round(job.arrival_ns / traffic)
        yield asked
