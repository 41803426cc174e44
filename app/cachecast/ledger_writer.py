"""Ledger rows and log rows into the tables of a run."""

import json
from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa

from cachecast.results import RunWriter
from cachecast.results.schema import LEDGER, MISSES, REQUESTS, requests_batch
from cachecast_datasets.errors import BadInput
from cachecast_datasets.request_log import SCHEMA
from cachecast_datasets.trace import Trace
from cachecast_pricing.rules.reasons import UNAVOIDABLE
from cachecast_pricing.usage import CLASSES
from cachecast_sim.ledger import LedgerRow
from cachecast_sim.totals import merged

BATCH_ROWS = 4_096


class LedgerSink:
    """Collects rows and writes them in batches; call `flush` at the end."""

    def __init__(self, run: RunWriter) -> None:
        self._ledger = run.table("ledger", LEDGER)
        self._misses = run.table("misses", MISSES)
        self._rows: list[dict[str, Any]] = []
        self._reasons: list[dict[str, Any]] = []

    def __call__(self, scenario: str, row: LedgerRow) -> None:
        """One more row."""
        self._rows.append(_ledger_values(scenario, row))
        for reason, tokens, cost in merged(row):
            self._reasons.append(
                {
                    "scenario": scenario,
                    "row": row.outcome.ordinal,
                    "request_id": row.request.request_id,
                    "reason": reason,
                    "tokens": tokens,
                    "cost_picounits": cost,
                    "avoidable": reason not in UNAVOIDABLE,
                }
            )
        if len(self._rows) >= BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what was collected."""
        try:
            ledger = pa.RecordBatch.from_pylist(self._rows, schema=LEDGER)
            misses = pa.RecordBatch.from_pylist(self._reasons, schema=MISSES)
        except (OverflowError, pa.ArrowInvalid):
            raise BadInput(
                "a request costs more than a run can hold (9,223,372 of the currency): "
                "are its token counts right?"
            ) from None
        self._ledger.write(ledger)
        self._misses.write(misses)
        self._rows, self._reasons = [], []


def _ledger_values(scenario: str, row: LedgerRow) -> dict[str, Any]:
    request, paid = row.request, row.charge
    explanation = row.outcome.explanation
    values: dict[str, Any] = {
        "scenario": scenario,
        "row": row.outcome.ordinal,
        "request_id": request.request_id,
        "arrival": request.arrival_us,
        "session_id": request.session_id,
        "account": request.account,
        "provider": None if row.model is None else row.model.provider,
        "model": None if row.model is None else row.model.model,
        "log_model": request.model,
        "status": row.outcome.status,
        "prompt_tokens": row.usage.prompt_tokens,
        "hit_tokens": row.outcome.hit_tokens,
        "without_cache": row.without_cache,
        "reason": explanation.reason,
        "candidates": list(explanation.candidates),
        "evidence": json.dumps(dict(explanation.evidence)) if explanation.evidence else None,
    }
    for name in CLASSES:
        values[name] = getattr(row.usage, name)
    if paid is not None:
        values |= {
            "charge_fresh": paid.fresh,
            "charge_cache_read": paid.cache_read,
            "charge_cache_write": paid.cache_write,
            "charge_output": paid.output,
            "charge_total": paid.total,
            "charge_low": paid.low,
            "charge_high": paid.high,
            "currency": paid.currency,
        }
    return values


def write_requests(run: RunWriter, trace: Trace, counted: Collection[bool] | None = None) -> None:
    """The log's own columns, without the content, as the table `requests`."""
    table = run.table("requests", REQUESTS)
    names = [name for name in REQUESTS.names if name in SCHEMA.names]
    first = 0
    for batch in trace.batches(names):  # checked, and without secrets
        rows = requests_batch(batch, first)
        if counted is not None:
            rows = rows.filter(pa.array(np.asarray(counted)[first : first + batch.num_rows]))
        table.write(rows)
        first += batch.num_rows
