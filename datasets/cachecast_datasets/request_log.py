"""The request log, version 1: its Parquet schema, file metadata and evidence levels.

Times are `timestamp[us, UTC]`; where a source knows only relative times, they count from the Unix
epoch and the metadata say `time_origin = relative`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from cachecast_datasets.errors import at

VERSION = 1
FORMAT_NAME = "cachecast.request_log"

EVIDENCE: tuple[str, ...] = ("text", "tokens", "blocks", "token_blocks", "counts")

_BLOCK = pa.struct(
    [
        ("section", pa.string()),
        ("role", pa.string()),
        ("kind", pa.string()),
        ("message", pa.int32()),
        ("tokens", pa.int64()),
        ("hash", pa.uint64()),
        ("canonical_hash", pa.uint64()),
        ("masked_hash", pa.uint64()),
        ("marker", pa.string()),
        ("label", pa.string()),
    ]
)
_BOUNDARY = pa.struct(
    [
        ("tokens", pa.int64()),
        ("hash", pa.uint64()),
        ("name", pa.string()),
        ("position", pa.int32()),
    ]
)
_OBSERVED = pa.struct(
    [
        ("fresh", pa.int64()),
        ("cache_read", pa.int64()),
        ("cache_write_5m", pa.int64()),
        ("cache_write_30m", pa.int64()),
        ("cache_write_1h", pa.int64()),
        ("cache_write_12h", pa.int64()),
        ("cache_write_unknown", pa.int64()),
        ("output", pa.int64()),
        ("output_reasoning", pa.int64()),
        ("iterations", pa.string()),
        ("raw_json", pa.string()),
        ("cost", pa.decimal128(38, 12)),
        ("currency", pa.string()),
        ("cost_kind", pa.string()),
        ("diagnosis", pa.string()),
    ]
)

SCHEMA = pa.schema(
    [
        pa.field("request_id", pa.string(), nullable=False),
        pa.field("arrival", pa.timestamp("us", tz="UTC"), nullable=False),
        ("arrival_uncertainty_s", pa.float64()),
        ("first_token_s", pa.float64()),
        ("end_s", pa.float64()),
        ("think_time_s", pa.float64()),
        ("account", pa.string()),
        ("session_id", pa.string()),
        ("parent_request_id", pa.string()),
        ("agent_id", pa.string()),
        ("is_sidechain", pa.bool_()),
        ("provider", pa.string()),
        ("platform", pa.string()),
        ("region", pa.string()),
        ("model", pa.string()),
        ("model_served", pa.string()),
        ("service_tier", pa.string()),
        ("speed", pa.string()),
        ("is_batch", pa.bool_()),
        ("settings", pa.map_(pa.string(), pa.string())),
        ("cache_mode", pa.string()),
        ("blocks", pa.list_(_BLOCK)),
        ("boundaries", pa.list_(_BOUNDARY)),
        ("token_block_size", pa.int32()),
        ("token_blocks", pa.list_(pa.uint64())),
        ("hash_scope", pa.string()),
        ("token_ids", pa.list_(pa.int32())),
        ("output_token_ids", pa.list_(pa.int32())),
        ("answer_hash", pa.uint64()),
        ("prompt_tokens", pa.int64()),
        ("output_tokens", pa.int64()),
        ("tools_tokens", pa.int64()),
        ("system_tokens", pa.int64()),
        ("input_types", pa.list_(pa.string())),
        ("output_types", pa.list_(pa.string())),
        ("observed", _OBSERVED),
        ("status", pa.string()),
        ("attempt", pa.int32()),
        ("retry_of", pa.string()),
        ("response_id", pa.string()),
        ("source_line", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class LogMeta:
    """What a whole log says about itself (Parquet key-value metadata).

    `evidence` is the strongest level its rows carry, in the order of `EVIDENCE`; `carries_markers`
    says whether the source could have shown cache markers (then no marker means none was sent);
    `keeps_partial_block` whether a last, partly filled token block has a hash.
    """

    source_format: str
    evidence: str
    carries_markers: bool
    keeps_partial_block: bool = False
    time_origin: str = "relative"
    tokenizer: str | None = None
    salt_id: str | None = None
    text_seen: bool = False


def merged_meta(metas: Sequence[LogMeta], paths: Sequence[Path]) -> LogMeta:
    """What the merged log says about itself. LogError if two kinds of times or of markers mix."""
    first = metas[0]
    _check_markers(metas, paths)
    for meta, path in zip(metas, paths, strict=True):
        if meta.time_origin != first.time_origin:
            problem = (
                f"its times are {meta.time_origin}, those of {paths[0]} are {first.time_origin}; "
                "expected one kind in an import"
            )
            raise at(str(path), None, problem)
    if all(meta == first for meta in metas):
        return first
    return LogMeta(
        source_format="+".join(sorted({meta.source_format for meta in metas})),
        evidence=min((meta.evidence for meta in metas), key=EVIDENCE.index),
        carries_markers=any(meta.carries_markers for meta in metas),
        keeps_partial_block=any(meta.keeps_partial_block for meta in metas),
        time_origin=first.time_origin,
        tokenizer="; ".join(sorted({m.tokenizer for m in metas if m.tokenizer})) or None,
        text_seen=any(meta.text_seen for meta in metas),
    )


def _check_markers(metas: Sequence[LogMeta], paths: Sequence[Path]) -> None:
    """Where content blocks are known, a missing marker must mean the same in every source."""
    known = [
        (meta, path)
        for meta, path in zip(metas, paths, strict=True)
        if meta.evidence in ("text", "blocks")
    ]
    for meta, path in known:
        if meta.carries_markers != known[0][0].carries_markers:
            can = {True: "can show", False: "cannot show"}
            problem = (
                f"its source {can[meta.carries_markers]} cache markers, that of {known[0][1]} "
                f"{can[not meta.carries_markers]} them; expected one kind in an import"
            )
            raise at(str(path), None, problem)
