"""Random small logs for one vLLM server, with what the oracle needs to know about each request."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from fleet_oracle import Key
from fleet_runs import US, ContextSteps, Setup, by_phase, linear
from hypothesis import strategies as st

from cachecast_datasets.hashing import token_block_hashes
from cachecast_datasets.request import Request
from cachecast_sim.latency.kinds import latency_of
from cachecast_sim.latency.model import LatencyModel
from cachecast_sim.latency.recorded import RecordedModel

ROOFLINE = latency_of({"kind": "roofline", "model": "llama-3.1-8b", "hardware": "h200-sxm"})
IRREGULAR_NS = [US * (1 + number * number % 7) for number in range(20_000)]
LATENCIES: dict[str, Callable[[], LatencyModel]] = {
    "one us a step": lambda: linear(1, 0),
    "linear": lambda: linear(3, 1),
    "by phase": lambda: by_phase(7, 2),
    "context": lambda: ContextSteps(2 * US, 5),
    "long context": lambda: ContextSteps(US, 40),
    "roofline": lambda: ROOFLINE,
    "recorded": lambda: RecordedModel(IRREGULAR_NS, "steps that follow no rule"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request and the keys of its leading blocks that others may share.

    `ids` are the ids under which the fast code knows the same blocks: (the log's id, the number of
    the engine block inside it).
    """

    request: Request
    keys: tuple[Key, ...]
    ids: tuple[tuple[int, int], ...]

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For Hypothesis: without the fields that are never set here."""
        shown = {name: value for name, value in self.request.as_dict().items() if value is not None}
        printer.text(f"Asked({shown}, keys={self.keys})")


@dataclass(frozen=True, slots=True)
class Case:
    setup: Setup
    latency: str
    looked_into: bool  # whether somebody looks into the pool at every arrival
    asked: tuple[Asked, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """How one request comes out of those before it."""

    gap_us: int
    base: int  # the request, counted back, whose sequence it starts with; 0: none
    cut: int  # how much of that it leaves out
    whole: bool  # whether it cuts at a block
    tail: tuple[int, ...]  # what it adds
    output: tuple[int, ...]


def _said(unit: int, most: int) -> st.SearchStrategy[Said]:
    """`most` bounds a tail; lengths around multiples of `unit` come often."""
    near = st.builds(
        lambda n, off: max(n * unit + off, 0), st.integers(0, most // unit), st.integers(-1, 1)
    )
    tails = st.builds(lambda n, token: (token,) * n, near | st.integers(0, most), st.integers(0, 2))
    lengths = st.integers(1, 4) | st.integers(1, 3 * unit + 1)
    outputs = st.builds(lambda n, token: (token,) * n, lengths, st.integers(0, 2))
    return st.builds(
        Said,
        gap_us=st.sampled_from([0, 0, 0, 1, 2, 3, 4, 7, 20, 100]),
        base=st.integers(0, 4),
        cut=st.sampled_from([0, 0, 0, 1, 2, unit, 2 * unit]) | st.integers(0, most),
        whole=st.booleans(),
        tail=tails,
        output=outputs,
    )


def _sequences(said: Sequence[Said], unit: int) -> Iterator[tuple[int, tuple[int, ...], Said]]:
    """(arrival in us, the prompt, what was said): prompts of at least one token."""
    at, before = 0, list[tuple[int, ...]]()
    for each in said:
        at += each.gap_us
        start: tuple[int, ...] = ()
        if 0 < each.base <= len(before):
            start = before[-each.base]
            end = max(len(start) - each.cut, 0)
            start = start[: end - end % unit if each.whole else end]
        prompt = (start + each.tail) or (0,)
        before.append(prompt + each.output)
        yield at, prompt, each


def _by_tokens(size: int, said: Sequence[Said], outputs_known: bool) -> Iterator[Asked]:
    for number, (at, prompt, each) in enumerate(_sequences(said, size)):
        known = prompt + each.output[:-1] if outputs_known else prompt
        whole = len(known) // size
        hashes = token_block_hashes(np.array(known, np.int32), size).tolist()
        request = Request(
            request_id=str(number),
            arrival_us=at,
            token_ids=np.array(prompt, np.int32),
            output_token_ids=np.array(each.output, np.int32) if outputs_known else None,
            prompt_tokens=len(prompt),
            output_tokens=len(each.output),
        )
        keys = tuple(known[: (i + 1) * size] for i in range(whole))
        yield Asked(request, keys, tuple((block_hash, 0) for block_hash in hashes))


def _by_blocks(size: int, log_size: int, said: Sequence[Said], partial: bool) -> Iterator[Asked]:
    """Ids of `log_size` tokens each; the partial last one is in the log if `partial`."""
    numbers: dict[tuple[int, ...], int] = {}
    for number, (at, prompt, each) in enumerate(_sequences(said, log_size)):
        ends = list(range(log_size, len(prompt) + 1, log_size))
        if partial and len(prompt) % log_size:
            ends.append(len(prompt))
        prefixes = [prompt[:end] for end in ends]
        ids = [
            numbers.setdefault(p, (len(numbers) + 1) * 0x9E3779B97F4A7C15 % 2**64) for p in prefixes
        ]
        keys, fast = list[Key](), list[tuple[int, int]]()
        for i in range(len(prompt) // size):
            holder = ((i + 1) * size - 1) // log_size  # the log's block with its last token
            if holder < len(ids):
                # what a log block holds is known as a whole or not at all
                keys.append((prefixes[holder], i))
                fast.append((ids[holder], i - holder * log_size // size if log_size > size else 0))
        request = Request(
            request_id=str(number),
            arrival_us=at,
            token_block_size=log_size,
            token_blocks=np.array(ids, np.uint64),
            prompt_tokens=len(prompt),
            output_tokens=len(each.output),
        )
        yield Asked(request, tuple(keys), tuple(fast))


@st.composite
def cases(draw: st.DrawFn, most_requests: int = 12) -> Case:
    size = draw(st.sampled_from([1, 2, 4, 4, 16]))
    kind = draw(
        st.sampled_from(["tokens", "tokens", "outputs", "outputs", "blocks", "larger", "smaller"])
    )
    log_size = {"larger": 4 * size, "smaller": max(size // 4, 1)}.get(kind, size)
    unit = max(size, log_size)
    said = draw(st.lists(_said(unit, 4 * unit), min_size=1, max_size=most_requests))
    if kind in ("tokens", "outputs"):
        asked = tuple(_by_tokens(size, said, kind == "outputs"))
    else:
        asked = tuple(_by_blocks(size, log_size, said, draw(st.booleans())))
    needs = [_blocks(each.request, size) for each in asked]
    if draw(st.booleans()):  # crowded: every request would fit alone, hardly two of them
        usable, max_seqs = max(needs) + draw(st.integers(0, 2)), draw(st.integers(2, 6))
    else:
        usable = max(needs) + draw(st.integers(-1, 4) | st.integers(0, sum(needs)))
        max_seqs = draw(st.integers(1, 6))
    budget = max_seqs + draw(st.integers(0, 3) | st.integers(0, 8 * unit))
    return Case(
        Setup(size, max(usable, 1), budget, max_seqs), draw(st.sampled_from(sorted(LATENCIES))),
        draw(st.booleans()), asked,
    )  # fmt: skip


@st.composite
def echoes(draw: st.DrawFn) -> Case:
    """Requests that begin with what an earlier one is just decoding, on a crowded server: whether
    they fit can change with every block that the earlier one fills."""
    size = draw(st.sampled_from([1, 2, 4]))
    answers = st.integers(size, 5 * size + 1)
    said = [
        Said(
            gap_us=draw(st.integers(0, 4)),
            base=draw(st.integers(1, 2)) if number else 0,
            cut=draw(st.integers(0, 4 * size)),
            whole=False,
            tail=(number,) * draw(st.integers(0, size)),
            output=(draw(st.integers(0, 1)),) * draw(answers),
        )
        for number in range(draw(st.integers(2, 5)))
    ]
    asked = tuple(_by_tokens(size, said, outputs_known=True))
    usable = max(_blocks(each.request, size) for each in asked) + draw(st.integers(0, 2))
    max_seqs = draw(st.integers(2, 4))
    budget = max_seqs + draw(st.integers(0, 20 * size))
    latency = draw(st.sampled_from(sorted(LATENCIES)))
    return Case(Setup(size, usable, budget, max_seqs), latency, draw(st.booleans()), asked)


def _blocks(request: Request, size: int) -> int:
    counts: tuple[Any, Any] = (request.prompt_tokens, request.output_tokens)
    return int(-(-(sum(counts) - 1) // size))
