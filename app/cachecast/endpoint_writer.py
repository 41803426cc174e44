"""What a server answered into the tables of a run."""

from typing import Any

import pyarrow as pa

from cachecast.results import RunWriter
from cachecast.results.schema import MEASURED
from cachecast_replay.endpoint.answers import Answer

BATCH_ROWS = 1_024
NS_PER_US = 1000


class AnswerSink:
    """Answers as rows of `measured`, written in batches; call `flush` at the end."""

    def __init__(self, run: RunWriter, endpoint: str) -> None:
        self._measured = run.table("measured", MEASURED)
        self._endpoint = endpoint
        self._rows: list[dict[str, Any]] = []

    def __call__(self, answer: Answer) -> None:
        """One more request that has ended."""
        self._rows.append({"scenario": self._endpoint, "row": answer.index, **answer_row(answer)})
        if len(self._rows) >= BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what was collected."""
        self._measured.write(pa.RecordBatch.from_pylist(self._rows, schema=MEASURED))
        self._rows = []


def answer_row(answer: Answer) -> dict[str, Any]:
    """By the columns of `measured`. What a client cannot see (admission, preemptions) is null."""
    return {
        "request_id": answer.request_id,
        "session_id": answer.session_id,
        "status": "ok" if answer.error is None else "error",
        "server": 0,
        "prompt_tokens": answer.prompt_tokens,
        "output_tokens": answer.output_tokens,
        "asked_tokens": answer.asked_tokens,
        "hit_tokens": answer.hit_tokens,
        "arrival_us": answer.arrival_ns // NS_PER_US,
        "sent_ns": answer.sent_ns,
        "first_token_ns": answer.first_token_ns,
        "end_ns": answer.end_ns,
        "ttft_s": _after(answer.first_token_ns, answer.arrival_ns),
        "e2e_s": _after(answer.end_ns, answer.arrival_ns),
        "retries": answer.retries,
        "finish": answer.finish,
        "error": answer.error,
    }


def _after(time_ns: int | None, start_ns: int) -> float | None:
    return None if time_ns is None else (time_ns - start_ns) / 1e9
