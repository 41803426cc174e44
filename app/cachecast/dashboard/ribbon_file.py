"""Every request of a log under one scenario with the pieces of its prompt, kept for drilling down.

`cachecast why` decides it; this file only remembers it by session. It holds no text of a prompt.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cachecast.why_report import finding_json
from cachecast_sim.ledger import LedgerRow
from cachecast_sim.totals import merged
from cachecast_sim.why.causes import Finding
from cachecast_sim.why.ribbon import blocks_of, pieces_of

_BATCH_ROWS = 4_096

SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("request_id", pa.string()),
        ("session_id", pa.string()),
        ("agent_id", pa.string()),
        ("arrival_us", pa.int64()),
        ("model", pa.string()),
        ("prompt_tokens", pa.int64()),
        ("charge", pa.int64()),
        ("currency", pa.string()),
        ("reason", pa.string()),
        ("finding", pa.string()),
        ("miss_reasons", pa.list_(pa.string())),
        ("miss_tokens", pa.list_(pa.int64())),
        ("miss_costs", pa.list_(pa.int64())),
        ("block_names", pa.list_(pa.string())),
        ("block_labels", pa.list_(pa.string())),
        ("ends", pa.list_(pa.int64())),
        ("blocks", pa.list_(pa.int32())),
        ("kinds", pa.list_(pa.string())),
        ("reasons", pa.list_(pa.string())),
    ]
)

Row = dict[str, Any]


class RibbonFile:
    """A sink of `why_job.ask` that writes the file; whole once it is closed without a fault."""

    def __init__(self, path: Path) -> None:
        self._writer = pq.ParquetWriter(path, SCHEMA, compression="zstd")
        self._rows: list[Row] = []

    def __enter__(self) -> "RibbonFile":
        return self

    def __exit__(self, kind: object, *problem: object) -> None:
        if kind is None:
            self._flush()
        self._writer.close()

    def __call__(self, row: LedgerRow, finding: Finding) -> None:
        """One more request."""
        self._rows.append(_values(row, finding))
        if len(self._rows) >= _BATCH_ROWS:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_batch(pa.RecordBatch.from_pylist(self._rows, schema=SCHEMA))
        self._rows = []


def _values(row: LedgerRow, finding: Finding) -> Row:
    request, paid = row.request, row.charge
    total = row.usage.prompt_tokens
    blocks = blocks_of(request, total)
    pieces = pieces_of(row, blocks)
    misses, reason = merged(row), row.outcome.explanation.reason
    return {
        "row": row.outcome.ordinal,
        "request_id": request.request_id,
        "session_id": request.session_id,
        "agent_id": request.agent_id,
        "arrival_us": request.arrival_us,
        "model": request.model if row.model is None else row.model.model,
        "prompt_tokens": total,
        "charge": None if paid is None else paid.total,
        "currency": None if paid is None else paid.currency,
        "reason": reason,
        "finding": None if reason is None else json.dumps(finding_json(finding)),
        "miss_reasons": [reason for reason, _, _ in misses],
        "miss_tokens": [tokens for _, tokens, _ in misses],
        "miss_costs": [cost for _, _, cost in misses],
        "block_names": [block.name for block in blocks],
        "block_labels": [block.label for block in blocks],
        "ends": [piece.end for piece in pieces],
        "blocks": [piece.block for piece in pieces],
        "kinds": [piece.kind for piece in pieces],
        "reasons": [piece.reason for piece in pieces],
    }


def session_rows(path: Path, session: str | None) -> list[Row]:
    """The requests of one session in log order; None: those that name no session."""
    wanted = [("session_id", "==", session)] if session is not None else None
    table = pq.read_table(path, filters=wanted)
    rows: list[Row] = table.to_pylist()
    if session is None:
        rows = [row for row in rows if row["session_id"] is None]
    for row in rows:
        row["finding"] = None if row["finding"] is None else json.loads(row["finding"])
    return sorted(rows, key=lambda row: row["row"])
