"""The usage of one SpendLogs row: which convention it is in, and what its spend gives away."""

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from cachecast_datasets.readers.fields import Fields, number_of
from cachecast_datasets.readers.spend_equations import TokenPrices, hidden_writes
from cachecast_datasets.readers.token_classes import (
    CONVENTIONS,
    Classes,
    Convention,
    Counts,
    classes,
)
from cachecast_datasets.request import Observed

_READ_INSIDE = ("cached_tokens", "cache_read_tokens")
_WRITE_INSIDE = ("cache_creation_tokens", "cache_write_tokens")
_READ_ON_TOP = ("cache_read_input_tokens", "prompt_cache_hit_tokens")
_WRITE_ON_TOP = ("cache_creation_input_tokens", "cache_write_input_tokens")
_SPLIT = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
_PRICES = (
    "input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost",
    "cache_creation_input_token_cost", "cache_creation_input_token_cost_above_1hr",
)  # fmt: skip
_SAME_USD = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class Usage:
    """A row's classes, its whole prompt if known, what is remarkable, and the inferred writes."""

    observed: Observed
    prompt_tokens: int | None
    remarks: tuple[str, ...] = ()
    inferred: int | None = None


def usage_of(row: Fields, metadata: Fields, spend: Decimal | None) -> Usage:
    """The usage that the row reports. ValueError where its numbers contradict each other."""
    usage = metadata.inner("usage_object")
    if usage is None or not usage.raw:
        prompt = row.optional("prompt_tokens")
        seen = Observed(output=row.optional("completion_tokens"))
        return Usage(seen, prompt, ("no usage_object",))
    counts = _counts(usage)
    if (counts.input, counts.output) == (None, None):
        raise ValueError("metadata.usage_object has no prompt_tokens, expected token counts")
    prices = _row_prices(metadata)
    proven = _proven(row, usage, counts, prices, spend)
    remarks: tuple[str, ...] = ()
    if proven is not None:
        # LiteLLM adds its total up in either convention: it proves nothing more
        found = classes(replace(counts, total=None), proven, usage.raw)
    else:
        found = classes(counts, "inclusive", usage.raw)
        if _could_be_both(row, counts):
            remarks = ("could be both",)
    if found.convention == "additive":
        remarks = (*remarks, "additive")
    hidden = _hidden(found, counts, usage, metadata, prices, spend)
    if hidden is not None:
        return replace(hidden, remarks=remarks)
    return Usage(found.observed, found.prompt_tokens, remarks)


def _counts(usage: Fields) -> Counts:
    details = usage.inner("prompt_tokens_details", "input_tokens_details")
    null = usage.is_null("prompt_tokens_details", "input_tokens_details")
    out = usage.inner("completion_tokens_details", "output_tokens_details")
    write = _inner_or_top(usage, details, null, _WRITE_INSIDE, _WRITE_ON_TOP)
    split = None if details is None else details.inner("cache_creation_token_details")
    split = split or usage.inner("cache_creation")
    m5 = h1 = 0
    if split is not None:
        m5, h1 = split.optional(_SPLIT[0]) or 0, split.optional(_SPLIT[1]) or 0
        write = None if write is None and not m5 + h1 else max(0, (write or 0) - m5 - h1)
    return Counts(
        input=usage.optional("prompt_tokens", "input_tokens"),
        read=_inner_or_top(usage, details, null, _READ_INSIDE, _READ_ON_TOP),
        output=usage.optional("completion_tokens", "output_tokens"),
        write=write,
        m5=m5,
        h1=h1,
        total=usage.optional("total_tokens"),
        reasoning=None if out is None else out.optional("reasoning_tokens"),
    )


def _inner_or_top(
    usage: Fields, details: Fields | None, null: bool, inside: tuple[str, ...],
    on_top: tuple[str, ...],
) -> int | None:  # fmt: skip
    """The count in the details object, else the one on top; never both together."""
    if details is not None and details.value(*inside) is not None:
        return details.count(*inside)
    if usage.value(*on_top) is not None:
        return usage.count(*on_top)
    if null or (details is not None and details.is_null(*inside)):
        return None
    return usage.count(*on_top)


