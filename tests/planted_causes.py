"""The causes that can be planted into a `Case`, by the name that `why` must give them.

Each changes the planted request and those after it, as an application with that fault would.
"""

import copy
import json
from collections.abc import Callable
from typing import Any

import planted_formats as formats
from planted_logs import Call, Case, Plant

PLANTS: dict[str, Plant] = {}
ON_TEXT: set[str] = set()  # causes that stand in the text of one block, and leave the others alone


def plant(name: str, on_text: bool = False) -> Callable[[Plant], Plant]:
    """Enter a plant under the name of its cause."""

    def enter(function: Plant) -> Plant:
        PLANTS[name] = function
        if on_text:
            ON_TEXT.add(name)
        return function

    return enter


def later(case: Case) -> list[Call]:
    """The planted call and those behind it."""
    return case.calls[case.at :]


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


@plant("clock", on_text=True)
def clock(case: Case) -> None:
    write = formats.CLOCKS[case.rng.choice(list(formats.CLOCKS))]
    into_system(case, [write(call.moment) for call in case.calls])


@plant("identifier", on_text=True)
def identifier(case: Case) -> None:
    make = formats.IDENTIFIERS[case.rng.choice(list(formats.IDENTIFIERS))]
    into_system(case, [make(case.rng) for _ in case.calls])


@plant("counter_or_nonce", on_text=True)
def counter(case: Case) -> None:
    make = formats.COUNTERS[case.rng.choice(list(formats.COUNTERS))]
    into_system(case, [make(n, case.rng) for n in range(len(case.calls))])


def other_order(case: Case) -> list[int]:
    """Six places in another order than 0 … 5."""
    order = list(range(6))
    while order == list(range(6)):
        case.rng.shuffle(order)
    return order


@plant("examples_shuffled", on_text=True)
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


@plant("passages_reordered", on_text=True)
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


@plant("system_changed", on_text=True)
def system_changed(case: Case) -> None:
    old, new = case.rng.choice(formats.EDITS)
    for call in later(case):
        assert old in call.system[0]
        call.system[0] = call.system[0].replace(old, new)


@plant("thinking_stripped")
def thinking_stripped(case: Case) -> None:
    for call in later(case):
        for message in call.messages:
            kept = [b for b in message["content"] if b.get("type") != "thinking"]
            message["content"] = kept


@plant("image_replaced")
def image_replaced(case: Case) -> None:
    mark = case.rng.choice(formats.IMAGE_MARKS)
    for call in later(case):
        for message in call.messages:
            for i, block in enumerate(message["content"]):
                if block.get("type") == "image":
                    message["content"][i] = {"type": "text", "text": mark}


@plant("string_or_block")
def string_or_block(case: Case) -> None:
    """The first message without a picture is a string here and a block there."""
    ask = "Please look at the failing test first."
    for n, call in enumerate(case.calls):
        whole: Any = ask if n < case.at else [{"type": "text", "text": ask}]
        answer = {"type": "text", "text": "I shall look at it at once."}
        call.messages[:0] = [
            {"role": "user", "content": whole}, {"role": "assistant", "content": [answer]},
        ]  # fmt: skip


@plant("history_truncated")
def history_truncated(case: Case) -> None:
    drop = case.rng.choice([2, 2, 3, 4])
    for call in later(case):
        del call.messages[:drop]


@plant("history_summarised")
def history_summarised(case: Case) -> None:
    summary = case.rng.choice(formats.SUMMARIES)
    kept = case.rng.choice([2, 3])
    old = len(case.calls[case.at - 1].messages)
    for call in later(case):
        told = {"role": "user", "content": [{"type": "text", "text": summary}]}
        call.messages = [told, *call.messages[max(1, old - kept) :]]


@plant("message_edited")
def message_edited(case: Case) -> None:
    """One answer in the middle is written anew."""
    for call in later(case):
        for message in call.messages[1:3]:
            if message["role"] == "assistant":
                message["content"][-1] = {"type": "text", "text": "Rewritten in other words."}
                break


