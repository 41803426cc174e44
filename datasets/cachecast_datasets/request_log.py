"""The request log, version 1: its Parquet schema.

Times are `timestamp[us, UTC]`; where a source knows only relative times, they count from the Unix
epoch and the metadata say `time_origin = relative`.
"""

import pyarrow as pa

VERSION = 1
FORMAT_NAME = "cachecast.request_log"

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
