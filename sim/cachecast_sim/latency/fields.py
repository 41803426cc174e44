"""Values out of a fleet file's table; a bad one is told with its place and what is accepted."""

import difflib
from collections.abc import Iterable, Mapping
from decimal import Decimal

from cachecast_datasets.errors import BadInput


def nearest(name: str, known: Iterable[str]) -> str:
    """ "; did you mean 'x'?" where a known name is close, then the list of all known names."""
    names = list(known)
    close = difflib.get_close_matches(name[:60].lower(), names, n=1, cutoff=0.6)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{hint} known: {', '.join(names)}" if close else f"; known: {', '.join(names)}"


def number(
    table: Mapping[str, object], place: str, name: str, least: str, most: str,
    default: str | None = None,
) -> Decimal:  # fmt: skip
    """A decimal number in [least, most], exactly as written; BadInput if it is none or missing.

    A float stands for the shortest decimal that means it, so 0.1 is one tenth.
    """
    value = table.get(name)
    wanted = f"expected a number from {least} to {most}"
    if value is None:
        return Decimal(_default(place, name, default, wanted))
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise BadInput(f"{place}.{name} is {value!r}, {wanted}")
    found = Decimal(str(value))
    if not found.is_finite() or not Decimal(least) <= found <= Decimal(most):
        raise BadInput(f"{place}.{name} is {value}, {wanted}")
    return found


def whole(
    table: Mapping[str, object], place: str, name: str, least: int, most: int,
    default: int | None = None,
) -> int:  # fmt: skip
    """A whole number in [least, most]; BadInput if it is none or missing."""
    value = table.get(name)
    wanted = f"expected a whole number from {least} to {most}"
    if value is None:
        return int(_default(place, name, None if default is None else str(default), wanted))
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise BadInput(f"{place}.{name} is {value!r}, {wanted}")
    return value


def text(table: Mapping[str, object], place: str, name: str, default: str | None = None) -> str:
    """A text that is not empty; BadInput if it is none or missing."""
    value = table.get(name)
    if value is None:
        return _default(place, name, default, "expected a text in quotes")
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{place}.{name} is {value!r}, expected a text in quotes")
    return value.strip()


def _default(place: str, name: str, default: str | None, wanted: str) -> str:
    if default is None:
        raise BadInput(f"{place}.{name} is missing, {wanted}")
    return default
