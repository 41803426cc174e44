"""OpenAI Chat Completions: inclusive, reads and writes are both inside prompt_tokens.

Written tokens live 30 minutes (the default, and the only lifetime that Chat accepts).
Source: developers.openai.com prompt caching guide, 2026-10-02; openai-python types, 2026-08-21.
"""

from collections.abc import Mapping
from typing import Any

from cachecast_pricing.apis.openai_style import FIELDS, Style, read_as
from cachecast_pricing.usage_reading import UsageReading

__all__ = ["FIELDS", "read"]


def read(raw: Mapping[str, Any]) -> UsageReading:
    """The usage of a chat completion."""
    return read_as(raw, Style(write="30m"))
