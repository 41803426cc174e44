"""A usage object of the Anthropic Messages API as observed token classes (additive)."""

from decimal import Decimal
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from cachecast_datasets.request import Observed

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**50)]
_Known = _Count | None | UnsetType


class _Split(msgspec.Struct):
    m5: _Known = msgspec.field(default=UNSET, name="ephemeral_5m_input_tokens")
    h1: _Known = msgspec.field(default=UNSET, name="ephemeral_1h_input_tokens")


class _Details(msgspec.Struct):
    thinking_tokens: _Count | None = None


class _Counts(msgspec.Struct):
    input_tokens: _Known = UNSET
    output_tokens: _Known = UNSET
    read: _Known = msgspec.field(default=UNSET, name="cache_read_input_tokens")
    created: _Known = msgspec.field(default=UNSET, name="cache_creation_input_tokens")
    cache_creation: _Split | None = None
    output_tokens_details: _Details | None = None


class AnthropicUsage(_Counts):
    """The object; `iterations` are usages of server-side steps whose sum is what is billed."""

    iterations: list[_Counts] | None = None
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None


def observed_of(
    usage: AnthropicUsage, raw: bytes, cost: float | None = None
) -> tuple[Observed, int | None]:
    """The classes and the prompt's size. A class that the API left out is 0, a null is unknown.

    Of several iterations the classes are the sum, which is what is billed, and the prompt is the
    first one's, which is what was sent. ValueError if the writes of the two lifetimes contradict
    their total.
    """
    steps: list[_Counts] = list(usage.iterations or []) or [usage]
    classes = [_classes(step) for step in steps]
    fresh, read, m5, h1, unknown, output = (
        _sum([one[number] for one in classes]) for number in range(6)
    )
    thinking = [
        step.output_tokens_details.thinking_tokens
        for step in steps
        if step.output_tokens_details is not None
    ]
    observed = Observed(
        fresh=fresh,
        cache_read=read,
        cache_write_5m=m5,
        cache_write_30m=0,
        cache_write_1h=h1,
        cache_write_12h=0,
        cache_write_unknown=unknown,
        output=output,
        output_reasoning=_sum(thinking) if thinking else None,
        iterations=_iterations(raw) if usage.iterations else None,
        raw_json=raw.decode(),
        cost=None if cost is None else round(Decimal(str(cost)), 12),
        currency=None if cost is None else "USD",
        cost_kind=None if cost is None else "estimate",
    )
    return observed, _sum(list(classes[0][:5]))


def _classes(step: _Counts) -> tuple[int | None, ...]:
    """fresh, read, 5m, 1h, unknown lifetime, output."""
    split, created = step.cache_creation, _zero(step.created)
    m5: int | None = 0
    h1: int | None = 0
    unknown: int | None = 0
    if split is None or (split.m5 is UNSET and split.h1 is UNSET):
        unknown = created
    else:
        m5, h1 = _zero(split.m5), _zero(split.h1)
        if m5 is not None and h1 is not None and created and created != m5 + h1:
            raise ValueError(
                f"cache_creation_input_tokens is {created}, expected {m5 + h1} as its split says: "
                f"{m5} (5m) + {h1} (1h)"
            )
        if created is not None and created >= (m5 or 0) + (h1 or 0):
            if m5 is None and h1 is not None:
                m5 = created - h1
            elif h1 is None and m5 is not None:
                h1 = created - m5
    return (
        _zero(step.input_tokens), _zero(step.read), m5, h1, unknown, _zero(step.output_tokens)
    )  # fmt: skip


def _zero(count: _Known) -> int | None:
    return 0 if isinstance(count, UnsetType) else count


def _sum(counts: list[int | None]) -> int | None:
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total


class _RawIterations(msgspec.Struct):
    iterations: msgspec.Raw


def _iterations(raw: bytes) -> str:
    return bytes(msgspec.json.decode(raw, type=_RawIterations).iterations).decode()
