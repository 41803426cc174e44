"""How large a server's cache is: stated, or computed from the memory and the model."""

from dataclasses import dataclass

from cachecast_datasets.errors import BadInput
from cachecast_sim.fleet.config import FleetConfig, TierTable
from cachecast_sim.latency.files import LatencyFiles

GIB = 2**30


@dataclass(frozen=True, slots=True)
class KvSize:
    """Blocks of one server (vLLM's null block included), and the bytes of a token where known."""

    blocks: int
    bytes_per_token: int | None
    assumptions: tuple[str, ...] = ()

    def tier_blocks(self, tier: TierTable, block_tokens: int) -> int:
        """The capacity of a tier in blocks. BadInput where its GiB do not make a block."""
        if tier.blocks is not None:
            return tier.blocks
        assert tier.gib is not None, "one of blocks and gib was checked"
        blocks = int(tier.gib * GIB) // (self.bytes_of_a_token(f"tier {tier.name}") * block_tokens)
        if blocks < 1:
            raise BadInput(f"tier {tier.name}: gib is {tier.gib:g}, expected room for a block")
        return blocks

    def bytes_of_a_token(self, asker: str) -> int:
        """BadInput where neither a model nor `kv_bytes_per_token` says it."""
        if self.bytes_per_token is None:
            raise BadInput(
                f"{asker} needs the KV bytes of a token, expected kv_bytes_per_token at the top "
                "of the file, or engine.model"
            )
        return self.bytes_per_token


def kv_size(config: FleetConfig, files: LatencyFiles) -> KvSize:
    """The cache of one server. BadInput for an unknown model, or one that does not fit."""
    engine = config.engine
    stated, per_token = _stated(config), config.kv_bytes_per_token
    if engine.model is None:
        assert stated is not None, "checked with the file"
        return KvSize(stated, per_token)
    # the catalogue of models: a fleet that states its blocks does without
    from cachecast_sim.latency.catalog import model_shape
    from cachecast_sim.latency.kv_memory import gpu_memory, kv_blocks, kv_bytes_per_token

    shape = model_shape(engine.model, files)
    if per_token is None:
        per_token = kv_bytes_per_token(shape, engine.tensor_parallel) * engine.tensor_parallel
    if stated is not None:
        return KvSize(stated, per_token)
    names = ("memory_gib", "gpu_memory_utilization", "activation_reserve_gib")
    table = {name: getattr(engine, name) for name in names if getattr(engine, name) is not None}
    memory = gpu_memory(table)
    blocks = kv_blocks(memory, shape, engine.block_tokens, engine.tensor_parallel)
    return KvSize(blocks, per_token, memory.assumptions())


def usable_blocks(config: FleetConfig, kv: KvSize) -> int:
    """Blocks of one server that hold tokens: without vLLM's null block."""
    return kv.blocks - (config.fleet.engine == "vllm")


def _stated(config: FleetConfig) -> int | None:
    """The blocks that the file names; SGLang's pool in whole pages."""
    engine = config.engine
    if config.fleet.engine == "vllm":
        return engine.blocks
    return None if engine.tokens is None else engine.tokens // engine.block_tokens
