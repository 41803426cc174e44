"""Causes planted into the front of prompts: tools and system text.

Each changes the planted request and those after it, as an application with that fault would.
"""

import copy
import json
from typing import Any

import planted_formats as formats
from planted_logs import Case
from planted_table import later, plant


def into_system(case: Case, texts: list[str]) -> None:
    """One text a call, at a random place of the rules, the same place in all calls."""
    where = case.rng.choice(["front", "back", "middle", "own block"])
    for call, text in zip(case.calls, texts, strict=True):
        if where == "front":
            call.system[0] = f"{text}\n{call.system[0]}"
        elif where == "back":
            call.system[0] = f"{call.system[0]}\n{text}"
        elif where == "middle":
            first, rest = call.system[0].split(". ", 1)
            call.system[0] = f"{first}. {text}\n{rest}"
        else:
            call.system.append(f"<env>\nplatform: linux\n{text}\n</env>")


@plant("clock")
def clock(case: Case) -> None:
    write = formats.CLOCKS[case.rng.choice(list(formats.CLOCKS))]
    into_system(case, [write(call.moment) for call in case.calls])


@plant("identifier")
def identifier(case: Case) -> None:
    make = formats.IDENTIFIERS[case.rng.choice(list(formats.IDENTIFIERS))]
    into_system(case, [make(case.rng) for _ in case.calls])


@plant("counter_or_nonce")
def counter(case: Case) -> None:
    make = formats.COUNTERS[case.rng.choice(list(formats.COUNTERS))]
    into_system(case, [make(n, case.rng) for n in range(len(case.calls))])


def other_order(case: Case) -> list[int]:
    """Six places in another order than 0 … 5."""
    order = list(range(6))
    while order == list(range(6)):
        case.rng.shuffle(order)
    return order


@plant("examples_shuffled")
def examples(case: Case) -> None:
    if case.alone and case.rng.random() < 0.25:
        _example_turns(case)
        return
    write = formats.EXAMPLES[case.rng.choice(list(formats.EXAMPLES))]
    order = other_order(case)
    for n, call in enumerate(case.calls):
        call.system[1] = write(range(6) if n < case.at else order)


def _example_turns(case: Case) -> None:
    """Examples as turns of their own before the conversation."""
    order = other_order(case)
    for n, call in enumerate(case.calls):
        turns: list[dict[str, Any]] = []
        for i in range(6) if n < case.at else order:
            asked, said = formats._SHOTS[i]
            turns.append({"role": "user", "content": [{"type": "text", "text": asked}]})
            turns.append(
                {"role": "assistant", "content": [{"type": "text", "text": f"{said} {i}"}]}
            )
        call.messages[:0] = turns


@plant("passages_reordered")
def passages(case: Case) -> None:
    write = formats.PASSAGES[case.rng.choice(list(formats.PASSAGES))]
    order = other_order(case)
    for n, call in enumerate(case.calls):
        call.system[2] = write(range(6) if n < case.at else order)


@plant("tools_reordered")
def tools_reordered(case: Case) -> None:
    if case.rng.random() < 0.4:
        write = formats.TOOL_LISTS[case.rng.choice(list(formats.TOOL_LISTS))]
        order = other_order(case)
        for n, call in enumerate(case.calls):
            call.system[3] = write(range(6) if n < case.at else order)
        return
    names = [tool["name"] for tool in case.calls[0].tools]
    order = names[:]
    while order == names:
        case.rng.shuffle(order)
    for call in later(case):
        call.tools.sort(key=lambda tool: order.index(tool["name"]))


def _keys_turned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _keys_turned(inner) for key, inner in reversed(value.items())}
    return [_keys_turned(inner) for inner in value] if isinstance(value, list) else value


@plant("json_key_order")
def json_key_order(case: Case) -> None:
    if case.rng.random() < 0.3:
        config = {"theme": "dark", "limits": {"cpu": 2, "memory": "4Gi"}, "paths": ["src", "tests"]}
        for n, call in enumerate(case.calls):
            shown = config if n < case.at else _keys_turned(config)
            call.system.append("Project settings:\n" + json.dumps(shown, indent=1))
        return
    which = case.rng.randrange(len(case.calls[0].tools) - 2)
    for call in later(case):
        call.tools[which] = _keys_turned(call.tools[which])


@plant("tools_added")
def tools_added(case: Case) -> None:
    if case.alone and case.rng.random() < 0.3:
        write = formats.TOOL_LISTS[case.rng.choice(list(formats.TOOL_LISTS))]
        for n, call in enumerate(case.calls):
            call.system[3] = write(range(5 if n < case.at else 6))
        return
    new = {"name": "deploy", "description": "Ships the build to the staging cluster. " * 8,
           "input_schema": {"type": "object"}}  # fmt: skip
    where = case.rng.randrange(len(case.calls[0].tools) + 1)
    for call in later(case):
        call.tools.insert(where, copy.deepcopy(new))


@plant("tools_removed")
def tools_removed(case: Case) -> None:
    where = case.rng.randrange(len(case.calls[0].tools)) if case.alone else -1
    for call in later(case):
        del call.tools[where]


@plant("tools_changed")
def tools_changed(case: Case) -> None:
    where = case.rng.randrange(len(case.calls[0].tools)) if case.alone else -2
    for call in later(case):
        call.tools[where] = call.tools[where] | {"description": "Now needs a reason as well."}


@plant("system_changed")
def system_changed(case: Case) -> None:
    old, new = case.rng.choice(formats.EDITS)
    for call in later(case):
        assert old in call.system[0]
        call.system[0] = call.system[0].replace(old, new)
