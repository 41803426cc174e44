"""Say what is wrong with a piece of JSON: field, value and what is accepted."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from cachecast_datasets.checks import shown
from cachecast_datasets.errors import LogError, at

_PATH = re.compile(r" - at `(\$.*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_EXPECTED = re.compile(r"^Expected `([^`]+)`(?: ([<>]= -?\d+)(?:\.0)?)?")
_T = TypeVar("_T")
_WORDS = {
    "int": "an integer", "float": "a number", "str": "a string", "bool": "true or false",
    "array": "an array", "object": "an object", "null": "null",
}  # fmt: skip


def decode(
    decoder: msgspec.json.Decoder[_T],
    data: bytes,
    source: str,
    line: int | None,
    names: Mapping[int, str] | None = None,
) -> _T:
    """The decoded value, or a LogError with the place, the field, its value and what is accepted.

    `names` are the names of positions in the innermost arrays (a sketch's prompt items).
    """
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as problem:
        try:
            msgspec.json.decode(data)  # a wrong value is found before broken JSON behind it
        except msgspec.DecodeError as worse:
            raise _malformed(worse, data, source, line) from worse
        raise _invalid(str(problem), data, source, line, names or {}) from problem
    except msgspec.DecodeError as problem:
        raise _malformed(problem, data, source, line) from problem


def _invalid(
    message: str, data: bytes, source: str, line: int | None, names: Mapping[int, str]
) -> LogError:
    match = _PATH.search(message)
    what = message[: match.start()] if match else message
    steps = [
        key or (-1 if number == "..." else int(number))
        for key, number in _STEP.findall(match.group(1) if match else "")
    ]
    value = _walk(msgspec.json.decode(data), steps)
    field = _spelled(steps, names)
    missing = re.search(r"missing required field `(.+?)`", what)
    unknown = re.search(r"unknown field `(.+?)`", what)
    if missing:
        name = f"{field}.{missing[1]}" if field else missing[1]
        return at(source, line, f"{name} is missing, expected a value", f"{_kind(name)} is missing")
    if unknown:
        name = f"{field}.{unknown[1]}" if field else unknown[1]
        return at(source, line, f"{name} is not a known key", "unknown key")
    expected = _EXPECTED.match(what)
    if expected:
        kinds = " or ".join(_WORDS.get(kind, kind) for kind in expected[1].split(" | "))
        accepted = f"{kinds} {expected[2]}" if expected[2] else kinds
        length = re.search(r"of (at (?:most|least) length \d+|length \d+)", what)
        accepted += f" of {length[1]}" if length else ""
    else:
        accepted = {"Number out of range": "a number below 2**64"}.get(what, what)
    name = field or "the line"
    return at(source, line, f"{name} is {shown(value)}, expected {accepted}", f"bad {_kind(name)}")


def _kind(field: str) -> str:
    """A field without its indexes, so that equal faults are counted together."""
    return re.sub(r"\[\d+\]", "", field)


def _spelled(steps: list[str | int], names: Mapping[int, str]) -> str:
    text = ""
    for depth, step in enumerate(steps):
        if isinstance(step, str):
            text += f".{step}"
        elif depth and isinstance(steps[depth - 1], int) and step in names:
            text += f".{names[step]}"
        else:
            text += f"[{step}]"
    return text.removeprefix(".")


def _walk(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return value
    return value


def _malformed(
    problem: msgspec.DecodeError, data: bytes, source: str, line: int | None
) -> LogError:
    try:
        value = json.loads(data)
    except ValueError:
        pass
    else:
        found = _not_finite(value, [])
        if found:
            name = _spelled(found[0], {})
            text = f"{name} is {shown(found[1])}, expected a finite number"
            return at(source, line, text, f"bad {_kind(name)}")
    if "truncated" in str(problem):
        end = "" if line is None or data.endswith(b"\n") else " and has no line end"
        text = f"the JSON is cut short{end}, expected a whole object"
        return at(source, line, text, "cut short")
    text = str(problem).removeprefix("JSON is malformed: ")
    return at(source, line, f"not valid JSON: {text}, expected one JSON object", "not JSON")


def _not_finite(value: Any, path: list[str | int]) -> tuple[list[str | int], float] | None:
    if isinstance(value, float):
        return None if math.isfinite(value) else (path, value)
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, inner in pairs:
        found = _not_finite(inner, [*path, key])
        if found:
            return found
    return None
