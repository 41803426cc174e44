"""Token counts of a usage object: value, zero and unknown are three things."""

from collections.abc import Mapping
from typing import Any

from cachecast_datasets.shown import shown

_MOST = 10**15


def count(usage: Mapping[str, Any], *names: str) -> int | None:
    """The first of these that is there; 0 if none is, None if it is null.

    A class that the API leaves out is empty; a null gives way to a later value.
    """
    null = False
    for name in names:
        if name not in usage:
            continue
        value = usage[name]
        if value is None:
            null = True
            continue
        return whole(value, name)
    return None if null else 0


def optional(usage: Mapping[str, Any], *names: str) -> int | None:
    """The same, but None also where no field is there."""
    return count(usage, *names) if has(usage, *names) else None


def has(usage: Mapping[str, Any], *names: str) -> bool:
    """Whether one of these is there and not null."""
    return any(usage.get(name) is not None for name in names)


def inner(usage: Mapping[str, Any], *names: str) -> Mapping[str, Any] | None:
    """The first of these inner objects; None if it is null or not there."""
    for name in names:
        value = usage.get(name)
        if isinstance(value, Mapping):
            return value
        if value is not None:
            raise ValueError(f"usage.{name} is {shown(value)}, expected an object")
    return None


def whole(value: Any, name: str) -> int:
    """A token count. ValueError for what is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        raise ValueError(f"usage.{name} is {shown(value)}, expected a whole number of tokens >= 0")
    return value
