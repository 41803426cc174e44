"""The requests of one synthetic session, in order of arrival."""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from cachecast_datasets.synthetic.workload import Workload

CLOCK_TOKENS = 30
TITLE_SYSTEM_TOKENS, TITLE_TOKENS = 150, 12  # a title is asked for with few words, in few
SUMMARY_ASK_TOKENS, SUMMARY_TOKENS = 200, 600
TOOL_S = 2.0  # mean time that a tool takes
# a stand-in for a provider's speed, which knows no cache
FIRST_TOKEN_S, FIRST_TOKEN_S_PER_TOKEN, S_PER_OUTPUT_TOKEN = 0.3, 0.0001, 0.0125


@dataclass(frozen=True, slots=True)
class Part:
    """A content block. Equal names are equal content, of equal size.

    `masked` names the content with its volatile value masked; `joined`: of the same message as the
    part before.
    """

    section: str
    name: str
    tokens: int
    kind: str = "text"
    joined: bool = False
    masked: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One request and its answer. Times in seconds: `at_s` from the log's zero, others from it."""

    id: str
    session: str
    model: str
    at_s: float
    first_token_s: float
    end_s: float
    prompt: tuple[Part, ...]
    marked: frozenset[int]  # which parts hold the workload's marker
    answer: tuple[Part, ...]

    @property
    def prompt_tokens(self) -> int:
        """The whole prompt."""
        return sum(part.tokens for part in self.prompt)

    @property
    def output_tokens(self) -> int:
        """The whole answer."""
        return sum(part.tokens for part in self.answer)


