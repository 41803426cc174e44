"""Words of the money tests: usage objects by a few numbers, and bills as sums of products."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from cachecast_pricing.catalog import DatedCard, load_catalog
from cachecast_pricing.money import per_mtok_string, to_decimal
from cachecast_pricing.quote import Quote, quote
from cachecast_pricing.rates import ClassPrices, RateCard

CATALOG = load_catalog()
HOUR_US = 3_600_000_000
NEWEST = datetime(2026, 11, 15, tzinfo=UTC)  # a Sunday


def price(model: str, raw: dict[str, Any], **how: Any) -> Quote:
    """The quote of a raw usage object at the shipped prices."""
    return quote(CATALOG, model, raw, **how)


def total(model: str, raw: dict[str, Any], **how: Any) -> Decimal:
    """Its total in whole units of the currency."""
    return to_decimal(price(model, raw, **how).charge.total)


def mtok(*parts: tuple[str, int]) -> Decimal:
    """The sum of (price per million tokens) x tokens."""
    return sum((Decimal(p) * tokens for p, tokens in parts), Decimal()) / 10**6


def anthropic(
    fresh: int = 0, read: int = 0, m5: int = 0, h1: int = 0, out: int = 0
) -> dict[str, Any]:
    """Anthropic's usage object, with its writes by lifetime."""
    return {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": m5 + h1,
        "cache_creation": {"ephemeral_5m_input_tokens": m5, "ephemeral_1h_input_tokens": h1},
        "output_tokens": out,
    }


def chat(prompt: int, cached: int, out: int, written: int = 0) -> dict[str, Any]:
    """An OpenAI-shaped chat usage object, whose prompt contains read and written tokens."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": out,
        "total_tokens": prompt + out,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
    }


def at(text: str) -> datetime:
    """A moment in UTC from its ISO form."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def dated(model: str, on: str = "2026-11-15", provider: str | None = None) -> DatedCard:
    """The card of a model on a day, with its notes."""
    return CATALOG.card(CATALOG.resolve(model, provider), at(on))


def card(model: str, on: str = "2026-11-15", provider: str | None = None) -> RateCard:
    """The card of a model on a day."""
    return dated(model, on, provider).card


def row(prices: ClassPrices) -> tuple[str | None, ...]:
    """fresh, read, 5m, 30m, 1h, 12h, output, per million tokens."""
    return tuple(
        per_mtok_string(price)
        for price in (
            prices.fresh, prices.cache_read, prices.cache_write_5m, prices.cache_write_30m,
            prices.cache_write_1h, prices.cache_write_12h, prices.output,
        )
    )  # fmt: skip
