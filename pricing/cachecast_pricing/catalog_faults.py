"""What is wrong with a rates file, as one sentence: which table and field, the value, what goes."""

import re
import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin

import msgspec

_PATH = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>\$.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[([^\]]*)\]")
_UNKNOWN = re.compile(r"^Object contains unknown field `(.*)`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(.*)`$", re.DOTALL)
_EXPECTED = re.compile(r"^Expected `(.*?)`, got `(.*)`$")
# msgspec's names of what a field accepts -> ours
_KINDS = {
    "str": "text in quotes",
    "int": "a whole number",
    "bool": "true or false",
    "array": "a list in [ ], or tables in [[ ]]",
    "object": "a table",
    "object | null": "a table",
    "str | null": "text in quotes",
    "datetime | null": "a time with its zone, as 2026-10-01T00:00:00Z",
    "date": "a day, as 2026-10-01",
    "str | object": 'a factor in quotes, as "0.5", or a table',
}


def sentence(error: msgspec.ValidationError, data: Mapping[str, Any], shape: type) -> str:
    """The fault of `data`, which was meant to have the `shape` of a struct."""
    found = _PATH.match(str(error))
    assert found is not None  # the pattern accepts any text
    what, steps = found["what"], _named(data, _steps(found["path"] or "$"), shape)
    if unknown := _UNKNOWN.match(what):
        value = _shown(_value(data, [*steps, unknown[1]]))
        place, table = _place(data, steps), _type_at(shape, steps)
        return f"{place}: unknown field `{unknown[1]}` ({value}); accepted: {_fields(table)}"
    if missing := _MISSING.match(what):
        place, table = _place(data, steps), _type_at(shape, steps)
        return f"{place}: the field `{missing[1]}` is missing; accepted: {_fields(table)}"
    *outer, name = steps or ["the file"]
    place, value = _place(data, outer), _shown(_value(data, steps))
    field = name if isinstance(name, str) else f"entry {name + 1}"
    if expected := _EXPECTED.match(what):
        wanted = _KINDS.get(expected[1], expected[1])
        return f"{place}: `{field}` is {value}, expected {wanted}"
    return f"{place}: `{field}` is {value}: {what}{_choices(_type_at(shape, steps))}"


def _steps(path: str) -> list[str | int]:
    """ "$.models[0].prices" -> models, 0, prices."""
    steps: list[str | int] = []
    for name, index in _STEP.findall(path):
        if name:
            steps.append(name)
        else:
            steps.append(int(index) if index.isdigit() else index)
    return steps


def _named(data: Any, steps: list[str | int], shape: type) -> list[str | int]:
    """The steps, with the key that msgspec leaves out of them ("...") found again."""
    for number, step in enumerate(steps):
        if step == "...":
            inside = _type_at(shape, steps[:number])
            table = _value(data, steps[:number])
            steps[number] = next(k for k, v in table.items() if not _fits(v, get_args(inside)[1]))
    return steps


def _fits(value: Any, shape: Any) -> bool:
    try:
        msgspec.convert(value, shape)
    except msgspec.ValidationError:
        return False
    return True


def _value(data: Any, steps: list[str | int]) -> Any:
    """What stands there; None where the path leads nowhere."""
    for step in steps:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _place(data: Mapping[str, Any], steps: list[str | int]) -> str:
    """The table, with the model that it is about: "[[models]] 2 (claude-opus-5), prices"."""
    if not steps:
        return "top of the file"
    words: list[str] = []
    for number, step in enumerate(steps):
        if isinstance(step, int) and words:
            table = _value(data, steps[: number + 1])
            model = table.get("model") if isinstance(table, dict) else None
            named = f" ({model})" if isinstance(model, str) else ""
            words[-1] = f"[[{words[-1]}]] {step + 1}{named}"
        else:
            words.append(str(step))
    return ", ".join(words)


def _type_at(shape: Any, steps: list[str | int]) -> Any:
    """The declared type of what stands there."""
    for step in steps:
        shape = _struct_or_self(shape)
        if isinstance(shape, type) and issubclass(shape, msgspec.Struct):
            types_of = {f.encode_name: f.type for f in msgspec.structs.fields(shape)}
            shape = types_of.get(str(step), str)
        else:
            arguments = [a for a in get_args(shape) if a is not type(None)]
            shape = arguments[-1] if arguments else str
    return _struct_or_self(shape)


def _struct_or_self(shape: Any) -> Any:
    """The struct or container among the members of a union (X | None); else the type itself."""
    if get_origin(shape) not in (Union, types.UnionType):
        return shape
    members = [a for a in get_args(shape) if a is not type(None)]
    structs = [m for m in members if isinstance(m, type) and issubclass(m, msgspec.Struct)]
    return (structs or members)[0]


def _fields(table: Any) -> str:
    if not (isinstance(table, type) and issubclass(table, msgspec.Struct)):
        return "nothing"
    fields = msgspec.structs.fields(table)
    return ", ".join(f"{f.encode_name} (required)" if f.required else f.encode_name for f in fields)


def _choices(shape: Any) -> str:
    """What a field with a closed list accepts."""
    values = get_args(shape)
    return f"; accepted: {', '.join(map(str, values))}" if values else ""


def _shown(value: Any) -> str:
    """The value as TOML would have it, cut short."""
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
