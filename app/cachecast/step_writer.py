"""Steps of an engine into the table `steps` of a run."""

from typing import Any

import pyarrow as pa

from cachecast.results import RunWriter
from cachecast.results.schema import STEPS

BATCH_ROWS = 8_192


class StepSink:
    """Collects steps in order and writes them in batches; call `flush` at the end."""

    def __init__(self, run: RunWriter) -> None:
        self._table = run.table("steps", STEPS)
        self._rows: list[dict[str, Any]] = []
        self._written = 0

    def add(
        self, counts: tuple[int, int, int, int, int, int | None], duration_ns: int, **measured: Any
    ) -> None:
        """One more step: prefill tokens, requests and pairs, decode requests and context, and
        held tokens."""
        names = (
            "prefill_tokens", "prefill_requests", "prefill_pairs", "decode_requests",
            "decode_context", "held_tokens",
        )  # fmt: skip
        self._rows.append(
            {
                "step": self._written + len(self._rows),
                "duration_ns": duration_ns,
                **dict(zip(names, counts, strict=True)),
                **measured,
            }
        )
        if len(self._rows) >= BATCH_ROWS:
            self.flush()

    def of_model(
        self, prefill_tokens: int, prefill_requests: int, prefill_pairs: int, decode_requests: int,
        decode_context: int, held_tokens: int | None, duration_ns: int,
    ) -> None:  # fmt: skip
        """One more step, as a latency model tells it."""
        work = (prefill_tokens, prefill_requests, prefill_pairs, decode_requests, decode_context)
        self.add((*work, held_tokens), duration_ns)

    def flush(self) -> None:
        """Write what was collected."""
        self._table.write(pa.RecordBatch.from_pylist(self._rows, schema=STEPS))
        self._written += len(self._rows)
        self._rows = []
