"""Langfuse observations: the API's camelCase JSON, and snake_case CSV or JSON lines of exports.

Only GENERATIONs are model calls. `usageDetails` are disjoint buckets, unless the row's own numbers
say that the input was sent with the cached part in it. Format: langfuse @6275144; read 2026-11.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.readers.fields import Fields, seconds_between
from cachecast_datasets.readers.langfuse_usage import cost_of, usage_of
from cachecast_datasets.readers.nesting import Span, notes_of, repeated
from cachecast_datasets.readers.prompt_texts import prompt_of, text_meta
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.rows import Row, read_rows
from cachecast_datasets.readers.token_classes import Classes, paid, report
from cachecast_datasets.request import Request
from cachecast_datasets.source import Source

_META = LogMeta("langfuse", "counts", carries_markers=False, time_origin="absolute")
_RESPONSE_IDS = ("response_id", "responseId", "gen_ai.response.id", "ls_response_id")
_USAGE = ("usageDetails", "usage_details", "usage")


def read(source: Source) -> Iterator[Request]:
    """One request a generation; wrappers and what was told twice are left out and counted."""
    spans: list[Span] = []
    requests: list[Request | None] = []
    others: Counter[str] = Counter()
    inclusive = 0
    for row in read_rows(source, "data"):
        fields = Fields(row.raw)
        try:
            kind = (fields.text("type") or "").upper()
            made = _request(fields, row) if kind == "GENERATION" else None
            spans.append(_span(fields, kind, made[0] if made else None))
        except ValueError as problem:
            source.bad(row.fault(str(problem)))
            continue
        requests.append(made[0] if made else None)
        if made is None:
            others[kind or "no type"] += 1
        elif made[1] is not None:
            inclusive += made[1].surprising
    wrappers, twice = repeated(spans)
    source.notes.extend(_notes(others, len(wrappers), len(twice), inclusive))
    kept = [
        request
        for index, request in enumerate(requests)
        if request is not None and index not in wrappers | twice
    ]
    if any(request.blocks for request in kept):
        marked = any(b.marker for request in kept for b in request.blocks or ())
        source.meta = text_meta(_META, marked)
    yield from kept


def _notes(others: Counter[str], wrappers: int, twice: int, inclusive: int) -> list[str]:
    notes = notes_of(wrappers, twice, "generations")
    if others:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(others.items()))
        notes.append(f"observations that are no generations are not counted: {kinds}")
    if inclusive:
        notes.append(
            f"{inclusive:,} generations have an input with the cached part in it, as their own "
            "numbers say: they are read as inclusive"
        )
    return notes


def _request(row: Fields, place: Row) -> tuple[Request, Classes | None]:
    start_us = row.arrival_us("startTime", "start_time")
    end_us = row.moment_us("endTime", "end_time")
    first_us = row.moment_us("completionStartTime", "completion_start_time")
    first_s = seconds_between(start_us, first_us)
    if first_s is None:
        first_s = row.seconds("timeToFirstToken", "time_to_first_token")
    end_s = seconds_between(start_us, end_us)
    failed = (row.text("level") or "").upper() == "ERROR"
    request = Request(
        request_id=_id(row),
        arrival_us=start_us,
        first_token_s=first_s,
        end_s=row.seconds("latency") if end_s is None else end_s,
        session_id=row.text("sessionId", "session_id", "traceId", "trace_id"),
        model=row.text("providedModelName", "provided_model_name", "model"),
        service_tier=_service_tier(row),
        status="error" if failed else "ok",
        response_id=_response_id(row),
        source_line=place.number,
    )
    details = row.inner(*_USAGE)
    found = None if details is None or not details.raw else usage_of(details, _metadata(row))
    if found is not None:
        report(request, found)
        request.observed = paid(found.observed, cost_of(row), "estimate")
    stored = row.json("input")
    request.blocks = prompt_of(stored, request.prompt_tokens) if stored else None
    return request, found


def _id(row: Fields) -> str:
    found = row.text("id")
    if found is None:
        raise ValueError("id is missing, expected the observation's id")
    return found


def _span(row: Fields, kind: str, request: Request | None) -> Span:
    start_us = row.arrival_us("startTime", "start_time")
    return Span(
        key=_id(row),
        parent=row.text("parentObservationId", "parent_observation_id"),
        start_us=start_us,
        end_us=row.moment_us("endTime", "end_time"),
        call=request is not None,
        told=request is not None and request.observed is not None,
        response_id=None if request is None else request.response_id,
    )


def _metadata(row: Fields) -> dict[str, Any]:
    """The metadata with the span attributes that Langfuse keeps inside it; {} if it is none."""
    found = row.json("metadata")
    found = dict(found) if isinstance(found, dict) else {}
    attributes = Fields(found).json("attributes")
    return found | (attributes if isinstance(attributes, dict) else {})


def _response_id(row: Fields) -> str | None:
    metadata = _metadata(row)
    for name in _RESPONSE_IDS:
        if isinstance(metadata.get(name), str) and metadata[name]:
            return str(metadata[name])
    answer = row.json("output")
    inner = answer.get("id") if isinstance(answer, dict) else None
    return inner if isinstance(inner, str) and inner else None


def _service_tier(row: Fields) -> str | None:
    parameters = row.json("modelParameters", "model_parameters")
    tier = parameters.get("service_tier") if isinstance(parameters, dict) else None
    return tier if isinstance(tier, str) else None


def _recognises(head: Head) -> bool:
    fields = head.fields
    if "id" not in fields or not {"startTime", "start_time"} & fields or "type" not in fields:
        return False
    own = {
        "traceId", "trace_id", "parentObservationId", "parent_observation_id", "usageDetails",
        "usage_details", "providedModelName", "provided_model_name", "completionStartTime",
    }  # fmt: skip
    return bool(own & fields) and not {"spend", "attributes"} & fields


READER = Reader(
    name="langfuse",
    description="Langfuse observations as JSON, JSONL or CSV (id, type, startTime, usageDetails)",
    recognises=_recognises,
    read=read,
    meta=_META,
    became={
        "id": "request_id",
        "type": "only GENERATION is a request; others are counted in a note",
        "parentObservationId": "which generations wrap others",
        "startTime, endTime, latency": "arrival, end_s (UTC without a zone)",
        "completionStartTime, timeToFirstToken": "first_token_s",
        "sessionId, traceId": "session_id (the trace where there is no session)",
        "providedModelName, model": "model",
        "usageDetails": "observed: disjoint buckets, or inclusive where the row's numbers say so; "
        "reasoning joins the output",
        "costDetails, totalCost, calculatedTotalCost (deprecated)": "observed.cost (estimate)",
        "modelParameters": "service_tier",
        "metadata": "response_id; the span's own input count",
        "input": "blocks, where the export holds it (sizes estimated)",
        "output": "response_id",
        "level": "status",
        "usage, promptTokens (deprecated)": "observed, where usageDetails are missing",
        "name, statusMessage, promptName, promptVersion, promptId, environment, modelId, "
        "usagePricingTierName, userId, projectId, version, createdAt, updatedAt, toolCalls, "
        "toolCallNames, toolDefinitions": "not used",
    },
    cannot_tell=(
        "the account: a Langfuse user or project is not what isolates a cache",
        "the provider and platform, beyond what the model's name says",
        "observations that sampling dropped",
        "how long written entries live, unless the 5m and 1h keys are there",
        "whether a row without a total was sent inclusive: it is read as disjoint",
    ),
)
