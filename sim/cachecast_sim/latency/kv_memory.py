"""What a token takes in the KV cache, and how many blocks fit into a server, as vLLM counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from cachecast_datasets.errors import BadInput
from cachecast_sim.latency.fields import number
from cachecast_sim.latency.shape import DTYPE_BITS, ModelShape, check_parallel
from cachecast_sim.latency.weights import kv_heads_of, parameter_bytes

GIB = 2**30
FIELDS = {
    "memory_gib": "memory of one GPU in GiB, as the driver reports it",
    "gpu_memory_utilization": "share of it that the engine may use, above 0 to 1",
    "activation_reserve_gib": "GiB of that share kept for activations, graphs and the driver",
}


@dataclass(frozen=True, slots=True)
class GpuMemory:
    """One GPU's memory and how much of it is not for KV blocks.

    The defaults: 0.92 is vLLM's own (`vllm/config/cache.py` at 002f10e, read 2026-11-29; it was
    0.9 before). vLLM measures the reserve in a trial run, so nothing but its log can tell it;
    0 gives an upper bound of the blocks.
    """

    memory_gib: Decimal
    gpu_memory_utilization: Decimal = Decimal("0.92")
    activation_reserve_gib: Decimal = Decimal(0)

    def assumptions(self) -> tuple[str, ...]:
        """What has to be said beside a number of blocks that was computed, not stated."""
        if self.activation_reserve_gib:
            return ()
        return (
            "the blocks were computed from the memory without a reserve for activations: a real "
            "engine has fewer (activation_reserve_gib)",
        )


def kv_bytes_per_token(shape: ModelShape, tensor_parallel: int = 1) -> int:
    """Bytes that one token takes in the KV cache of one rank, over all layers.

    Key and value of each KV head (head_dim elements each); with MLA the one compressed entry, which
    every rank holds. Layers with a window are counted whole, although they drop old tokens.
    """
    return shape.layers * kv_bytes_per_layer(shape, tensor_parallel)


def kv_bytes_per_layer(shape: ModelShape, tensor_parallel: int = 1) -> int:
    """The same for a single layer."""
    check_parallel(shape, tensor_parallel)
    if shape.latent is not None:
        elements = shape.latent.cached_elements
    else:
        elements = 2 * kv_heads_of(shape, tensor_parallel) * shape.head_dim
    return int(elements * DTYPE_BITS[shape.kv_dtype] / 8)


def kv_blocks(
    memory: GpuMemory, shape: ModelShape, block_tokens: int, tensor_parallel: int = 1
) -> int:
    """vLLM's `num_gpu_blocks` (the null block included): every rank holds each block's share.

    floor((memory * utilization - weights - reserve) / (block_tokens * kv_bytes_per_token)), for one
    of `tensor_parallel` GPUs. BadInput where not even two blocks fit.
    """
    usable = int(memory.memory_gib * GIB * memory.gpu_memory_utilization)
    weights = parameter_bytes(shape, tensor_parallel)
    reserve = int(memory.activation_reserve_gib * GIB)
    blocks = blocks_in(usable - weights - reserve, shape, block_tokens, tensor_parallel)
    if blocks < 2:
        raise BadInput(
            f"{shape.name} does not fit: of {_gib(usable)} usable GiB its weights take "
            f"{_gib(weights)} and the reserve {_gib(reserve)}, which leaves "
            f"{max(0, blocks)} blocks of {block_tokens} tokens, expected at least 2"
        )
    return blocks


def blocks_in(
    cache_bytes: int, shape: ModelShape, block_tokens: int, tensor_parallel: int = 1
) -> int:
    """Whole blocks that fit into that many bytes of each rank's KV cache."""
    return cache_bytes // (block_tokens * kv_bytes_per_token(shape, tensor_parallel))


def gpu_memory(table: Mapping[str, object], place: str = "engine") -> GpuMemory:
    """The settings of a table; BadInput for a value that is none."""
    return GpuMemory(
        number(table, place, "memory_gib", "0.001", "100000"),
        number(table, place, "gpu_memory_utilization", "0.01", "1", "0.92"),
        number(table, place, "activation_reserve_gib", "0", "100000", "0"),
    )


def _gib(size: int) -> str:
    return f"{size / GIB:.2f}"
