"""OpenTelemetry GenAI spans: OTLP/JSON, flat spans as JSON or JSON lines, or `{"spans": […]}`.

Only the innermost model calls are requests. Input counts are inclusive by the convention; older
instrumentations send an additive one, which the numbers give away. Sources: OTel registry v1.41,
OpenInference, Traceloop, Vercel AI SDK and pydantic-ai spellings; read 2026-11.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from cachecast_datasets.content import hashes_of
from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.readers.fields import seconds_between
from cachecast_datasets.readers.nesting import Span, notes_of, repeated
from cachecast_datasets.readers.otel_spans import FlatSpan, spans_of
from cachecast_datasets.readers.otel_usage import usage_of
from cachecast_datasets.readers.prompt_texts import blocks_of, text_meta
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.rows import read_rows
from cachecast_datasets.readers.token_classes import report
from cachecast_datasets.request import Request
from cachecast_datasets.source import Source

_META = LogMeta("otel", "counts", carries_markers=False, time_origin="absolute")
_PROVIDERS = {
    "aws.bedrock": "bedrock", "aws_bedrock": "bedrock", "gcp.vertex_ai": "vertex_ai",
    "vertex_ai": "vertex_ai", "gcp.gemini": "google", "gcp.gen_ai": "google",
    "azure.ai.openai": "azure", "azure.ai.inference": "azure", "az.ai.openai": "azure",
    "x_ai": "xai", "mistral_ai": "mistral", "moonshot_ai": "moonshot",
}  # fmt: skip
_PLATFORMS = {"bedrock": "bedrock", "vertex_ai": "vertex", "azure": "azure"}
_CALLS = ("chat", "text_completion", "generate_content", "completion", "responses", "message")
_NO_CALLS = (
    "invoke_agent", "create_agent", "execute_tool", "embeddings", "invoke_workflow", "retrieval",
    "rerank",
)  # fmt: skip
_MODEL = (
    "gen_ai.request.model", "llm.model_name", "ai.model.id", "gen_ai.response.model",
    "llm.request.model",
)  # fmt: skip
_SESSION = (
    "gen_ai.conversation.id", "session.id", "langfuse.session.id", "exgentic.session.id",
    "ai.telemetry.metadata.sessionId",
)  # fmt: skip


@dataclass(slots=True)
class _Log:
    """What is counted while spans go by."""

    additive: int = 0
    others: int = 0


def read(source: Source) -> Iterator[Request]:
    """One request an innermost inference span; wrappers are left out and counted."""
    log = _Log()
    spans: list[Span] = []
    requests: list[Request | None] = []
    for row in read_rows(source, "spans"):
        try:
            found = list(spans_of(row))
        except ValueError as problem:
            source.bad(row.fault(str(problem)))
            continue
        for flat in found:
            try:
                request = _request(log, flat) if _is_call(flat) else None
                spans.append(_span(flat, request))
            except ValueError as problem:
                source.bad(row.fault(f"span {flat.span_id}: {problem}"))
                continue
            requests.append(request)
            log.others += request is None
    yield from _kept(source, log, spans, requests)


def _kept(
    source: Source, log: _Log, spans: list[Span], requests: list[Request | None]
) -> Iterator[Request]:
    wrappers, twice = repeated(spans)
    source.notes.extend(notes_of(len(wrappers), len(twice), "spans"))
    if log.others:
        source.notes.append(f"{log.others:,} spans are no model calls and are not counted")
    if log.additive:
        source.notes.append(
            f"{log.additive:,} spans have an input smaller than its cached part: they are read as "
            "additive"
        )
    kept = [
        request
        for index, request in enumerate(requests)
        if request is not None and index not in wrappers | twice
    ]
    _link(kept)
    if any(request.blocks for request in kept):
        marked = any(b.marker for request in kept for b in request.blocks or ())
        source.meta = text_meta(_META, marked)
    yield from kept


def _link(kept: list[Request]) -> None:
    """A parent that is no request of the log is no parent."""
    ids = Counter(request.request_id for request in kept)
    for request in kept:
        if request.parent_request_id not in ids:
            request.parent_request_id = None


def _is_call(flat: FlatSpan) -> bool:
    attributes = flat.attributes
    operation = str(attributes.value("gen_ai.operation.name", "llm.request.type") or "").lower()
    if operation in _NO_CALLS:
        return False
    kind = str(attributes.value("openinference.span.kind", "traceloop.span.kind") or "").upper()
    if operation in _CALLS or kind == "LLM":
        return True
    if kind:
        return False
    vercel = attributes.value("ai.operationId")
    if isinstance(vercel, str):
        return vercel.startswith(("ai.generate", "ai.stream"))
    return attributes.value(*_MODEL) is not None and any(
        "usage" in name or "token_count" in name for name in attributes.raw
    )


def _request(log: _Log, flat: FlatSpan) -> Request:
    attributes = flat.attributes
    named = attributes.text("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system")
    provider = None if named is None else _PROVIDERS.get(named.lower(), named.lower())
    first_s = attributes.seconds(
        "gen_ai.response.time_to_first_chunk", "gen_ai.server.time_to_first_token"
    )
    if first_s is None:
        first_s = attributes.seconds("ai.response.msToFirstChunk", per_second=1000)
    answer = attributes.text("gen_ai.output.text")
    request = Request(
        request_id=flat.key,
        arrival_us=flat.start_us,
        first_token_s=first_s,
        end_s=seconds_between(flat.start_us, flat.end_us),
        session_id=attributes.text(*_SESSION) or flat.trace_id,
        parent_request_id=flat.parent_key,
        provider=provider,
        platform=None if provider is None else _PLATFORMS.get(provider),
        model=attributes.text(*_MODEL),
        model_served=attributes.text("gen_ai.response.model", "ai.response.model"),
        service_tier=attributes.text(
            "gen_ai.openai.request.service_tier", "openai.request.service_tier"
        ),
        answer_hash=None if answer is None else hashes_of(answer).raw,
        status="error" if flat.failed else "ok",
        response_id=attributes.text("gen_ai.response.id", "ai.response.id"),
        source_line=flat.number,
    )
    found = usage_of(attributes)
    if found is not None:
        log.additive += found.surprising
        report(request, found)
    request.blocks = blocks_of(
        attributes.json("gen_ai.input.messages", "ai.prompt.messages", "input.value"),
        attributes.json("gen_ai.system_instructions"),
        attributes.json("gen_ai.tool.definitions"),
        request.prompt_tokens,
    )
    if request.blocks and request.prompt_tokens is None:
        request.prompt_tokens = sum(block.tokens for block in request.blocks)
    return request


def _span(flat: FlatSpan, request: Request | None) -> Span:
    return Span(
        key=flat.key,
        parent=flat.parent_key,
        start_us=flat.start_us,
        end_us=flat.end_us,
        call=request is not None,
        told=request is not None and request.observed is not None,
        response_id=None if request is None else request.response_id,
    )


def _recognises(head: Head) -> bool:
    if {"resourceSpans", "resourceSpans:"} & (head.keys | head.row_keys):
        return True
    ids = {"span_id", "spanId", "context", "parent_id"} & head.fields
    return "attributes" in head.fields and bool(ids)


READER = Reader(
    name="otel",
    description='OpenTelemetry GenAI spans ({"resourceSpans"}, {"spans"} or flat span JSONL)',
    recognises=_recognises,
    read=read,
    meta=_META,
    became={
        "traceId, spanId": "request_id",
        "parentSpanId": "parent_request_id; which spans wrap others",
        "startTimeUnixNano, endTimeUnixNano, start_time, end_time": "arrival, end_s",
        "gen_ai.provider.name, gen_ai.system": "provider, platform",
        "gen_ai.request.model, gen_ai.response.model": "model, model_served",
        "gen_ai.response.id": "response_id; a response told twice is counted once",
        "gen_ai.conversation.id, session.id": "session_id (else the trace)",
        "gen_ai.operation.name, openinference.span.kind, ai.operationId": "which spans are calls",
        "gen_ai.usage.input_tokens and its spellings": "prompt_tokens; observed.fresh = input - "
        "read - written, or the input itself where it is smaller than the cached part",
        "gen_ai.usage.cache_read.input_tokens and its spellings": "observed.cache_read",
        "gen_ai.usage.cache_creation.input_tokens and its spellings": "observed."
        "cache_write_unknown",
        "gen_ai.usage.output_tokens, gen_ai.usage.reasoning.output_tokens": "observed.output, "
        "observed.output_reasoning",
        "ai.response.providerMetadata": "observed with the lifetimes of writes",
        "gen_ai.system_instructions, gen_ai.tool.definitions, gen_ai.input.messages": "blocks, "
        "where recorded (sizes estimated)",
        "gen_ai.output.messages, gen_ai.output.text": "answer_hash (of a plain text)",
        "status": "status",
    },
    cannot_tell=(
        "how long written entries live (no attribute says it), except from Vercel's metadata",
        "cache markers and every cache setting of the request",
        "the account",
        "which convention an input is in that is larger than its cached part: inclusive is taken",
        "content that an instrumentation filtered or cut",
    ),
)
