"""OpenRouter: inclusive whatever the upstream is; says the actual cost, not the write lifetime.

Source: openrouter.ai prompt caching and usage documentation, 2026-09/10.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cachecast_pricing.apis.openai_style import FIELDS, Style, read_as
from cachecast_pricing.counts import money_of
from cachecast_pricing.usage_reading import UsageReading

__all__ = ["FIELDS", "read"]


def read(raw: Mapping[str, Any]) -> UsageReading:
    """The usage with the cost that OpenRouter charged (credits are US dollars)."""
    reading = read_as(raw, Style(write="unknown"))
    cost = raw.get("cost")
    if cost is None:
        return reading
    return replace(reading, reported_cost=money_of(cost, "cost"), reported_currency="USD")