def _proven(
    row: Fields, usage: Fields, counts: Counts, prices: TokenPrices | None, spend: Decimal | None
) -> Convention | None:
    """The convention that the row's own text tokens or its spend prove; None without a proof.

    prompt_tokens is inclusive for chat; for anthropic_messages it was, until one change of 2026.
    """
    if usage.value("prompt_tokens") is None and usage.value("input_tokens") is not None:
        details = usage.value("input_tokens_details")
        return "additive" if details is None else None  # Anthropic's own object
    if not counts.cached or counts.input is None:
        return None
    details = usage.inner("prompt_tokens_details")
    text = None if details is None else details.optional("text_tokens")
    if text:
        fitting = [c for c in CONVENTIONS if counts.fresh(c) == text]
        if len(fitting) == 1:
            return fitting[0]
    if not _is_messages(row):
        return None
    if prices is not None and spend is not None:
        fitting = [c for c in CONVENTIONS if _costs(counts, c, prices, spend)]
        if len(fitting) == 1:
            return fitting[0]
    return None


def _is_messages(row: Fields) -> bool:
    return "anthropic_messages" in (row.text("call_type") or "")


def _could_be_both(row: Fields, counts: Counts) -> bool:
    if not _is_messages(row) or not counts.cached or counts.input is None:
        return False
    return counts.fresh("inclusive") >= 0


def _costs(counts: Counts, convention: Convention, prices: TokenPrices, spend: Decimal) -> bool:
    """Whether the row's own prices make its spend out of these counts."""
    fresh = counts.fresh(convention)
    if fresh < 0 or prices.read is None or prices.write_5m is None:
        return False
    made = fresh * prices.fresh + (counts.read or 0) * prices.read
    made += ((counts.write or 0) + counts.m5) * prices.write_5m
    made += counts.h1 * (prices.write_1h or prices.write_5m)
    return abs(made + (counts.output or 0) * prices.output - Fraction(spend)) <= _SAME_USD


def _row_prices(metadata: Fields) -> TokenPrices | None:
    """The prices in the row itself; None where it has none."""
    information = metadata.inner("model_map_information")
    table = None if information is None else information.inner("model_map_value")
    if table is None:
        return None
    found = [
        None if table.value(name) is None
        else Fraction(number_of(table.value(name), table.name(name)))
        for name in _PRICES
    ]  # fmt: skip
    fresh, output, read, m5, h1 = found
    return None if fresh is None or output is None else TokenPrices(fresh, output, read, m5, h1)


def _hidden(
    found: Classes, counts: Counts, usage: Fields, metadata: Fields, prices: TokenPrices | None,
    spend: Decimal | None,
) -> Usage | None:  # fmt: skip
    """The usage with the writes (and reads) that only the spend shows; None where it shows none."""
    details = usage.inner("prompt_tokens_details")
    inner = {} if details is None else details.raw
    stated = any(usage.raw.get(name) is not None for name in _WRITE_ON_TOP) or any(
        inner.get(name) is not None for name in _WRITE_INSIDE
    )
    if stated or prices is None or found.convention != "inclusive" or counts.input is None:
        return None
    cost, output = spend, counts.output or 0
    breakdown = metadata.inner("cost_breakdown")
    if breakdown is not None and breakdown.value("input_cost") is not None:
        cost, output = breakdown.money("input_cost"), 0
    if cost is None:
        return None
    reads_told = usage.value(*_READ_ON_TOP) is not None or any(
        inner.get(name) is not None for name in _READ_INSIDE
    )
    read = counts.read if reads_told else None
    hidden = hidden_writes(counts.input, read, output, cost, prices)
    if hidden is None:
        return None
    observed = found.observed._replace(
        fresh=counts.input - hidden.read - hidden.write,
        cache_read=hidden.read,
        cache_write_5m=hidden.write if hidden.lifetime == "5m" else 0,
        cache_write_1h=hidden.write if hidden.lifetime == "1h" else 0,
        cache_write_30m=0,
        cache_write_12h=0,
        cache_write_unknown=0,
    )
    return Usage(observed, counts.input, inferred=hidden.write)
