"""OpenRouter generation records (`GET /api/v1/generation`): native counts and the actual charge.

`{"data": {…}}` objects, an array or JSON lines of them. `native_tokens_*` are billed, the others
are of a tokenizer of OpenRouter's own. Format: OpenRouter API reference; read 2026-11.
"""

from collections.abc import Iterator
from decimal import Decimal

from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.readers.fields import Fields
from cachecast_datasets.readers.openrouter_prices import HiddenWrites
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.rows import Row, read_rows
from cachecast_datasets.readers.token_classes import Counts, classes, paid, report
from cachecast_datasets.request import Observed, Request
from cachecast_datasets.source import Source

# spellings of one field, the newest first; usage_cache is cache_discount with the other sign
_COST = ("total_cost", "usage", "cost")
_WRITES = ("native_tokens_cache_write", "native_tokens_cache_creation", "cache_write_tokens")
_NATIVE = ("native_tokens_prompt", "native_tokens_completion")


def read(source: Source) -> Iterator[Request]:
    """One request a record; written tokens that only the charge shows are inferred at the end."""
    hidden = HiddenWrites()
    unbilled = additive = 0
    requests: list[Request] = []
    for row in read_rows(source, "data"):
        fields = Fields(row.raw)
        try:
            request = _request(fields, row)
            discount = discount_of(fields)
        except ValueError as problem:
            source.bad(row.fault(str(problem)))
            continue
        unbilled += request.observed is not None and request.observed.fresh is None
        if request.observed is not None and request.observed.fresh is not None:
            additive += (request.prompt_tokens or 0) > (fields.optional(_NATIVE[0]) or 0)
        stated = fields.value(*_WRITES) is not None
        hidden.add(request, fields.money(*_COST), discount, stated)
        requests.append(request)
    source.notes.extend(hidden.infer())
    if unbilled:
        source.notes.append(
            f"{unbilled:,} records have no native token counts: their classes are unknown"
        )
    if additive:
        source.notes.append(
            f"{additive:,} records have a prompt smaller than its cached part: they are read as "
            "additive"
        )
    yield from requests


def _request(row: Fields, place: Row) -> Request:
    model = row.text("model", "model_permaslug")
    host = row.text("provider_name")
    took_s = row.seconds("generation_time", "generation_time_ms", per_second=1000)
    latency_s = row.seconds("latency", "time_to_first_token_ms", per_second=1000)
    request_id = row.text("id", "generation_id")
    if request_id is None:
        raise ValueError("id is missing, expected the generation's id")
    end_s = max((s for s in (took_s, latency_s) if s is not None), default=None)
    tries = row.value("provider_responses")
    region = row.text("data_region")
    request = Request(
        request_id=request_id,
        arrival_us=row.arrival_us("created_at"),
        # the record does not say whether it was made before or after the response
        arrival_uncertainty_s=end_s,
        first_token_s=latency_s if _streamed(row, latency_s, took_s) else None,
        end_s=end_s,
        provider="openrouter",
        platform=None if host is None else f"openrouter:{host}",
        region=None if region in (None, "global") else region,
        model=model,
        service_tier=row.text("service_tier"),
        status="aborted" if row.truth("cancelled") else "ok",
        attempt=len(tries) if isinstance(tries, list) and tries else None,
        response_id=row.text("upstream_id"),
        source_line=place.number,
    )
    _observe(request, row)
    return request


def _streamed(row: Fields, latency_s: float | None, took_s: float | None) -> bool:
    if latency_s is None or row.truth("streamed") is False:
        return False
    return took_s is not None and latency_s <= took_s


def _observe(request: Request, row: Fields) -> None:
    cost = row.money(*_COST)
    if cost is not None and cost < 0:
        raise ValueError(f"{row.name(*_COST)} is {cost}, expected >= 0")
    own_key = row.truth("is_byok") or False
    if own_key:  # the key's owner pays the host; what OpenRouter says of it is an estimate
        cost = row.money("upstream_inference_cost") or cost
    kind = "estimate" if own_key else "provider"
    if any(row.value(name) is None for name in _NATIVE):
        request.prompt_tokens = row.optional(_NATIVE[0])
        request.output_tokens = row.optional(_NATIVE[1])
        request.observed = paid(Observed(output=request.output_tokens), cost, kind)
        return
    counts = Counts(
        input=row.optional(_NATIVE[0]),
        read=row.count("native_tokens_cached"),
        output=row.optional(_NATIVE[1]),
        write=row.count(*_WRITES),
        reasoning=row.optional("native_tokens_reasoning"),
    )
    usage = {name: value for name, value in row.raw.items() if name.startswith("native_tokens")}
    report(request, classes(counts, "inclusive", usage))
    assert request.observed is not None
    request.observed = paid(request.observed, cost, kind)


def discount_of(row: Fields) -> Decimal | None:
    """What caching saved, negative where write premiums exceed it; old records: `usage_cache`."""
    discount = row.money("cache_discount")
    if discount is not None:
        return discount
    charged = row.money("usage_cache", "cost_cache")
    return None if charged is None else -charged


def _recognises(head: Head) -> bool:
    own = {"native_tokens_prompt", "tokens_prompt"} & head.fields
    return bool(own) and bool({"id", "generation_id"} & head.fields)


READER = Reader(
    name="openrouter",
    description='OpenRouter generation records ({"data": {"id", "native_tokens_prompt", …}})',
    recognises=_recognises,
    read=read,
    meta=LogMeta("openrouter", "counts", carries_markers=False, time_origin="absolute"),
    became={
        "id": "request_id",
        "upstream_id": "response_id",
        "created_at": "arrival, uncertain by the whole duration",
        "model": "model",
        "provider_name": "platform (openrouter:HOST): the host is the cache",
        "native_tokens_prompt": "prompt_tokens; observed.fresh = prompt - cached - written",
        "native_tokens_cached": "observed.cache_read",
        "native_tokens_completion, native_tokens_reasoning": "observed.output, "
        "observed.output_reasoning",
        "total_cost, usage, upstream_inference_cost (own key)": "observed.cost (provider; estimate "
        "with a key of one's own)",
        "cache_discount (old: usage_cache)": "observed.cache_write_5m or _1h, where the charge has "
        "one solution",
        "latency, generation_time, streamed": "first_token_s, end_s",
        "cancelled": "status aborted",
        "service_tier, data_region": "service_tier, region",
        "provider_responses": "attempt (how many hosts were asked)",
        "is_byok": "whether observed.cost is an estimate",
        "tokens_prompt, tokens_completion, num_media_*, num_search_results, finish_reason, "
        "native_finish_reason, router, usage_data": "not used: not what is billed by token",
    },
    cannot_tell=(
        "what the prompts said, so no cache can be simulated",
        "the conversation and the account",
        "written tokens of Anthropic models where the charge has none or several solutions: "
        "they are unknown, and the bill is an interval",
        "whether created_at is the start or the end",
    ),
)
