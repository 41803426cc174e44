"""Values and names as messages print them: one line, not too long, printable everywhere."""

import json
import re
from typing import Any

_LONGEST = 60
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_PLAIN = re.compile(r"[\w.\-/:$@ ]+")


class Literal:
    """A number as it is written, where Python's own would be another (1e400, 5,000 digits)."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


def shown(value: Any) -> str:
    """A value as JSON, cut after 60 characters, without line ends or lone surrogates."""
    if isinstance(value, Literal):
        return _cut(value.text)
    text = json.dumps(value, ensure_ascii=False, default=str)
    return _cut(_UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def named(name: str) -> str:
    """A key or column as it is, or as JSON where it is not a plain word; cut like a value."""
    return _cut(name) if _PLAIN.fullmatch(name) else shown(name)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
