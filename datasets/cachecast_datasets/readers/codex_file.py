"""One Codex rollout, read from the front: settings, items, and a call at each token count."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from cachecast_datasets.block_path import Part
from cachecast_datasets.errors import LogError
from cachecast_datasets.hashing import content_hash
from cachecast_datasets.readers.codex_forks import CopyFilter, payload_hash
from cachecast_datasets.readers.codex_items import instructions_part, is_output, item_parts
from cachecast_datasets.readers.codex_lines import (
    CONTEXTS,
    EVENTS,
    LINES,
    METAS,
    OBJECTS,
    TOKEN_COUNTS,
    USAGES,
    Info,
    Line,
    SessionMeta,
    TokenUsage,
    TurnContext,
)
from cachecast_datasets.readers.prompt_growth import Answer, Prompt, PromptGrowth
from cachecast_datasets.readers.times import moment_us
from cachecast_datasets.readers.transcripts import Place
from cachecast_datasets.source import as_text

UNSEEN = "unseen tools"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


def thread_of(name: str) -> str:
    """A thread's identity: the last UUID in its file's name, never the id inside the file."""
    found = _UUID.findall(name)
    return found[-1].lower() if found else name.split(".")[0]


@dataclass(slots=True)
class Call:
    """One model call: what it used, when, and its prompt."""

    line: int
    number: int
    usage: TokenUsage
    raw_usage: bytes
    start_us: int | None
    first_output_us: int | None
    end_us: int
    model: str | None
    effort: str | None
    tier: str | None
    prompt: Prompt | None
    output_types: list[str]


@dataclass(slots=True)
class History:
    """The items so far. Outputs of the running call, and results that came early, wait."""

    prompt: Prompt | None = None
    answer: Answer = field(default_factory=Answer)  # of the call before, then what came after it
    inputs: list[Part] = field(default_factory=list)
    outputs: list[Part] = field(default_factory=list)
    early: list[Part] = field(default_factory=list)
    answering: bool = False
    input_us: int | None = None
    early_us: int | None = None
    output_us: int | None = None

    def add(self, item: dict[str, Any], time_us: int | None) -> None:
        """One more item."""
        parts = item_parts(item)
        if is_output(item):
            self.outputs += parts
            self.output_us = time_us if self.output_us is None else self.output_us
            self.answering = True
        elif self.answering:
            self.early += parts
            self.early_us = time_us
        else:
            self.inputs += parts
            self.input_us = time_us

    def answered(self, tokens: int) -> None:
        """The running call is over: what it wrote is part of the next prompt."""
        self.answer = Answer(self.outputs, tokens)
        self.inputs = self.early
        self.outputs, self.early = [], []
        self.input_us, self.early_us, self.output_us = self.early_us, None, None
        self.answering = False

    def replaced(self, parts: list[Part]) -> None:
        """A compaction: the prompts start anew."""
        self.prompt, self.answer = None, Answer()
        self.inputs, self.outputs, self.early = parts, [], []
        self.answering = False


class RolloutFile:
    """Iterate it for the calls that are this thread's own."""

    def __init__(self, place: Place, parents: dict[str, set[int]]) -> None:
        self.thread = thread_of(as_text(place.path.name))
        self.meta = SessionMeta()
        self.parent: str | None = None
        self.copied = 0
        self.unwritten = 0  # calls of builds that do not report cache writes
        self.payloads: set[int] = set()
        self._place = place
        self._parents = parents
        self._copies: CopyFilter | None = None
        self._context = TurnContext()
        self._tier: str | None = None
        self._total: TokenUsage | None = None
        self._history = History()
        self._growth = PromptGrowth()
        self._instructions: list[Part] = []
        self._started_us: int | None = None
        self._number = 0

    def calls(self) -> Iterator[Call]:
        """The calls, in the order of the file."""
        for number, data in self._place.lines():
            try:
                line = self._place.decode(LINES, data, number)
                call = self._take(number, line)
            except (ValueError, LogError, RecursionError) as problem:
                self._place.refuse(number, problem)
                continue
            if call is not None:
                yield call
        self._place.finish("Codex rollout")

    def _take(self, number: int, line: Line) -> Call | None:
        if line.type is None or not bytes(line.payload):
            self._place.foreign(number)
            return None
        self._place.is_ours = True
        time_us = None if line.timestamp is None else moment_us(line.timestamp, "timestamp")
        if self._started_us is None:
            self._started_us = time_us
        payload = bytes(line.payload)
        if line.type == "session_meta":
            self._begin(self._place.part(METAS, payload, number))
        elif line.type == "turn_context":
            context = self._place.part(CONTEXTS, payload, number)
            self._context = TurnContext(
                context.model or self._context.model, context.effort or self._context.effort
            )
        elif line.type == "event_msg":
            return self._event(number, payload, time_us)
        elif line.type in ("response_item", "compacted"):
            self._item(line.type, self._place.part(OBJECTS, payload, number), time_us)
        return None

    def _event(self, number: int, payload: bytes, time_us: int | None) -> Call | None:
        kind = self._place.part(EVENTS, payload, number).type
        if kind == "token_count":
            counted = self._place.part(TOKEN_COUNTS, payload, number)
            return None if counted.info is None else self._count(number, counted.info, time_us)
        if kind == "thread_settings_applied":
            value = self._place.part(OBJECTS, payload, number)
            settings = value.get("thread_settings", value)
            tier = settings.get("service_tier") if isinstance(settings, dict) else None
            self._tier = tier if isinstance(tier, str) else None
        return None

    def _begin(self, meta: SessionMeta) -> None:
        """The first session_meta counts; a fork may hold its parent's as well."""
        if self._copies is not None or self.meta.id is not None:
            return
        self.meta = meta
        told, other = meta.id.lower() if meta.id is not None else None, None
        if _UUID.fullmatch(self.thread) is None:
            self.thread = told or self.thread
        elif told != self.thread:
            other = told
        self.parent = meta.parent() or other
        if self.parent is not None:
            known = self._parents.get(self.parent.lower(), set())
            self._copies = CopyFilter(known, meta.cli_version, self._started_us)
        base = meta.base_instructions
        text = base.text if not isinstance(base, str | None) else base
        text = text or meta.instructions
        self._instructions = [instructions_part(text)] if text else []

    def _item(self, name: str, value: dict[str, Any], time_us: int | None) -> None:
        if name == "response_item":
            self._history.add(value, time_us)
        else:
            items = value.get("replacement_history")
            parts = [part for item in _dicts(items) for part in item_parts(item)]
            summary = value.get("message")
            if not parts and isinstance(summary, str):
                parts = item_parts({"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": summary}]})  # fmt: skip
            self._history.replaced(parts)

    def _count(self, number: int, info: Info, time_us: int | None) -> Call | None:
        """A token count: a new call, or a repetition, a copy, a mark that the context is full."""
        before = self._total
        total, last = self._usage(number, info.total), self._usage(number, info.last)
        raw = bytes(info.total if last is None else info.last)
        payload = payload_hash(total, last)
        if total is not None:
            self._total = total
            if total == before:
                return None
            last = total.since(before) if last is None else last
        if last is None or last.is_empty or (total is not None and total.is_empty):
            return None
        self.payloads.add(payload)
        if self._copies is not None and self._copies.is_copy(payload, time_us):
            self.copied += 1
            self._grow(last.input_tokens)
            self._history.answered(last.output_tokens)
            return None
        if time_us is None:
            raise ValueError("timestamp is missing, expected the event's time")
        history = self._history
        if last.cache_write_input_tokens is None:
            self.unwritten += 1
        self._number += 1
        types = [part.kind for part in history.outputs]
        start, first = history.input_us, history.output_us
        prompt = self._grow(last.input_tokens)
        history.answered(last.output_tokens)
        return Call(
            number, self._number, last, raw, start, first, time_us,
            self._context.model or info.model,
            self._context.effort, self._tier, prompt, types,
        )  # fmt: skip

    def _usage(self, number: int, raw: msgspec.Raw) -> TokenUsage | None:
        data = bytes(raw)
        return None if data in (b"", b"null") else self._place.part(USAGES, data, number)

    def _grow(self, total: int) -> Prompt | None:
        """The prompt of the call that just ended; None if the file shows nothing of it."""
        history = self._history
        new = [*history.answer.parts, *history.inputs]
        if history.prompt is None and not new and not self._instructions:
            return None
        key = f"codex\n{self.meta.cli_version}\n{self._context.model}"
        lead_hash = content_hash(key.encode(errors="replace"))
        lead = Part("tools", "tools", "text", 0, lead_hash, lead_hash, lead_hash, UNSEEN)
        if history.prompt is None:
            history.prompt = self._growth.first(lead, [*self._instructions, *new], total)
        else:
            history.prompt = self._growth.next(
                history.prompt, lead, history.answer, history.inputs, total
            )
        return history.prompt


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
