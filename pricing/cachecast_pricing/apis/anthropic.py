"""Anthropic Messages: additive. Also Kimi, Qwen and MiniMax where they speak this API.

prompt = input + creation + read; creation = 5m + 1h; thinking is inside the output.
Source: platform.claude.com prompt-caching page, 2026-08-22; anthropic-sdk-python types, 2026-08.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from cachecast_pricing.conventions import Parts, Writes, decide
from cachecast_pricing.counts import Fields, UsageError, known_sum, shown, shown_names
from cachecast_pricing.model_ids import names_region
from cachecast_pricing.usage import CLASSES, Usage
from cachecast_pricing.usage_reading import CountFields, UsageReading

_M5 = "ephemeral_5m_input_tokens"
_H1 = "ephemeral_1h_input_tokens"
_CREATED = "cache_creation_input_tokens"
_READ = "cache_read_input_tokens"
FIELDS = CountFields(
    ("input_tokens", "uncached_input_tokens"),
    ("output_tokens",),
    (_READ, _CREATED, "cache_creation", _M5, _H1, "iterations"),
)


def read(raw: Mapping[str, Any]) -> UsageReading:
    """The usage; with server-side `iterations`, their sum, which is what is billed."""
    reading = _read_one(Fields(raw))
    iterations = raw.get("iterations")
    if not iterations:
        return reading
    if not isinstance(iterations, list) or not all(isinstance(i, Mapping) for i in iterations):
        raise UsageError(f"iterations is {shown(iterations)}, expected a list of usage objects")
    parts = tuple(
        _iteration(Fields(item, f"iterations[{number}]."), reading)
        for number, item in enumerate(iterations)
    )
    total = Usage(**{name: sum(getattr(p.usage, name) for p in parts) for name in CLASSES})
    reasoning = [p.output_reasoning for p in parts if p.output_reasoning is not None]
    return replace(
        reading,
        usage=total,
        unknown=frozenset().union(*(p.unknown for p in parts)),
        output_reasoning=sum(reasoning) if reasoning else reading.output_reasoning,
        iterations=parts,
        notes=(
            *reading.notes,
            *(note for part in parts for note in part.notes),
            f"billed is the sum of {len(parts)} iterations; the top level counts only the last",
        ),
    )


def merge_stream(usages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """One usage object of a stream's own: the last value of each field that is not null.

    message_delta repeats cumulative counts, so nothing is added.
    """
    merged: dict[str, Any] = {}
    for usage in usages:
        merged |= {name: value for name, value in usage.items() if value is not None}
    return merged


def _read_one(fields: Fields) -> UsageReading:
    thinking = fields.inner("output_tokens_details")
    parts = Parts(
        input=fields.first(*FIELDS.input),
        read=fields.first(_READ),
        output=fields.first(*FIELDS.output),
        writes=_writes(fields),
        total=fields.optional("total_tokens"),
        reasoning=None if thinking is None else thinking.optional("thinking_tokens"),
    )
    reading = decide(parts, "additive", ("inclusive",))
    return replace(with_tier(reading, fields), regional=names_region(fields.text("inference_geo")))


def _iteration(fields: Fields, whole: UsageReading) -> UsageReading:
    """One iteration; it may name a model of its own, and is of the request's tier and region."""
    if not fields.raw.keys() & {*FIELDS.input, *FIELDS.beside}:
        found = shown_names(fields.raw)
        raise UsageError(f"{fields.path}{FIELDS.input[0]} is missing, there is only {found}")
    part = _read_one(fields)
    return replace(
        part,
        model=fields.text("model"),
        service_tier=part.service_tier or whole.service_tier,
        standard_tier=part.standard_tier or whole.standard_tier,
        regional=part.regional or whole.regional,
    )


def _writes(fields: Fields) -> Writes:
    """Written tokens by lifetime; a total without its split is of unknown lifetime."""
    split = fields.inner("cache_creation") or fields  # some exports flatten the object
    created = fields.optional(_CREATED)
    if not split.has(_M5, _H1):
        if created is None:
            return Writes(null=fields.is_null(_CREATED))
        return Writes(unknown=created)
    m5, h1 = split.first(_M5), split.first(_H1)
    if m5 is None or h1 is None:
        # one lifetime is null: what the total leaves over belongs to it
        rest = None if created is None else created - known_sum((m5, h1))
        m5, h1 = (rest if m5 is None else m5), (rest if h1 is None else h1)
        if m5 is None or h1 is None:
            return Writes(m5=m5 or 0, h1=h1 or 0, null=True)
    # some SDKs move the counts into the split and leave the total at 0
    if created not in (None, 0, m5 + h1) or m5 < 0 or h1 < 0:
        raise UsageError(
            f"{fields.path}{_CREATED} is {created}, but its split says {m5} (5m) + {h1} (1h)"
        )
    return Writes(m5=m5, h1=h1)


def with_tier(reading: UsageReading, fields: Fields) -> UsageReading:
    """The reading with the tier that the object itself names; a fast request says so in `speed`.

    A tier that nobody knows is kept as it is (no model has a price for it), a speed is noted.
    """
    tier, speed = (fields.text(name) for name in ("service_tier", "speed"))
    tier, speed = (tier or "").strip().lower(), (speed or "").strip().lower()
    if speed == "fast":
        return replace(reading, service_tier="fast")
    notes = reading.notes
    if speed not in ("", "standard"):
        notes += (f"{fields.path}speed is {shown(speed)}, known: standard, fast: not priced",)
    named = None if tier in ("", "standard", "default", "auto") else tier
    standard = tier in ("standard", "default")
    return replace(reading, service_tier=named, standard_tier=standard, notes=notes)
