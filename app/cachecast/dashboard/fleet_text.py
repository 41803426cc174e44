"""A fleet file out of what a form holds: TOML that `cachecast simulate --fleet` reads."""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from cachecast_sim.fleet.routers import ROUTERS
from cachecast_sim.latency.catalog import hardware_catalog, model_catalog

Table = dict[str, Any]
_MIB_PER_GIB = 1024
# what a person may choose, and the least and the most of a number
CHOICES: dict[str, tuple[str, ...]] = {
    "hardware": tuple(hardware_catalog()), "model": tuple(model_catalog()),
    "router": tuple(ROUTERS), "engine": ("vllm", "sglang"), "loop": ("open", "closed"),
    "latency": ("roofline", "linear", "fixed"),
}  # fmt: skip
LIMITS: dict[str, tuple[float, float]] = {
    "tensor_parallel": (1, 64), "servers": (1, 512), "traffic": (0.0001, 1e6),
    "block_tokens": (1, 4096), "blocks": (2, 1 << 40), "max_batch_tokens": (1, 1 << 20),
    "max_seqs": (1, 65_536), "efficiency": (0.001, 1), "step_overhead_ms": (0, 1e6),
    "step_base_ms": (0, 1e6), "per_token_us": (0, 1e6), "prefill_step_ms": (0, 1e6),
    "decode_step_ms": (0, 1e6), "cpu_gib": (0, 1e6), "cpu_gb_per_s": (0.001, 1e6),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FleetForm:
    """What the form shows. `blocks` None: from the memory; `gpu_hour` empty: no price is known.

    The first fleet that a person sees is the example of docs/fleets.md.
    """

    model: str = "llama-3.1-8b"
    hardware: str = "h200-sxm"
    tensor_parallel: int = 1
    servers: int = 4
    router: str = "cache_aware"
    engine: str = "vllm"
    loop: str = "open"
    traffic: float = 1.0
    block_tokens: int = 16
    blocks: int | None = None
    max_batch_tokens: int = 8192
    max_seqs: int = 256
    latency: str = "roofline"
    efficiency: float = 1.0
    step_overhead_ms: float = 0.0
    step_base_ms: float = 10.0
    per_token_us: float = 50.0
    prefill_step_ms: float = 100.0
    decode_step_ms: float = 10.0
    gpu_hour: str = ""
    currency: str = "USD"
    cpu_gib: float = 0.0
    cpu_gb_per_s: float = 25.0

    @property
    def gpus(self) -> int:
        """Of all servers."""
        return self.servers * self.tensor_parallel

    def text(self) -> str:
        """The fleet file."""
        tables = [
            ("fleet", self._fleet()),
            ("engine", self._engine()),
            ("latency", self._latency()),
        ]
        found = [_table(f"[{name}]", table) for name, table in tables]
        if self.cpu_gib:
            tier = {
                "name": "CPU", "gib": self.cpu_gib,
                "bandwidth_bytes_per_s": _number(Decimal(str(self.cpu_gb_per_s)) * 10**9),
            }  # fmt: skip
            found.append(_table("[[tiers]]", tier))
        if self.gpu_hour.strip():
            cost = {"gpu_hour": self.gpu_hour.strip(), "currency": self.currency.strip() or "USD"}
            found.append(_table("[cost]", cost))
        return "\n".join(found)

    def _fleet(self) -> Table:
        table: Table = {"servers": self.servers, "router": self.router, "engine": self.engine}
        if self.loop != "open":
            table["loop"] = self.loop
        if self.traffic != 1:
            table["traffic"] = self.traffic
        return table

    def _engine(self) -> Table:
        size: Table = {"memory_gib": memory_gib(self.hardware)}
        if self.blocks is not None and self.engine == "vllm":
            size = {"blocks": self.blocks}
        elif self.blocks is not None:
            size = {"tokens": self.blocks * self.block_tokens}
        return {
            "block_tokens": self.block_tokens, **size, "model": self.model,
            "tensor_parallel": self.tensor_parallel, "max_batch_tokens": self.max_batch_tokens,
            "max_seqs": self.max_seqs,
        }  # fmt: skip

    def _latency(self) -> Table:
        table: Table = {"kind": self.latency}
        if self.latency == "roofline":
            table |= {
                "model": self.model, "hardware": self.hardware,
                "tensor_parallel": self.tensor_parallel, "compute_efficiency": self.efficiency,
                "memory_efficiency": self.efficiency,
                "step_overhead_s": _scaled(self.step_overhead_ms, 3),
            }  # fmt: skip
        elif self.latency == "linear":
            table |= {
                "step_base_s": _scaled(self.step_base_ms, 3),
                "per_token_s": _scaled(self.per_token_us, 6),
            }
        else:
            table |= {
                "prefill_step_s": _scaled(self.prefill_step_ms, 3),
                "decode_step_s": _scaled(self.decode_step_ms, 3),
            }
        return table


def memory_gib(hardware: str) -> float:
    """What the driver reports of one GPU, in the unit of `engine.memory_gib`."""
    return hardware_catalog()[hardware].memory_bytes / _MIB_PER_GIB**3


def _scaled(value: float, digits: int) -> float:
    """So many powers of ten smaller, as it is written: 0.1 ms are 0.0001 s."""
    return float(Decimal(str(value)).scaleb(-digits))


def _number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def _table(head: str, values: Table) -> str:
    return "\n".join([head, *(f"{name} = {_value(value)}" for name, value in values.items()), ""])


def _value(value: str | float) -> str:
    """JSON's strings and numbers are TOML's too."""
    return json.dumps(value)