class Session:
    """One session: what its prompts begin with, what was said so far, and the time."""

    def __init__(self, w: Workload, rng: random.Random, number: int, start_s: float) -> None:
        self._w = w
        self._rng = rng
        self._name = f"s{number}"
        self._fault = w.fault_of(number)
        self._owner = "common" if rng.random() < w.sharing else self._name
        self._tools = [
            Part("tools", f"{self._owner} tool {n}", w.tool_tokens, "tool_definition")
            for n in range(1, w.tools + 1)
        ]
        self._system = f"{self._owner} system"
        self._history: list[Part] = []
        self._at_s = start_s
        self._requests = 0  # of the conversation; a title is none

    def calls(self) -> Iterator[Call]:
        """Its requests."""
        if self._w.title_model is not None:
            yield self._title(self._w.title_model)
        turns = _around(self._rng, self._w.turns, self._w.vary)
        for turn in range(1, turns + 1):
            if turn > 1:
                self._at_s += _pause(self._rng, self._w.think_s, self._w.vary)
            if turn == turns // 2 + 1:
                self._middle(turn)
            if self._is_long():
                yield self._summary(turn)
            self._ask(turn)
            yield from self._steps()

    def _middle(self, turn: int) -> None:
        """The faults that happen once."""
        if self._fault == "pause_s" and turn > 1:
            self._at_s += self._w.pause_s
        if self._fault == "edit_system":
            self._system = f"{self._name} edited system"
        if self._fault == "add_tool":
            name = f"{self._name} added tool"
            self._tools = [
                *self._tools, Part("tools", name, self._w.tool_tokens, "tool_definition")
            ]  # fmt: skip

    def _ask(self, turn: int) -> None:
        """A person's message, in one with the document or the summary before it."""
        if turn == 1 and self._w.document_tokens:
            document = f"{self._owner} document"
            self._history.append(Part("user", document, self._w.document_tokens, "document"))
        tokens = _around(self._rng, self._w.ask_tokens, self._w.vary)
        joined = bool(self._history) and self._history[-1].section == "user"
        self._history.append(Part("user", f"{self._name} ask {turn}", tokens, joined=joined))

    def _steps(self) -> Iterator[Call]:
        """The requests of a turn: all but the last end in tool calls."""
        w, rng = self._w, self._rng
        steps = _around(rng, w.steps, w.vary) if w.parallel else 1
        for step in range(1, steps + 1):
            uses = w.parallel if step < steps else 0
            number = self._requests + 1
            answer = _answer(rng, w, f"{self._name} answer {number}", uses)
            yield self._call(answer)
            self._history.extend(answer)
            if uses:
                self._history.extend(_results(rng, w, f"{self._name} result {number}", uses))
                self._at_s += _pause(rng, TOOL_S, w.vary)

    def _call(self, answer: list[Part]) -> Call:
        """The conversation so far as a request; its answer takes time."""
        self._requests += 1
        lead = self._lead()
        prompt = (*lead, *self._history)
        marked = {len(prompt) - 1} | ({len(lead) - 1} if lead else set())
        marked |= {i for i, part in enumerate(prompt) if part.kind == "document"}
        number = f"{self._name}-{self._requests}"
        call = self._sent(number, self._w.model, prompt, marked, answer)
        self._at_s += call.end_s
        return call

    def _lead(self) -> list[Part]:
        if self._fault == "shuffle_tools" and self._requests > 1:
            self._tools = _shuffled(self._rng, self._tools)
        lead = list(self._tools)
        if self._fault == "clock_in_system":
            now = f"{self._name} clock {self._requests}"
            lead.append(Part("system", now, CLOCK_TOKENS, masked="clock"))
        if self._w.system_tokens:
            lead.append(Part("system", self._system, self._w.system_tokens))
        return lead

    def _title(self, model: str) -> Call:
        """Asked for on the side: the conversation does not wait for it, and never sees it."""
        tokens = _around(self._rng, self._w.ask_tokens, self._w.vary)
        prompt = (
            Part("system", "common title system", TITLE_SYSTEM_TOKENS),
            Part("user", f"{self._name} title ask", tokens),
        )
        answer = [Part("assistant", f"{self._name} title", TITLE_TOKENS)]
        return self._sent(f"{self._name}-title", model, prompt, {1}, answer)

    def _is_long(self) -> bool:
        longest = self._w.compact_tokens
        return bool(longest) and sum(part.tokens for part in self._history) > longest

    def _summary(self, turn: int) -> Call:
        """Ask for a summary of the history, which takes its place."""
        name = f"{self._name} summary {turn}"
        self._history.append(Part("user", f"ask for {name}", SUMMARY_ASK_TOKENS))
        call = self._call([Part("assistant", name, SUMMARY_TOKENS)])
        self._history = [Part("user", name, SUMMARY_TOKENS)]
        return call

    def _sent(
        self, number: str, model: str, prompt: tuple[Part, ...], marked: set[int],
        answer: list[Part],
    ) -> Call:  # fmt: skip
        first = FIRST_TOKEN_S + FIRST_TOKEN_S_PER_TOKEN * sum(part.tokens for part in prompt)
        end = first + S_PER_OUTPUT_TOKEN * sum(part.tokens for part in answer)
        return Call(
            number, self._name, model, round(self._at_s, 3), round(first, 3), round(end, 3), prompt,
            frozenset(marked) if self._w.marker else frozenset(), tuple(answer),
        )  # fmt: skip


def _answer(rng: random.Random, w: Workload, name: str, uses: int) -> list[Part]:
    if not uses:
        return [Part("assistant", name, _around(rng, w.answer_tokens, w.vary))]
    each = max(1, w.answer_tokens // uses)
    return [
        Part("assistant", f"{name}.{n}", _around(rng, each, w.vary), "tool_use", joined=n > 1)
        for n in range(1, uses + 1)
    ]


def _results(rng: random.Random, w: Workload, name: str, uses: int) -> list[Part]:
    return [
        Part(
            "tool", f"{name}.{n}", _around(rng, w.result_tokens, w.vary), "tool_result",
            joined=n > 1,
        )
        for n in range(1, uses + 1)
    ]  # fmt: skip


def _around(rng: random.Random, mean: int, vary: float) -> int:
    """A whole number of at least 1, evenly spread by `vary` times the mean."""
    return max(1, round(mean * (1 + vary * (2 * rng.random() - 1))))


def _pause(rng: random.Random, mean: float, vary: float) -> float:
    return mean * (1 - vary) + exponential(rng, mean * vary)


def exponential(rng: random.Random, mean: float) -> float:
    """An exponential draw with this mean."""
    return -mean * math.log(1 - rng.random())


def _shuffled(rng: random.Random, parts: list[Part]) -> list[Part]:
    """Another order of at least two parts."""
    keyed = sorted((rng.random(), n) for n in range(len(parts)))
    found = [parts[n] for _, n in keyed]
    return found if found != parts else parts[1:] + parts[:1]
