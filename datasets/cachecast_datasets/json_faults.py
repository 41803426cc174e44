"""Say what is wrong with a piece of JSON: field, value and what is accepted."""

import json
import math
import re
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import msgspec

from cachecast_datasets.errors import LogError, at
from cachecast_datasets.json_depth import MOST_LEVELS, is_too_deep
from cachecast_datasets.repeated_keys import repeated_key
from cachecast_datasets.shown import Literal, named, shown

_PATH = re.compile(r" - at `(\$.*)`$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_EXPECTED = re.compile(r"^Expected `([^`]+)`(?: ([<>]= -?\d+)(?:\.0)?)?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_NUMBER = 40
_T = TypeVar("_T")
_Path = list[str | int]
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
    keys: Mapping[str, Collection[str]] | None = None,
    *,
    is_part: bool = False,
) -> _T:
    """The decoded value, or a LogError with the place, the field, its value and what is accepted.

    `names` are the names of positions in the innermost arrays (a sketch's prompt items), `keys`
    the known keys by the field whose value has them ("" is the whole object).
    `is_part`: a part of JSON that was decoded here before, so no key stands twice in it.
    """
    try:
        value = decoder.decode(data)
    except msgspec.ValidationError as problem:
        raise _invalid(problem, data, source, line, names or {}, keys or {}) from problem
    except msgspec.DecodeError as problem:
        raise _malformed(problem, data, source, line) from problem
    except RecursionError as problem:
        raise too_deep(source, line) from problem
    if is_part:
        return value
    if is_too_deep(data):
        raise too_deep(source, line)
    repeated = repeated_key(data)
    if repeated is not None:
        text = f"{named(repeated)} is there twice in one object, expected once"
        raise at(source, line, text, "repeated key")
    return value


def too_deep(source: str, line: int | None) -> LogError:
    """The fault of JSON that nests deeper than it can be read."""
    text = f"the JSON is nested too deep, expected at most {MOST_LEVELS} levels"
    return at(source, line, text, "too deep")


def _invalid(
    problem: msgspec.ValidationError,
    data: bytes,
    source: str,
    line: int | None,
    names: Mapping[int, str],
    keys: Mapping[str, Collection[str]],
) -> LogError:
    try:
        whole = _loaded(data)
    except RecursionError:
        return too_deep(source, line)
    except ValueError:
        return _not_json(data, source, line)
    message = str(problem)
    match = _PATH.search(message)
    what = message[: match.start()] if match else message
    steps: _Path = [
        key or (-1 if number == "..." else int(number))
        for key, number in _STEP.findall(match[1] if match else "")
    ]
    unusable = _unusable(whole, [])
    if what == "Number out of range" and unusable is not None:
        return _said(unusable, source, line)
    value = _walk(whole, steps)
    field = _spelled(steps, names)
    missing = re.search(r"missing required field `(.+?)`", what)
    unknown = re.search(r"unknown field `(.+)`", what, re.DOTALL)
    if missing:
        name = f"{field}.{missing[1]}" if field else missing[1]
        return at(source, line, f"{name} is missing, expected a value", f"{_kind(name)} is missing")
    if unknown:
        name = f"{field}.{named(unknown[1])}" if field else named(unknown[1])
        known = keys.get(field.rpartition(".")[2], ())
        accepted = f", expected one of {', '.join(known)}" if known else ""
        return at(source, line, f"{name} is not a known key{accepted}", "unknown key")
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


def _loaded(data: bytes) -> Any:
    """`data` by another decoder, which also takes what JSON does not allow: NaN, 1e400."""
    return json.loads(data.decode(), parse_float=_number, parse_int=_integer)


def _number(text: str) -> float | Literal:
    return float(text) if math.isfinite(float(text)) else Literal(text)


def _integer(text: str) -> int | Literal:
    return int(text) if len(text) <= _LONGEST_NUMBER else Literal(text)


def _kind(field: str) -> str:
    """A field without its indexes, so that equal faults are counted together."""
    return re.sub(r"\[\d+\]", "", field)


def _spelled(steps: _Path, names: Mapping[int, str]) -> str:
    text = ""
    for depth, step in enumerate(steps):
        if isinstance(step, str):
            text += f".{named(step)}"
        elif depth and isinstance(steps[depth - 1], int) and step in names:
            text += f".{names[step]}"
        else:
            text += f"[{step}]"
    return text.removeprefix(".")


def _walk(value: Any, steps: _Path) -> Any:
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
        found = _unusable(_loaded(data), [])
    except RecursionError:
        return too_deep(source, line)
    except ValueError:
        found = None
    if found is not None:
        return _said(found, source, line)
    if "truncated" in str(problem):
        end = "" if line is None or data.endswith(b"\n") else " and has no line end"
        text = f"the JSON is cut short{end}, expected a whole object"
        return at(source, line, text, "cut short")
    text = str(problem).removeprefix("JSON is malformed: ")
    return at(source, line, f"not valid JSON: {text}, expected one JSON object", "not JSON")


def _not_json(data: bytes, source: str, line: int | None) -> LogError:
    """The fault behind a first one: what msgspec met before it came to the broken place."""
    try:
        msgspec.json.decode(data)
    except msgspec.DecodeError as problem:
        return _malformed(problem, data, source, line)
    except RecursionError:
        return too_deep(source, line)
    return at(source, line, "not valid JSON, expected one JSON object", "not JSON")


def _said(found: tuple[_Path, Any], source: str, line: int | None) -> LogError:
    path, value = found
    name = _spelled(path, {}) or "the line"
    accepted = "text without lone surrogates" if isinstance(value, str) else "a finite number"
    text = f"{name} is {shown(value)}, expected {accepted}"
    return at(source, line, text, f"bad {_kind(name)}")


def _unusable(value: Any, path: _Path) -> tuple[_Path, Any] | None:
    """The first value that is no finite number or no text, and where it is."""
    if isinstance(value, Literal) or (isinstance(value, float) and not math.isfinite(value)):
        return path, value
    if isinstance(value, str):
        return (path, value) if _SURROGATE.search(value) else None
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, inner in pairs:
        if isinstance(key, str) and _SURROGATE.search(key):
            return path, key
        found = _unusable(inner, [*path, key])
        if found:
            return found
    return None
