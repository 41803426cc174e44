"""Kimi Chat (also GLM, Groq, Fireworks, Together and Mistral): inclusive, reads only.

`cached_tokens` may stand in the details, on top, or be left out.
Source: platform.kimi.com, 2026-09/10; docs.z.ai, console.groq.com, docs.fireworks.ai,
docs.together.ai, mistralai/platform-docs-public, 2026-08 to 2026-09.
"""

from collections.abc import Mapping
from typing import Any

from cachecast_pricing.apis.openai_style import FIELDS, Style, read_as
from cachecast_pricing.usage_reading import UsageReading

__all__ = ["FIELDS", "read"]


def read(raw: Mapping[str, Any]) -> UsageReading:
    """The usage of a chat completion of an API without a write class."""
    return read_as(raw, Style(write=None))
