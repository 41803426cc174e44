"""The tables of a run, as they lie in its Parquet files.

Money in the files is an integer number of picounits (1e-12) of the row's currency; null is "no
price". The views turn it into exact decimals of the currency itself.
"""

import pyarrow as pa

from cachecast_datasets import request_log
from cachecast_pricing.usage import CLASSES

FORMAT_NAME = "cachecast.run"
VERSION = 1

# The columns of a log that no question about a bill needs, and that make up nearly all its bytes.
_CONTENT_COLUMNS = frozenset(
    {"blocks", "boundaries", "token_blocks", "token_ids", "output_token_ids", "answer_hash"}
)

REQUESTS = pa.schema(
    [
        pa.field("row", pa.int64(), nullable=False),
        *(field for field in request_log.SCHEMA if field.name not in _CONTENT_COLUMNS),
    ]
)

LEDGER = pa.schema(
    [
        pa.field("scenario", pa.string(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
        pa.field("request_id", pa.string(), nullable=False),
        pa.field("arrival", pa.timestamp("us", tz="UTC"), nullable=False),
        ("session_id", pa.string()),
        ("account", pa.string()),
        ("provider", pa.string()),
        ("model", pa.string()),
        ("log_model", pa.string()),
        ("status", pa.string()),
        ("prompt_tokens", pa.int64()),
        *((name, pa.int64()) for name in CLASSES),
        ("hit_tokens", pa.int64()),
        ("charge_fresh", pa.int64()),
        ("charge_cache_read", pa.int64()),
        ("charge_cache_write", pa.int64()),
        ("charge_output", pa.int64()),
        ("charge_total", pa.int64()),
        ("without_cache", pa.int64()),
        ("charge_low", pa.int64()),
        ("charge_high", pa.int64()),
        ("currency", pa.string()),
        ("reason", pa.string()),
        ("candidates", pa.list_(pa.string())),
        ("evidence", pa.string()),
    ]
)

MISSES = pa.schema(
    [
        pa.field("scenario", pa.string(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
        pa.field("request_id", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("tokens", pa.int64(), nullable=False),
        ("cost_picounits", pa.int64()),
        ("avoidable", pa.bool_()),
    ]
)

# How a fleet served each request; times in nanoseconds from the log's origin.
SERVED = pa.schema(
    [
        pa.field("scenario", pa.string(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
        pa.field("request_id", pa.string(), nullable=False),
        ("session_id", pa.string()),
        ("status", pa.string()),
        ("server", pa.int32()),
        ("decode_server", pa.int32()),
        ("prompt_tokens", pa.int64()),
        ("output_tokens", pa.int64()),
        ("hit_tokens", pa.int64()),
        ("loaded_tokens", pa.int64()),
        ("readmission_hit_tokens", pa.int64()),
        ("readmissions", pa.list_(pa.int64())),
        ("preemptions", pa.int32()),
        ("arrival_us", pa.int64()),
        ("scheduled_ns", pa.int64()),
        ("first_token_ns", pa.int64()),
        ("end_ns", pa.int64()),
        ("ttft_s", pa.float64()),
        ("e2e_s", pa.float64()),
        ("reason", pa.string()),
    ]
)

# What a replay measured: the same, and what only a server behind a socket has.
MEASURED = pa.schema(
    [
        *SERVED,
        ("asked_tokens", pa.int64()),
        ("sent_ns", pa.int64()),
        ("retries", pa.int32()),
        ("finish", pa.string()),
        ("error", pa.string()),
    ]
)

# A fleet's servers over time.
TIMELINE = pa.schema(
    [
        pa.field("server", pa.int32(), nullable=False),
        pa.field("start_s", pa.float64(), nullable=False),
        ("width_s", pa.float64()),
        ("waiting", pa.int64()),
        ("running", pa.int64()),
        ("used_blocks", pa.int64()),
        ("prompt_tokens", pa.int64()),
        ("hit_tokens", pa.int64()),
    ]
)

# The steps of an engine, real or simulated; `start_ns`, `raw_ns`, `probe_ns` and `foreign_cpu` are
# null where nothing was measured.
STEPS = pa.schema(
    [
        pa.field("step", pa.int64(), nullable=False),
        ("start_ns", pa.int64()),
        ("duration_ns", pa.int64()),
        ("raw_ns", pa.int64()),
        ("probe_ns", pa.int64()),
        ("foreign_cpu", pa.float64()),
        ("prefill_tokens", pa.int64()),
        ("prefill_requests", pa.int64()),
        ("prefill_pairs", pa.int64()),
        ("decode_requests", pa.int64()),
        ("decode_context", pa.int64()),
        ("held_tokens", pa.int64()),
    ]
)

# Every run has these; a command that has nothing to say in one of them leaves it empty.
TABLES: dict[str, pa.Schema] = {
    "requests": REQUESTS, "ledger": LEDGER, "misses": MISSES, "served": SERVED,
    "timeline": TIMELINE, "measured": MEASURED, "steps": STEPS,
}  # fmt: skip


def requests_batch(log: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
    """The rows of a request log as rows of `requests`, numbered from `first_row`.

    Columns that the batch lacks become null; columns that the table lacks are left out.
    """
    rows = pa.array(range(first_row, first_row + log.num_rows), pa.int64())
    columns = [rows]
    for field in list(REQUESTS)[1:]:
        if field.name in log.schema.names:
            columns.append(log.column(field.name).cast(field.type))
        else:
            columns.append(pa.nulls(log.num_rows, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=REQUESTS)
