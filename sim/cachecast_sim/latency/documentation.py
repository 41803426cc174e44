"""The tables of docs/latency.md, from what the code and the catalogue hold (`make docs`)."""

from collections.abc import Sequence

from cachecast_sim.latency.catalog import hardware_catalog, model_catalog, model_tables
from cachecast_sim.latency.hardware import Hardware
from cachecast_sim.latency.kinds import LATENCY_MODELS
from cachecast_sim.latency.kv_memory import GIB
from cachecast_sim.latency.kv_memory import kv_bytes_per_token as kv_bytes
from cachecast_sim.latency.weights import parameter_bytes, weights_of


def tables() -> dict[str, str]:
    """Markdown by the name of its mark in the page."""
    return {"fields": _fields(), "hardware": _hardware(), "models": _models()}


def _fields() -> str:
    rows = [
        (f"`{kind}`", f"`{name}`", meaning)
        for kind, found in LATENCY_MODELS.items()
        for name, meaning in found.fields.items()
    ]
    return _table(("kind", "field", "meaning"), rows)


def _hardware() -> str:
    head = (
        "hardware", "BF16, FP16 TFLOP/s", "FP8 TFLOP/s", "memory MiB", "memory GB/s",
        "link GB/s, both ways", "source", "read",
    )  # fmt: skip
    return _table(head, [_gpu(gpu) for gpu in hardware_catalog().values()])


def _gpu(gpu: Hardware) -> tuple[str, ...]:
    fp8, rate = gpu.fp8_flops_per_s, gpu.memory_bytes_per_s
    return (
        f"`{gpu.name}`",
        f"{gpu.bf16_flops_per_s / 10**12:f}",
        "none" if fp8 is None else f"{fp8 / 10**12:f}",
        f"{gpu.memory_bytes // 2**20:,}",
        f"{rate / 10**9:,f}",
        f"{gpu.interconnect_bytes_per_s / 10**9:,f} ({gpu.interconnect})",
        gpu.source,
        gpu.checked,
    )


def _models() -> str:
    head = (
        "model", "repository at Hugging Face", "parameters", "of them active", "weights GiB",
        "KV bytes a token",
    )  # fmt: skip
    rows = []
    for name, shape in model_catalog().items():
        weights = weights_of(shape)
        rows.append(
            (
                f"`{name}`",
                f"`{model_tables()[name].repository}`",
                f"{weights.total:,}",
                f"{weights.active:,}",
                f"{parameter_bytes(shape) / GIB:.2f}",
                f"{kv_bytes(shape):,}",
            )
        )
    return _table(head, rows)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
