"""The fleet file: what the servers are, as frozen values; an unknown or bad field is bad input."""

import re
from collections.abc import Mapping
from decimal import Decimal, localcontext
from typing import Annotated, Any, Literal

import msgspec

from cachecast_datasets.errors import BadInput
from cachecast_sim.fleet.eviction import ORDERS
from cachecast_sim.fleet.routers import ROUTERS
from cachecast_sim.latency.fields import nearest

_HOUR_NS = 3_600_000_000_000
_Count = Annotated[int, msgspec.Meta(ge=1, le=1 << 40)]
_Servers = Annotated[int, msgspec.Meta(ge=1, le=10_000)]  # each takes memory at once
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
_Gpus = Annotated[int, msgspec.Meta(ge=1, le=1024)]
_Positive = Annotated[float, msgspec.Meta(gt=0, le=1e18)]


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table in which every key must be known."""


class FleetTable(Strict, frozen=True):
    """How many servers, behind which router.

    With `prefill_servers` and `decode_servers` the fleet is disaggregated and `servers` is not
    used. `loop` closed: a session's next request waits for the answer before it and its pause.
    `router_balance`: see routers.RouterSettings. `traffic`: requests come so many times as densely
    as the log has them.
    """

    servers: _Servers = 1
    router: str = "round_robin"
    decode_router: str = "least_loaded"
    engine: Literal["vllm", "sglang"] = "vllm"
    loop: Literal["open", "closed"] = "open"
    prefill_servers: _Servers | None = None
    decode_servers: _Servers | None = None
    router_balance: _Count = 32
    traffic: Annotated[float, msgspec.Meta(gt=0, le=1e9)] = 1.0


class EngineTable(Strict, frozen=True):
    """One server's engine. `blocks` counts vLLM's null block; `tokens` is SGLang's pool.

    Instead of either, `memory_gib` and `model`. `ttl_s` is a life that no engine has of its own.
    """

    block_tokens: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)] = 16
    blocks: Annotated[int, msgspec.Meta(ge=2, le=1 << 40)] | None = None
    tokens: _Count | None = None
    max_batch_tokens: _Count = 2048
    max_seqs: _Count = 128
    admission: Literal["concurrent", "sequential"] = "concurrent"
    ignore_output: bool = False
    ttl_s: _Seconds | None = None
    model: str | None = None
    tensor_parallel: _Gpus = 1
    memory_gib: _Positive | None = None
    gpu_memory_utilization: _Positive | None = None
    activation_reserve_gib: _Seconds | None = None


class TransferTable(Strict, frozen=True):
    """The way from a server that prefills to one that decodes."""

    bandwidth_bytes_per_s: _Positive
    latency_s: _Seconds = 0.0


class TierTable(Strict, frozen=True):
    """A tier below the GPU; the first one is the nearest.

    `blocks`, or `gib` where the bytes of a token are known. `shared`: one for all servers.
    `policy` ttl: a life counts from the write; with the others `ttl_s` counts from the last use.
    """

    name: str
    bandwidth_bytes_per_s: _Positive
    latency_s: _Seconds = 0.0
    blocks: _Count | None = None
    gib: _Positive | None = None
    policy: str = "lru"
    ttl_s: _Seconds | None = None
    write: Literal["through", "evicted"] = "evicted"
    shared: bool = False


class CostTable(Strict, frozen=True):
    """What a GPU costs an hour, as text so that it stays exact."""

    gpu_hour: str
    currency: str = "USD"
    gpus_per_server: _Gpus | None = None

    def of(self, gpu_time_ns: int) -> Decimal:
        """So many nanoseconds of one GPU, exact to 1e-12 of the currency."""
        with localcontext(prec=60):  # centuries of many GPUs have more digits than 28
            total = Decimal(gpu_time_ns) * Decimal(self.gpu_hour) / _HOUR_NS
            return total.quantize(Decimal("1e-12"))


class FleetConfig(Strict, frozen=True):
    """A whole fleet file. `latency` is checked by the latency models themselves."""

    latency: dict[str, Any]
    fleet: FleetTable = FleetTable()
    engine: EngineTable = EngineTable()
    tiers: list[TierTable] = []
    transfer: TransferTable | None = None
    kv_bytes_per_token: _Count | None = None
    cost: CostTable | None = None

    @property
    def disaggregated(self) -> bool:
        return self.fleet.prefill_servers is not None

    @property
    def servers(self) -> int:
        """All of them."""
        table = self.fleet
        if table.prefill_servers is not None and table.decode_servers is not None:
            return table.prefill_servers + table.decode_servers
        return table.servers

    def unused(self) -> list[str]:
        """A sentence for each thing that the file states and another makes void."""
        fleet, engine = self.fleet, self.engine
        size = "blocks" if fleet.engine == "vllm" else "tokens"
        found = []
        if engine.memory_gib is not None and getattr(engine, size) is not None:
            found.append(f"engine.memory_gib is not used: engine.{size} states the size")
        if self.transfer is not None and not self.disaggregated:
            found.append("[transfer] is not used: the fleet has no prefill_servers")
        if self.disaggregated and fleet.servers != 1:
            found.append("fleet.servers is not used beside prefill_servers and decode_servers")
        return found

    @property
    def gpus(self) -> int:
        """Of the whole fleet."""
        own = None if self.cost is None else self.cost.gpus_per_server
        return self.servers * (own or self.engine.tensor_parallel)


def fleet_config(data: Mapping[str, Any]) -> FleetConfig:
    """The configuration in a parsed fleet file. BadInput names the field and what it accepts."""
    if "latency" not in data:
        raise BadInput('[latency] is missing, expected a table with kind = "linear", …')
    _check_names(data, FleetConfig, "")
    try:
        config = msgspec.convert(data, FleetConfig, strict=True)
    except msgspec.ValidationError as problem:
        raise BadInput(_sentence(str(problem), data)) from None
    _check_fleet(config)
    if config.latency.get("kind") == "recorded" and config.servers > 1:
        raise BadInput(
            f"latency.kind is 'recorded' with {config.servers} servers, expected one: a replay "
            "records the steps of a single engine"
        )
    _check_engine(config)
    _check_tiers(config)
    if config.cost is not None:
        _check_cost(config.cost)
    return config


def _check_fleet(config: FleetConfig) -> None:
    fleet = config.fleet
    for name, router in (("router", fleet.router), ("decode_router", fleet.decode_router)):
        if router not in ROUTERS:
            raise BadInput(f"fleet.{name} is {router!r}{nearest(router, ROUTERS)}")
    if (fleet.prefill_servers is None) != (fleet.decode_servers is None):
        raise BadInput("fleet has one of prefill_servers and decode_servers, expected both or none")
    if config.disaggregated:
        if config.transfer is None:
            raise BadInput("[transfer] is missing, expected it beside fleet.prefill_servers")
        if fleet.engine != "vllm":
            raise BadInput('fleet.prefill_servers needs engine = "vllm"')


def _check_engine(config: FleetConfig) -> None:
    engine, name = config.engine, config.fleet.engine
    size = "blocks" if name == "vllm" else "tokens"
    stated = engine.blocks if name == "vllm" else engine.tokens
    if stated is None and (engine.memory_gib is None or engine.model is None):
        raise BadInput(f"engine.{size} is missing, expected it, or engine.memory_gib and model")
    if name == "vllm" and engine.max_batch_tokens < engine.max_seqs:
        raise BadInput(
            f"engine.max_batch_tokens is {engine.max_batch_tokens}, expected at least "
            f"engine.max_seqs ({engine.max_seqs}), as vLLM asks for"
        )
    if name == "sglang":
        _check_sglang(engine)


def _check_sglang(engine: EngineTable) -> None:
    if engine.ttl_s is not None:
        raise BadInput('engine.ttl_s needs engine = "vllm"')
    for field, tokens in (("max_batch_tokens", engine.max_batch_tokens), ("tokens", engine.tokens)):
        if tokens is not None and tokens < engine.block_tokens:
            raise BadInput(
                f"engine.{field} is {tokens}, expected at least one page (engine.block_tokens, "
                f"{engine.block_tokens})"
            )


def _check_tiers(config: FleetConfig) -> None:
    if config.tiers and config.fleet.engine != "vllm":
        raise BadInput('[[tiers]] need engine = "vllm"')
    for number, tier in enumerate(config.tiers, start=1):
        place = f"[[tiers]] {number} ({tier.name})"
        if tier.policy not in ORDERS:
            raise BadInput(f"{place}: policy is {tier.policy!r}{nearest(tier.policy, ORDERS)}")
        if (tier.blocks is None) == (tier.gib is None):
            raise BadInput(f"{place}: expected one of blocks and gib")
        if tier.policy == "ttl" and tier.ttl_s is None:
            raise BadInput(f'{place}: ttl_s is missing, expected it with policy = "ttl"')


def _check_cost(cost: CostTable) -> None:
    if not _PRICE.fullmatch(cost.gpu_hour):
        raise BadInput(
            f'cost.gpu_hour is {cost.gpu_hour!r}, expected a price such as "2.50", with at most 6 '
            "digits before the point and 12 after it"
        )
    if not _CURRENCY.fullmatch(cost.currency):
        raise BadInput(f'cost.currency is {cost.currency!r}, expected three letters such as "USD"')


def _check_names(data: Mapping[str, Any], shape: type[msgspec.Struct], place: str) -> None:
    """BadInput for a name that the table does not have, with the nearest one that it has."""
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(shape)}
    for name, value in data.items():
        where = f"{place}{name}"
        if name not in fields:
            raise BadInput(f"{where}: unknown field{nearest(name, fields)}")
        inner = _TABLES.get(name)
        if inner is None:
            continue
        for table in value if isinstance(value, list) else [value]:
            if isinstance(table, Mapping):
                _check_names(table, inner, f"{where}.")


_PRICE = re.compile(r"[0-9]{1,6}(\.[0-9]{1,12})?")
_CURRENCY = re.compile("[A-Z]{3}")
_TABLES: dict[str, type[msgspec.Struct]] = {
    "fleet": FleetTable, "engine": EngineTable, "tiers": TierTable, "transfer": TransferTable,
    "cost": CostTable,
}  # fmt: skip
_KINDS = {
    "int": "a whole number", "float": "a number", "str": "a text in quotes",
    "bool": "true or false", "object": "a table", "array": "tables in [[ ]]",
}  # fmt: skip


def _sentence(message: str, data: Mapping[str, Any]) -> str:
    """msgspec's fault with the field, its value and what is accepted."""
    what, _, path = message.partition(" - at `$")
    dotted = path.rstrip("`").replace("[", ".").replace("]", "")
    steps = [step for step in dotted.split(".") if step]
    value: Any = data
    for step in steps:
        value = value[int(step)] if isinstance(value, list) else value[step]
    name = ".".join(str(int(step) + 1) if step.isdigit() else step for step in steps)
    if what.startswith("Object missing required field"):
        return f"{name}.{what.split('`')[1]} is missing"
    words = what.removeprefix("Expected ").split(", got")[0].replace("`", "")
    kind, _, rest = words.partition(" ")
    kinds = " or ".join(_KINDS.get(k, k) for k in kind.split("|"))
    shown = "a table" if isinstance(value, Mapping) else repr(value)
    if what.startswith("Invalid enum value"):
        return f"{name} is {shown}, expected {_choices(name)}"
    accepted = f"{kinds} {rest}".replace("| null", "").replace("null", "").strip()
    return f"{name} is {shown}, expected {' '.join(accepted.split())}"


def _choices(name: str) -> str:
    table, _, field = name.rpartition(".")
    shape = _TABLES[table.split(".")[0]]
    kinds = {f.encode_name: f.type for f in msgspec.structs.fields(shape)}
    values = getattr(kinds[field], "__args__", ())
    return " or ".join(f'"{value}"' for value in values)
