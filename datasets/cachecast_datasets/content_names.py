"""The sizes of named content: equal names mean equal content, in all sources of one import."""

from dataclasses import dataclass, field

_Known = tuple[int, str, int]  # tokens, file, line


@dataclass(slots=True)
class ContentNames:
    """By the hash of a name: the tokens of an item of that name, and of answers of that name."""

    items: dict[int, _Known] = field(default_factory=dict)
    answers: dict[int, _Known] = field(default_factory=dict)


def place(known: _Known, label: str) -> str:
    """Where a size comes from, as seen from the file `label`."""
    _, file, line = known
    return f"line {line}" if file == label else f"{file} line {line}"
