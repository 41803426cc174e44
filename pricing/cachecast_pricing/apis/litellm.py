"""LiteLLM's usage object and LangChain's usage_metadata: inclusive, lifetime of writes not told.

Source: BerriAI/litellm schema and issues 9812, 15056; langchain usage_metadata, 2026.
"""

from collections.abc import Mapping
from typing import Any

from cachecast_pricing.apis.openai_style import FIELDS, Style, read_as
from cachecast_pricing.usage_reading import UsageReading

__all__ = ["FIELDS", "read"]


def read(raw: Mapping[str, Any]) -> UsageReading:
    """The usage of one call."""
    return read_as(raw, Style(write="unknown"))
