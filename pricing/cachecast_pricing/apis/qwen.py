"""Qwen, OpenAI style: inclusive, reads and writes inside; an explicit entry lives 5 minutes.

Source: Alibaba Model Studio context cache page, 2026-09-24.
"""

from collections.abc import Mapping
from typing import Any

from cachecast_pricing.apis.openai_style import FIELDS, Style, read_as
from cachecast_pricing.usage_reading import UsageReading

__all__ = ["FIELDS", "read"]


def read(raw: Mapping[str, Any]) -> UsageReading:
    """The usage of a chat completion."""
    return read_as(raw, Style(write="5m"))
