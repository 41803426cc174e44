"""OpenAI Responses (and Realtime, and Codex token counts): inclusive, like Chat.

The object does not say the lifetime of written tokens: the default of 30 minutes is assumed.
Source: developers.openai.com prompt caching guide, 2026-10-02; openai-python types, 2026-08-21.
"""

from collections.abc import Mapping
from typing import Any

from cachecast_pricing.apis.openai_style import FIELDS, Style, read_as
from cachecast_pricing.usage_reading import UsageReading

__all__ = ["FIELDS", "read"]


def read(raw: Mapping[str, Any]) -> UsageReading:
    """The usage of a response."""
    return read_as(raw, Style(write="30m"))
