"""Synthetic requests as lines of a log: request and response JSON with text, or the sketch format.

The JSON is Anthropic's Messages API: `{"id", "session", "account", "start_time", "first_token_s",
"end_s", "request", "response"}`. Its text is made of short words, fixed by the content's name, and
so long that a reader who counts four bytes a token finds the planned tokens in every block.
"""

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import msgspec

from cachecast_datasets.synthetic.sessions import Call, Part
from cachecast_datasets.synthetic.workload import Workload

ACCOUNT = "team"
START = datetime(2026, 11, 2, 9, tzinfo=UTC)  # a Monday
MAX_TOKENS = 4096
# 64 words of three letters: a word and a blank are four characters
_LETTERS = (
    "theandforarebutnotyouallcanhadherwasoneouroutdaygethashimhishowmannewnowoldseetwowaywhoboy"
    "diditsletputsayshetoouseaddboxcarcutdryeatendfarfewflyfungashoticejobkeylawlielowmapmixnet"
    "oilpayredrun"
)
_WORDS = [_LETTERS[at : at + 3] for at in range(0, 192, 3)]

_UNKNOWN = dict.fromkeys(("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"))

Line = Callable[[Workload, Call], bytes]


def sketch_line(w: Workload, call: Call) -> bytes:
    """The call as a line of the sketch format (docs/sketch.md)."""
    row: dict[str, Any] = {
        "at": call.at_s,
        "id": call.id,
        "ttft": call.first_token_s,
        "took": call.end_s,
        "model": call.model,
        "account": ACCOUNT,
        "session": call.session,
        "output": call.output_tokens,
    }
    if len(call.answer) == 1:
        row["answer"] = call.answer[0].name
    if w.is_batch:
        row["batch"] = True
    marks = (w.marker if n in call.marked else None for n in range(len(call.prompt)))
    row["prompt"] = [_item(part, mark) for part, mark in zip(call.prompt, marks, strict=True)]
    return msgspec.json.encode(row) + b"\n"


def _item(part: Part, marker: str | None) -> list[Any]:
    usual = "tool_definition" if part.section == "tools" else "text"
    options: dict[str, Any] = {} if part.kind == usual else {"kind": part.kind}
    if part.joined:
        options["join"] = True
    if part.masked is not None:
        options["masked"] = part.masked
    item: list[Any] = [part.section, part.name, part.tokens]
    if options:
        return [*item, marker, options]
    return [*item, marker] if marker else item


def pair_line(w: Workload, call: Call, usage: bool = False) -> bytes:
    """The call as one request and its response.

    The response's usage tells the length of the answer and leaves the prompt's classes null: what
    a cache would have read and written is unknown. With `usage` it tells both lengths as a provider
    without a cache would.
    """
    moment = START + timedelta(seconds=call.at_s)
    response: dict[str, Any] = {
        "id": f"msg_{call.id}",
        "type": "message",
        "role": "assistant",
        "model": call.model,
        "content": [_content(part, moment) for part in call.answer],
        "stop_reason": "tool_use" if call.answer[0].kind == "tool_use" else "end_turn",
        "usage": {
            **({"input_tokens": call.prompt_tokens} if usage else _UNKNOWN),
            "output_tokens": call.output_tokens,
        },
    }
    row: dict[str, Any] = {
        "id": call.id,
        "session": call.session,
        "account": ACCOUNT,
        "start_time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "first_token_s": call.first_token_s,
        "end_s": call.end_s,
        "request": _request(w, call, moment),
        "response": response,
    }
    if w.is_batch:
        row["batch"] = True
    return msgspec.json.encode(row) + b"\n"


def _request(w: Workload, call: Call, moment: datetime) -> dict[str, Any]:
    tools: list[dict[str, Any]] = []
    system: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    for n, part in enumerate(call.prompt):
        block = _content(part, moment)
        if n in call.marked:
            block["cache_control"] = _control(w.marker)
        if part.section == "tools":
            tools.append(block)
        elif part.section == "system":
            system.append(block)
        else:
            role = "assistant" if part.section == "assistant" else "user"
            if messages and part.joined:
                messages[-1]["content"].append(block)
            else:
                messages.append({"role": role, "content": [block]})
    body: dict[str, Any] = {"model": call.model, "max_tokens": MAX_TOKENS}
    body |= {"tools": tools} if tools else {}
    body |= {"system": system} if system else {}
    return body | {"messages": messages}


def _control(marker: str | None) -> dict[str, str]:
    return {"type": "ephemeral"} if marker == "5m" else {"type": "ephemeral", "ttl": str(marker)}


def _content(part: Part, moment: datetime) -> dict[str, Any]:
    """The part as a content block of the Messages API."""
    if part.kind == "tool_definition":
        return _tool(part)
    if part.kind == "tool_use":
        around = len('tool {"text":""}')  # its name and input are what counts
        words = {"text": text_of(part.name, part.tokens, around)}
        return {"type": "tool_use", "id": _tool_id(part.name), "name": "tool", "input": words}
    if part.masked is not None:
        clock = f"It is {moment.isoformat(timespec='milliseconds')}. "
        return {"type": "text", "text": clock + text_of(part.masked, part.tokens, len(clock))}
    text = text_of(part.name, part.tokens)
    if part.kind == "tool_result":
        use = part.name.replace(" result ", " answer ")
        return {"type": "tool_result", "tool_use_id": _tool_id(use), "content": text}
    if part.kind == "document":
        source = {"type": "text", "media_type": "text/plain", "data": text}
        return {"type": "document", "source": source}
    return {"type": "text", "text": text}


def _tool(part: Part) -> dict[str, Any]:
    """A definition counts as a whole, its JSON included."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    tool = {"name": part.name.replace(" ", "_"), "description": "", "input_schema": schema}
    around = len(msgspec.json.encode(tool))
    return tool | {"description": text_of(part.name, part.tokens, around)}


def _tool_id(name: str) -> str:
    return "toolu_" + name.replace(" ", "_").replace(".", "_")


@lru_cache(maxsize=512)
def text_of(name: str, tokens: int, around: int = 0) -> str:
    """Words for this content, always the same for the same name.

    Together with the `around` characters that stand beside it in its block it has four characters a
    token (one less if nothing stands beside it, which counts the same); "" if they fill the block.
    """
    rng = random.Random(name)
    words: Sequence[str] = [_WORDS[int(rng.random() * len(_WORDS))] for _ in range(tokens)]
    return " ".join(words)[: max(0, 4 * tokens - around)]