SETTINGS: list[dict[str, Any]] = [
    {"tool_choice": {"type": "any"}},
    {"thinking": {"type": "enabled", "budget_tokens": 2048}},
    {"output_config": {"effort": "low"}},
    {"speed": "fast"},
]


@plant("settings_changed")
def settings_changed(case: Case) -> None:
    changed = case.rng.choice(SETTINGS)
    for call in later(case):
        call.settings |= changed


@plant("model_alias_changed")
def model_alias(case: Case) -> None:
    name = case.rng.choice(["claude-opus-5-20260801", "claude-opus-5-latest"])
    for call in later(case):
        call.model = name


@plant("model_changed")
def model_changed(case: Case) -> None:
    for call in later(case):
        call.model = "claude-sonnet-5"


@plant("account_changed")
def account_changed(case: Case) -> None:
    for call in later(case):
        call.account = "other-workspace"


@plant("host_changed")
def host_changed(case: Case) -> None:
    for call in later(case):
        call.host = "us-east5-aiplatform.googleapis.com"


@plant("ttl_expired")
def ttl_expired(case: Case) -> None:
    pause = case.rng.choice([301, 320, 900, 3_000])
    for call in later(case):
        call.at_s += pause


@plant("not_requested")
def not_requested(case: Case) -> None:
    for call in later(case):
        call.marked = False


@plant("below_minimum")
def below_minimum(case: Case) -> None:
    for call in later(case):
        call.tools, call.system = [], ["Write a title."]
        call.messages = [{"role": "user", "content": [{"type": "text", "text": "Hello there."}]}]


@plant("lookback_exceeded")
def lookback_exceeded(case: Case) -> None:
    """One turn of 24 blocks, and no marker on tools and system text that would help."""
    blocks = [{"type": "text", "text": f"Note {n}: the file was read again."} for n in range(24)]
    for call in case.calls:
        call.system, call.tools = [], []
        call.messages[0]["content"].insert(0, {"type": "text", "text": "A long brief. " * 300})
    for call in later(case):
        grown = {"role": "user", "content": copy.deepcopy(blocks)}
        call.messages = [*case.calls[case.at - 1].messages, grown]


@plant("concurrent_with_writer")
def concurrent(case: Case) -> None:
    """Two of a fan-out start before the first answers; both have the same new prefix."""
    for call in case.calls[case.at - 1 :]:
        call.system = [*call.system, "A new common brief for the workers. " * 60]
        call.session = f"w{call.at_s}"
    for call in later(case):
        call.at_s = case.calls[case.at - 1].at_s + 0.2
        call.messages = copy.deepcopy(case.calls[case.at - 1].messages)


@plant("marker_misplaced")
def marker_misplaced(case: Case) -> None:
    """A large stable text behind the system's marker, the next marker behind what varies."""
    brief = {"type": "text", "text": "The brief that all agents get. " * 200}
    for n, call in enumerate(case.calls):
        call.session = f"agent{n}"
        ask = {"type": "text", "text": f"Take part {'abcdef'[n]}."}
        call.messages = [{"role": "user", "content": [copy.deepcopy(brief), ask]}]


@plant("auxiliary_call")
def auxiliary_call(case: Case) -> None:
    """A call with a prompt of its own in the same session; the conversation goes on behind it."""
    call = copy.deepcopy(case.calls[case.at])
    call.at_s -= 10
    call.tools = []
    call.system = ["You name conversations. Reply with a title of at most five words. " * 60]
    call.messages = [{"role": "user", "content": [{"type": "text", "text": "Name this, please."}]}]
    case.calls.insert(case.at, call)


@plant("rewind")
def rewind(case: Case) -> None:
    """The person goes back a turn and asks something else."""
    before = case.calls[case.at - 1].messages
    asks = [
        i for i, m in enumerate(before)
        if m["role"] == "user" and m["content"][0].get("type") not in ("tool_result", "image")
    ]  # fmt: skip
    kept = copy.deepcopy(before[: asks[-1]])
    asked = {"type": "text", "text": "No, leave that and read the changelog instead, please."}
    for call in later(case):
        call.messages = [*kept, {"role": "user", "content": [asked]}]
