"""xAI: inclusive, no write class, and reasoning stands beside the completion.

Source: docs.x.ai usage pages, 2026-08/09; genai-prices extractors @47df840.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cachecast_pricing.apis.openai_style import FIELDS, Style, read_as
from cachecast_pricing.counts import money_of
from cachecast_pricing.usage_reading import UsageReading

_PICOUNITS_PER_TICK = 100  # 1 USD = 1e10 ticks

__all__ = ["FIELDS", "read"]


def read(raw: Mapping[str, Any]) -> UsageReading:
    """The usage with the cost in ticks where xAI states it."""
    reading = read_as(raw, Style(write=None, reasoning_beside_output=True))
    ticks = raw.get("cost_in_usd_ticks")
    if ticks is None:
        return reading
    cost = money_of(ticks, "cost_in_usd_ticks", per_unit=_PICOUNITS_PER_TICK)
    return replace(reading, reported_cost=cost, reported_currency="USD")
