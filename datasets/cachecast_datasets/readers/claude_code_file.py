"""One Claude Code file as a tree: lines by uuid, and the model calls that wrote some of them."""

from collections import Counter
from dataclasses import dataclass, field

import msgspec

from cachecast_datasets.block_path import Part
from cachecast_datasets.errors import LogError
from cachecast_datasets.readers.anthropic_content import parts_of, plain_part
from cachecast_datasets.readers.anthropic_usage import AnthropicUsage
from cachecast_datasets.readers.claude_code_lines import (
    LINES,
    MESSAGES,
    SYNTHETIC,
    USAGES,
    Line,
    Message,
    is_given,
    is_ours,
)
from cachecast_datasets.readers.times import moment_us
from cachecast_datasets.readers.transcripts import Place
from cachecast_datasets.source import as_text


@dataclass(slots=True, eq=False)
class Node:
    """A line that stands in the tree; `call` is the model call that wrote it, if one did."""

    parent: str | None
    line: int
    time_us: int | None
    parts: list[Part]
    call: "Call | None" = None


@dataclass(slots=True, eq=False)
class Call:
    """One model call, from all its lines. `usage` is that of its most final line."""

    key: str
    line: int
    first: Line
    parent: str | None
    first_us: int
    last_us: int
    message_id: str | None
    model: str | None
    usage: AnthropicUsage
    raw_usage: bytes
    is_final: bool
    cost: float | None = None
    parts: list[Part] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # ids of the tool calls in it

    def take_usage(self, usage: AnthropicUsage, raw: bytes, is_final: bool) -> None:
        """Keep the usage with the largest output; of equals the one that has a stop reason."""
        if (output_of(usage), is_final) > (output_of(self.usage), self.is_final):
            self.usage, self.raw_usage = usage, raw
        self.is_final = self.is_final or is_final


def output_of(usage: AnthropicUsage) -> int:
    """The output that a usage reports, 0 if it does not."""
    return usage.output_tokens if isinstance(usage.output_tokens, int) else 0


class TranscriptFile:
    """All of one file: its calls in the order of their first lines, its nodes by uuid."""

    def __init__(self, place: Place, prefix: str) -> None:
        self.calls: dict[str, Call] = {}
        self.nodes: dict[str, Node] = {}
        self.results: dict[str, list[Node]] = {}  # by the id of the tool call that they answer
        self.counts: Counter[str] = Counter()  # lines that are no requests, by what they are
        self.name = as_text(place.path.name.split(".")[0])
        self._prefix = prefix
        self._place = place
        self._is_agent = self.name.startswith("agent-")
        for number, data in place.lines():
            try:
                self._take(number, data)
            except (ValueError, LogError, RecursionError) as problem:
                place.refuse(number, problem)
        place.finish("Claude Code transcript")

    def agent_of(self, line: Line) -> str | None:
        """The sub-agent that wrote a line, by its own word or the file's name."""
        if line.agent_id is not None:
            return line.agent_id
        return self.name.removeprefix("agent-") if self._is_agent else None

    def is_sidechain(self, line: Line) -> bool:
        """Whether a line belongs to a sub-agent or a side question."""
        return bool(line.is_sidechain) or (line.is_sidechain is None and self._is_agent)

    def _take(self, number: int, data: bytes) -> None:
        line = self._place.decode(LINES, data, number)
        if not is_ours(line):
            self._place.foreign(number)
            return
        self._place.is_ours = True
        if not is_given(line.message):
            if line.type == "assistant":
                problem = "an assistant line without a message, expected its usage in one"
                self._place.lost(self._place.at(number, problem, "another kind of line"))
            parts = []
            if is_given(line.attachment):
                parts = [plain_part(msgspec.json.decode(line.attachment), "user", "attachment")]
            self._add_node(number, line, parts)
            return
        message = self._place.part(MESSAGES, bytes(line.message), number)
        if "assistant" in (line.type, message.role):
            self._assistant(number, line, message)
        else:
            self._user(number, line, message)

    def _user(self, number: int, line: Line, message: Message) -> None:
        hidden = line.is_visible_in_transcript_only
        content = [] if hidden else _content(message)
        node = self._add_node(number, line, list(parts_of(content, "user")))
        if node is not None and isinstance(content, list):
            for item in content:
                if isinstance(item, dict) and isinstance(item.get("tool_use_id"), str):
                    self.results.setdefault(item["tool_use_id"], []).append(node)

    def _assistant(self, number: int, line: Line, message: Message) -> None:
        if line.is_api_error_message or message.model == SYNTHETIC:
            self.counts["client"] += 1
            self._add_node(number, line, [])
            return
        content = _content(message)
        parts = list(parts_of(content, "assistant"))
        if not is_given(message.usage):
            self.counts["no usage"] += 1
            self._add_node(number, line, parts)
            return
        if line.timestamp is None:
            raise ValueError("timestamp is missing, expected the line's time")
        usage = self._place.part(USAGES, bytes(message.usage), number)
        call = self._call(number, line, message, usage)
        hashes = {part.hash for part in call.parts}
        call.parts += [part for part in parts if part.hash not in hashes]
        if isinstance(content, list):
            call.asked += [
                item["id"]
                for item in content
                if isinstance(item, dict) and isinstance(item.get("id"), str)
            ]
        node = self._add_node(number, line, [])
        if node is not None:
            node.call = call

    def _call(self, number: int, line: Line, message: Message, usage: AnthropicUsage) -> Call:
        """The call that this line belongs to, with its usage and times."""
        raw, is_final = bytes(message.usage), message.stop_reason is not None
        time_us = moment_us(line.timestamp or "", "timestamp")
        key = self._key(number, line, message)
        call = self.calls.get(key)
        if call is None:
            call = self.calls[key] = Call(
                key, number, line, line.parent_uuid, time_us, time_us, message.id, message.model,
                usage, raw, is_final,
            )  # fmt: skip
        else:
            call.take_usage(usage, raw, is_final)
            call.first_us, call.last_us = min(call.first_us, time_us), max(call.last_us, time_us)
        call.cost = line.cost if call.cost is None else call.cost
        return call

    def _key(self, number: int, line: Line, message: Message) -> str:
        """What makes lines one request: never their content or time."""
        if message.id is None:
            return line.request_id or f"{self._prefix}{self.name}:{number}"
        if line.request_id is None:
            return f"{line.session_id or self.name}/{message.id}"
        return f"{message.id}/{line.request_id}"

    def _add_node(self, number: int, line: Line, parts: list[Part]) -> Node | None:
        """None for a line without a uuid, and for a copy of one that is there."""
        if line.uuid is None or line.uuid in self.nodes:
            return None
        time = None if line.timestamp is None else moment_us(line.timestamp, "timestamp")
        node = self.nodes[line.uuid] = Node(line.parent_uuid, number, time, parts)
        return node


def _content(message: Message) -> object:
    return msgspec.json.decode(message.content) if is_given(message.content) else []
