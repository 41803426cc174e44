"""Realistic agent logs in which one cause of a miss, or two, are planted at a known request.

The conversations are those of `cachecast generate coding-agent`; a system text with examples,
passages and tool lists, thinking and a picture are put in. Nothing of `cachecast_sim.why` is used.
"""

import copy
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import planted_formats as formats

from cachecast_datasets.synthetic.generating import generate
from cachecast_datasets.synthetic.lines import pair_line
from cachecast_datasets.synthetic.workload import KINDS

START = datetime(2026, 11, 2, 23, 57, 11)
PICTURE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 40},
}
RULES = (
    "You are a careful coding agent. Answer in English and be brief. Never push to the main "
    "branch. Indent with two spaces. Ask before you delete anything. "
)
GAP_S = 47


@dataclass
class Call:
    """One request of the conversation, before it is written."""

    at_s: float
    tools: list[dict[str, Any]]
    system: list[str]
    messages: list[dict[str, Any]]
    model: str = "claude-opus-5"
    account: str = "team"
    host: str = "api.anthropic.com"
    settings: dict[str, Any] = field(default_factory=dict)
    first_token_s: float | None = 0.8
    status: int = 200
    marked: bool = True
    aborted: bool = False  # the connection was lost before the first token
    session: str = "s"
    reply: dict[str, Any] | None = None

    @property
    def moment(self) -> datetime:
        """When it was sent."""
        return START + timedelta(seconds=self.at_s)


@dataclass
class Case:
    """A log with a planted request: its calls, where the plant is, and what was planted."""

    calls: list[Call]
    at: int
    rng: random.Random
    alone: bool = True  # of two plants neither may take away what the other one changed


Plant = Callable[[Case], None]


def conversations(folder: Path, seed: int) -> list[list[dict[str, Any]]]:
    """The request bodies of each generated session, in order."""
    from dataclasses import replace

    workload = replace(
        KINDS["coding-agent"], tools=5, tool_tokens=120, system_tokens=300, ask_tokens=60,
        answer_tokens=50, result_tokens=150, turns=3, steps=3, rate_per_hour=20, vary=0,
    )  # fmt: skip
    out = folder / f"base-{seed}.jsonl"
    generate(workload, out, pair_line, requests=54, seed=seed)
    sessions: dict[str, list[dict[str, Any]]] = {}
    for line in out.read_text().splitlines():
        row = json.loads(line)
        sessions.setdefault(row["session"], []).append(row["request"])
    return [bodies for bodies in sessions.values() if len(bodies) >= 6]


def base_case(bodies: list[dict[str, Any]], rng: random.Random) -> Case:
    """Six calls of one conversation, GAP_S apart; the plant is meant for the fifth."""
    variant = rng.choice(list(formats.EXAMPLES)), rng.choice(list(formats.PASSAGES))
    order = list(range(6))
    system = [
        RULES,
        formats.EXAMPLES[variant[0]](order),
        formats.PASSAGES[variant[1]](order),
        formats.TOOL_LISTS[rng.choice(list(formats.TOOL_LISTS))](order),
        bodies[0]["system"][0]["text"],
    ]
    calls = []
    for n, body in enumerate(bodies[:6]):
        messages = _plain(copy.deepcopy(body["messages"]))
        _think(messages)
        messages[0]["content"].insert(0, copy.deepcopy(PICTURE))
        tools = [formats.without(tool, "cache_control") for tool in copy.deepcopy(body["tools"])]
        calls.append(Call(n * GAP_S, tools, list(system), messages))
    return Case(calls, 4, rng)


def _plain(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for message in messages:
        message["content"] = [formats.without(b, "cache_control") for b in message["content"]]
    return messages


def _think(messages: list[dict[str, Any]]) -> None:
    """Thinking before every answer, the same in each call that repeats it."""
    for n, message in enumerate(messages):
        if message["role"] == "assistant":
            thought = {
                "type": "thinking",
                "thinking": f"Thought {n}: look at the file first, then decide what to change.",
                "signature": f"sig{n}",
            }
            message["content"].insert(0, thought)


def write_case(case: Case, path: Path) -> list[str]:
    """The calls as a pair log; the request ids, in order of the calls."""
    with path.open("w") as out:
        for n, call in enumerate(case.calls):
            out.write(json.dumps(_row(n, call)) + "\n")
    return [f"r{n}" for n in range(len(case.calls))]


def _row(n: int, call: Call) -> dict[str, Any]:
    moment = call.moment.replace(tzinfo=UTC)
    marker = {"cache_control": {"type": "ephemeral"}} if call.marked else {}
    system = [{"type": "text", "text": text} for text in call.system]
    if system:
        system[-1] |= marker  # type: ignore[arg-type]
    tools = copy.deepcopy(call.tools)
    messages = copy.deepcopy(call.messages)
    if tools:
        tools[-1] |= marker
    last = messages[-1]["content"]
    if isinstance(last, list):
        last[-1] |= marker
    body = {"model": call.model, "max_tokens": 4096, "tools": tools, "system": system,
            "messages": messages, **call.settings}  # fmt: skip
    reply = call.reply or {
        "id": f"msg_{n}", "type": "message", "role": "assistant", "model": call.model,
        "content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn",
        "usage": {"input_tokens": None, "cache_creation_input_tokens": None,
                  "cache_read_input_tokens": None, "output_tokens": 20},
    }  # fmt: skip
    ended = {"status": 0, "first_token_s": None, "response": None} if call.aborted else {}
    return {
        "id": f"r{n}", "session": call.session, "account": call.account,
        "start_time": moment.isoformat().replace("+00:00", "Z"),
        "first_token_s": call.first_token_s, "url": f"https://{call.host}/v1/messages",
        "request": body, "response": reply if call.status == 200 else None, **ended,
    }  # fmt: skip
