"""Causes planted into the messages of a conversation, and calls that break nothing."""

import copy
from typing import Any

import planted_formats as formats
from planted_logs import Case
from planted_table import later, plant


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
