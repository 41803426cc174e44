"""LiteLLM `LiteLLM_SpendLogs`: rows of the proxy's table as CSV, a JSON array or JSON lines.

The provider's usage is in `metadata.usage_object`; times are UTC, mostly without a zone.
Format: BerriAI/litellm schema.prisma, 2026; read 2026-11.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.readers.fields import Fields, seconds_between
from cachecast_datasets.readers.litellm_usage import Usage, usage_of
from cachecast_datasets.readers.prompt_texts import prompt_of, text_meta
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.rows import Row, read_rows
from cachecast_datasets.readers.token_classes import nothing, paid
from cachecast_datasets.request import ContentBlock, Request
from cachecast_datasets.source import Source

_META = LogMeta("litellm", "counts", carries_markers=False, time_origin="absolute")
_PLATFORMS = {
    "anthropic": "first-party", "openai": "first-party", "deepseek": "first-party",
    "gemini": "first-party", "azure": "azure", "azure_ai": "azure", "bedrock": "bedrock",
    "bedrock_converse": "bedrock", "vertex_ai": "vertex", "openrouter": "openrouter",
}  # fmt: skip
_PROVIDERS = {"gemini": "google", "azure_ai": "azure", "bedrock_converse": "bedrock"}
_TRUNCATED = ("litellm_truncated", "... (truncated ")
_REMARKS = {
    "response cache": "rows were answered by LiteLLM's own response cache: no provider saw them, "
    "they stand with zero usage",
    "truncated": "rows hold a prompt that LiteLLM cut short: they are read without its text",
    "no usage_object": "rows have no metadata.usage_object: what was cached is unknown",
    "additive": "rows have a prompt_tokens without the cached part: they are read as additive",
    "could be both": "anthropic_messages rows fit both conventions: they are read as inclusive",
}


class _Log:
    """What the rows of one log have in common."""

    def __init__(self) -> None:
        self.remarks: Counter[str] = Counter()
        self.texts = False
        self.markers = False
        self.inferred: Counter[str] = Counter()
        self._failed: dict[tuple[str, str | None], str] = {}

    def retry_of(self, request: Request, group: str | None) -> str | None:
        """The failed row of the same session and model group just before a retried one."""
        if request.session_id is None:
            return None
        key = (request.session_id, group)
        if request.status == "error":
            self._failed[key] = request.request_id
            return None
        return self._failed.pop(key, None) if (request.attempt or 1) > 1 else None


def read(source: Source) -> Iterator[Request]:
    """One request a row, rows of the response cache included (with zero usage)."""
    log = _Log()
    for row in read_rows(source, "data"):
        try:
            request = _request(log, row)
        except ValueError as problem:
            source.bad(row.fault(str(problem)))
            continue
        yield request
    if log.texts:
        source.meta = text_meta(_META, log.markers)
    source.notes.extend(f"{count:,} {_REMARKS[kind]}" for kind, count in log.remarks.items())
    if log.inferred["rows"]:
        source.notes.append(
            f"cache writes of {log.inferred['rows']:,} rows ({log.inferred['tokens']:,} tokens) "
            "are inferred from spend and the prices that the rows themselves carry"
        )


def _request(log: _Log, place: Row) -> Request:
    row = Fields(place.raw)
    request_id = row.text("request_id", "id")
    if request_id is None:
        raise ValueError("request_id is missing, expected a string")
    start_us = row.arrival_us("startTime", "start_time")
    end_us = row.moment_us("endTime", "end_time")
    first_us = row.moment_us("completionStartTime", "completion_start_time")
    metadata = row.inner("metadata") or Fields({}, "metadata.")
    provider = row.text("custom_llm_provider")
    retries = metadata.optional("attempted_retries")
    end_s = seconds_between(start_us, end_us)
    request = Request(
        request_id=request_id,
        arrival_us=start_us,
        # LiteLLM copies endTime where nothing was streamed
        first_token_s=None if first_us == end_us else seconds_between(start_us, first_us),
        end_s=row.seconds("request_duration_ms", per_second=1000) if end_s is None else end_s,
        account=row.text("api_key"),
        session_id=row.text("session_id"),
        agent_id=row.text("agent_id"),
        provider=None if provider is None else _PROVIDERS.get(provider, provider),
        platform=None if provider is None else _PLATFORMS.get(provider),
        model=row.text("model"),
        status=_status(row, metadata),
        attempt=None if retries is None else retries + 1,
        source_line=place.number,
    )
    request.retry_of = log.retry_of(request, row.text("model_group"))
    _observe(log, request, row, metadata)
    return request


def _status(row: Fields, metadata: Fields) -> str:
    word = (row.text("status") or metadata.text("status") or "success").lower()
    return "ok" if word in ("success", "ok") else "error"


def _observe(log: _Log, request: Request, row: Fields, metadata: Fields) -> None:
    spend = row.money("spend")
    if row.truth("cache_hit"):
        log.remarks["response cache"] += 1
        request.observed, request.prompt_tokens, request.output_tokens = nothing(), 0, 0
        return
    found = usage_of(row, metadata, spend)
    _count(log, found)
    request.observed = paid(found.observed, spend, "estimate")
    request.prompt_tokens, request.output_tokens = found.prompt_tokens, found.observed.output
    request.blocks = _blocks(log, row, found.prompt_tokens)


def _count(log: _Log, found: Usage) -> None:
    for remark in found.remarks:
        log.remarks[remark] += 1
    if found.inferred is not None:
        log.inferred["rows"] += 1
        log.inferred["tokens"] += found.inferred


def _blocks(log: _Log, row: Fields, total: int | None) -> list[ContentBlock] | None:
    """The stored prompt; None where there is none, or where LiteLLM cut it."""
    body = row.json("proxy_server_request")
    stored = body if isinstance(body, dict) and body.get("messages") else row.json("messages")
    if not stored or stored == "{}":
        return None
    if _is_truncated(stored):
        log.remarks["truncated"] += 1
        return None
    blocks = prompt_of(stored, total)
    if blocks:
        log.texts = True
        log.markers |= any(block.marker is not None for block in blocks)
    return blocks


def _is_truncated(stored: Any) -> bool:
    if isinstance(stored, str):
        return any(word in stored for word in _TRUNCATED)
    if isinstance(stored, dict):
        return any(_is_truncated(value) for value in stored.values())
    return isinstance(stored, list) and any(_is_truncated(value) for value in stored)


def _recognises(head: Head) -> bool:
    return {"request_id", "spend"} <= head.fields and bool(
        {"startTime", "start_time"} & head.fields
    )


READER = Reader(
    name="litellm",
    description="LiteLLM SpendLogs as CSV, JSON or JSONL (request_id, startTime, spend, metadata)",
    recognises=_recognises,
    read=read,
    meta=_META,
    became={
        "request_id": "request_id",
        "startTime, endTime, request_duration_ms": "arrival, end_s (UTC without a zone)",
        "completionStartTime": "first_token_s, where it is not endTime",
        "api_key": "account (hashed)",
        "session_id, agent_id": "session_id, agent_id",
        "model, custom_llm_provider": "model, provider, platform",
        "metadata.usage_object": "observed: inclusive, unless the row's own numbers say otherwise",
        "metadata.model_map_information, metadata.cost_breakdown": "the row's own prices: they "
        "decide the convention and show writes that the usage leaves out",
        "prompt_tokens, completion_tokens, total_tokens": "prompt_tokens and output without a "
        "usage_object",
        "spend": "observed.cost (estimate)",
        "cache_hit": "zero usage: LiteLLM's response cache, not a prompt cache",
        "status, metadata.attempted_retries": "status, attempt, retry_of",
        "messages, proxy_server_request": "blocks, where stored and whole (sizes estimated)",
        "call_type": "which convention is possible",
        "model_id, model_group, api_base, user, cache_key, request_tags, team_id, organization_id, "
        "end_user, requester_ip_address, response, mcp_namespaced_tool_name": "not used",
    },
    cannot_tell=(
        "how long written entries live, unless the usage object was kept with its split",
        "the prompt, unless the proxy stores prompts",
        "provider discounts: spend is made with LiteLLM's price map of that day",
        "which failed row a retry belongs to, unless both name a session and stand in order",
    ),
)
