"""The requests of a synthetic log, one by one in order of arrival; memory does not grow."""

import heapq
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from cachecast_datasets.synthetic.workload import Workload

FAULT_EVERY = 3  # each fault that is switched on hits every third session
CLOCK_TOKENS = 30
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


def calls(
    workload: Workload, seed: int, requests: int, sessions: int | None = None
) -> Iterator[Call]:
    """The first `requests` by arrival, of at most `sessions` sessions."""
    starts = _starts(workload, seed, sessions)
    waiting: list[tuple[float, int, Call, Iterator[Call]]] = []
    coming = next(starts, None)
    for _ in range(requests):
        while coming is not None and (not waiting or coming[1] <= waiting[0][0]):
            number, start = coming
            thread = _session(workload, random.Random(f"{seed}/session/{number}"), number, start)
            _push(waiting, number, thread)
            coming = next(starts, None)
        if not waiting:
            return
        _, number, call, thread = heapq.heappop(waiting)
        yield call
        _push(waiting, number, thread)


def _push(
    waiting: list[tuple[float, int, Call, Iterator[Call]]], number: int, thread: Iterator[Call]
) -> None:
    call = next(thread, None)
    if call is not None:
        heapq.heappush(waiting, (call.at_s, number, call, thread))


def _starts(workload: Workload, seed: int, sessions: int | None) -> Iterator[tuple[int, float]]:
    """(number, start) of each session; the first one starts at 0."""
    rng, at = random.Random(f"{seed}/starts"), 0.0
    for number in count(1):
        if sessions is not None and number > sessions:
            return
        yield number, at
        at += _exponential(rng, 3600 / workload.rate_per_hour)


def _session(w: Workload, rng: random.Random, number: int, start: float) -> Iterator[Call]:
    name = f"s{number}"
    # each fault has sessions of its own, so that one does not hide the other
    clock, shuffle, pause = (number % FAULT_EVERY == n % FAULT_EVERY for n in (1, 2, 3))
    owner = "common" if rng.random() < w.sharing else name
    tools = [
        Part("tools", f"{owner} tool {n}", w.tool_tokens, "tool_definition")
        for n in range(1, w.tools + 1)
    ]
    lead = _lead(w, owner)
    history: list[Part] = []
    at, order = start, 0
    turns = _around(rng, w.turns, w.vary)
    for turn in range(1, turns + 1):
        if turn > 1:
            at += _pause(rng, w.think_s, w.vary)
            at += w.pause_s if pause and turn == turns // 2 + 1 else 0
        if turn == 1 and w.document_tokens:
            history.append(Part("user", f"{owner} document", w.document_tokens, "document"))
        asked = Part(
            "user", f"{name} ask {turn}", _around(rng, w.ask_tokens, w.vary),
            joined=turn == 1 and bool(w.document_tokens),
        )  # fmt: skip
        history.append(asked)
        steps = _around(rng, w.steps, w.vary) if w.parallel else 1
        for step in range(1, steps + 1):
            order += 1
            if order > 1 and w.shuffle_tools and shuffle:
                tools = _shuffled(rng, tools)
            now = f"{name} clock {order}"
            ticks = [Part("system", now, CLOCK_TOKENS, masked="clock")]
            before = ticks if w.clock_in_system and clock else []
            uses = w.parallel if step < steps else 0
            answer = _answer(rng, w, f"{name} answer {order}", uses)
            call = _call(w, f"{name}-{order}", name, at, [*tools, *before, *lead], history, answer)
            yield call
            at += call.end_s
            history.extend(answer)
            if uses:
                history.extend(_results(rng, w, f"{name} result {order}", uses))
                at += _pause(rng, TOOL_S, w.vary)


def _lead(w: Workload, owner: str) -> list[Part]:
    return [Part("system", f"{owner} system", w.system_tokens)] if w.system_tokens else []


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


def _call(
    w: Workload,
    call_id: str,
    session: str,
    at: float,
    lead: list[Part],
    history: list[Part],
    answer: list[Part],
) -> Call:
    prompt = (*lead, *history)
    marked = {len(prompt) - 1} | ({len(lead) - 1} if lead else set())
    marked |= {i for i, part in enumerate(prompt) if part.kind == "document"}
    first = FIRST_TOKEN_S + FIRST_TOKEN_S_PER_TOKEN * sum(part.tokens for part in prompt)
    end = first + S_PER_OUTPUT_TOKEN * sum(part.tokens for part in answer)
    return Call(
        call_id, session, round(at, 3), round(first, 3), round(end, 3), prompt,
        frozenset(marked) if w.marker else frozenset(), tuple(answer),
    )  # fmt: skip


def _around(rng: random.Random, mean: int, vary: float) -> int:
    """A whole number of at least 1, evenly spread by `vary` times the mean."""
    return max(1, round(mean * (1 + vary * (2 * rng.random() - 1))))


def _pause(rng: random.Random, mean: float, vary: float) -> float:
    return mean * (1 - vary) + _exponential(rng, mean * vary)


def _exponential(rng: random.Random, mean: float) -> float:
    return -mean * math.log(1 - rng.random())


def _shuffled(rng: random.Random, parts: list[Part]) -> list[Part]:
    """Another order of at least two parts."""
    keyed = sorted((rng.random(), n) for n in range(len(parts)))
    found = [parts[n] for _, n in keyed]
    return found if found != parts else parts[1:] + parts[:1]
