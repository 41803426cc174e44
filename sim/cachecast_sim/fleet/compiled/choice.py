"""Which fleets the kernels can serve: plain vLLM servers, and numbers that fit into 64 bits."""

from cachecast_sim.fleet.compiled.tables import LogTables, Size
from cachecast_sim.fleet.config import FleetConfig
from cachecast_sim.latency.terms import Terms

_MOST_ROWS = 1 << 22  # of what every server has of every segment: 128 MiB
_LARGEST = 1 << 62
_LAST_ARRIVAL_NS = (
    1 << 60
)  # 36 years, as long as what the kernels have left for the steps behind it


def is_plain(config: FleetConfig) -> bool:
    """Whether its servers are vLLM's, without tiers, lives of blocks or disaggregation."""
    plain = config.fleet.engine == "vllm" and config.engine.ttl_s is None
    return plain and not config.tiers and not config.disaggregated


def size_of(config: FleetConfig, blocks: int) -> Size:
    """Of servers with so many blocks that hold tokens."""
    engine = config.engine
    return Size(
        config.fleet.servers, blocks, engine.block_tokens, engine.max_batch_tokens,
        1 if engine.admission == "sequential" else engine.max_seqs,
    )  # fmt: skip


def fits(log: LogTables, size: Size, terms: Terms, traffic: float) -> bool:
    """Whether the tables have a size that one can hold, and no number in them is too large: nor a
    time, of arrivals that `traffic` has drawn apart."""
    if log.last_arrival_ns / traffic > _LAST_ARRIVAL_NS:
        return False
    rows = size.servers * max(len(log.starts), 2 * size.block_tokens, size.max_seqs)
    if rows > _MOST_ROWS or size.max_seqs > _MOST_ROWS >> 4:
        return False
    if terms.experts is not None and size.max_batch_tokens > 1 << 16:
        return False
    held = size.max_seqs * size.blocks * size.block_tokens
    return terms.largest(size.max_batch_tokens, held) < _LARGEST
