"""What the tests of the SGLang server share: jobs, step times, a clock, a look into the tree."""

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from cachecast_datasets.request import Request
from cachecast_sim.fleet.content import JobMaker
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.prefixes import Path, Segment
from cachecast_sim.fleet.sglang.node import Node
from cachecast_sim.fleet.sglang.radix_cache import RadixCache
from cachecast_sim.fleet.sglang.server import SglangServer
from cachecast_sim.fleet.sglang.settings import SglangSettings
from cachecast_sim.latency.model import LatencyModel

Page = tuple[Segment, int]


class Call(NamedTuple):
    """A request: its tokens, and the tokens of its output or only how many they are."""

    at_us: int
    prompt: Sequence[int]
    output: Sequence[int] | int


def jobs_of(calls: Iterable[Call], page_tokens: int) -> list[Job]:
    maker = JobMaker(page_tokens)
    return [maker.job(request_of(number, call)) for number, call in enumerate(calls)]


def request_of(number: int, call: Call) -> Request:
    known = not isinstance(call.output, int)
    return Request(
        request_id=str(number),
        arrival_us=call.at_us,
        prompt_tokens=len(call.prompt),
        output_tokens=len(call.output) if not isinstance(call.output, int) else call.output,
        token_ids=np.asarray(call.prompt, dtype=np.int32),
        output_token_ids=np.asarray(call.output, dtype=np.int32) if known else None,
    )


class Linear(LatencyModel):
    """1,000 ns a step, 10 ns a token, 1 ns per `context_per_ns` tokens of context read."""

    def __init__(self, context_per_ns: int = 1_000_000_000) -> None:
        self.context_per_ns = context_per_ns
        self.decode_steps = 0

    def step_ns(
        self, prefill_tokens: int, prefill_requests: int, prefill_context: int,
        decode_requests: int, decode_context: int,
    ) -> int:  # fmt: skip
        context = prefill_context + decode_context
        return 1000 + 10 * (prefill_tokens + decode_requests) + context // self.context_per_ns

    def decode_ends_ns(self, requests: int, context: int, steps: int) -> Sequence[int]:
        contexts = (context + requests * step for step in range(steps))
        return list(accumulate(self.step_ns(0, 0, 0, requests, context) for context in contexts))

    def taken(self, steps: int) -> None:
        self.decode_steps += steps


def pages_of(path: Path, pages: int) -> tuple[Page, ...]:
    """The first pages of a path one by one: each is a position in a segment."""
    listed = [
        (segment, position)
        for segment, low, high in path
        for position in range(low, min(high, pages))
    ]
    return tuple(listed[:pages])


def nodes_of(cache: RadixCache) -> list[tuple[tuple[Page, ...], Node]]:
    """Every node under the pages from the root to its end, however deep."""
    found: list[tuple[tuple[Page, ...], Node]] = []
    todo: list[tuple[tuple[Page, ...], Node]] = [((), root) for root in cache._roots.values()]
    while todo:
        above, node = todo.pop()
        for child in node.children.values():
            prefix = (*above, *pages_of(child.pieces, child.high))
            found.append((prefix, child))
            todo.append((prefix, child))
    return found


def check(cache: RadixCache) -> None:
    """What must hold after every operation, all of it counted anew."""
    prefixes = nodes_of(cache)
    nodes = [node for _, node in prefixes]
    assert cache.free_pages + cache.held_pages + cache.tree_pages == cache.total_pages
    assert min(cache.free_pages, cache.held_pages) >= 0
    assert cache.tree_pages == sum(node.high - node.low for node in nodes)
    assert cache.evictable_pages == sum(node.high - node.low for node in nodes if not node.locks)
    assert cache._leaves.leaves == {node for node in nodes if not node.locks and not node.children}
    pages = []
    for prefix, node in prefixes:
        assert node.low < node.high == len(prefix)
        assert all(segment is child.pieces[0].segment for segment, child in node.children.items())
        assert all(child.parent is node for child in node.children.values())
        assert sum(child.locks for child in node.children.values()) <= node.locks
        pages += [prefix[: end + 1] for end in range(node.low, node.high)]
    assert len(pages) == len(set(pages)) == cache.tree_pages


def serve(
    settings: SglangSettings, jobs: Iterable[Job], latency: LatencyModel | None = None,
    look: Callable[[RadixCache], None] = check,
) -> SglangServer:  # fmt: skip
    """A server after it has served all of them. Arrivals come before a step's end at their time.

    `look` looks at the cache after everything that happens.
    """
    ended: list[int] = []
    server = SglangServer(
        settings, latency or Linear(), lambda job, now_ns: ended.append(job.index)
    )
    next_ns: int | None = None
    for job in jobs:
        while next_ns is not None and next_ns < job.arrival_ns:
            next_ns = server.advance(next_ns)
        sooner = server.submit(job, job.arrival_ns)
        next_ns = next_ns if sooner is None else sooner
        look(server.cache)
    while next_ns is not None:
        next_ns = server.advance(next_ns)
        look(server.cache)
    assert sorted(ended) == sorted(job.index for job in jobs)  # each exactly once
    assert server.cache.held_pages == 0
    return server


def served(settings: SglangSettings, *calls: Call) -> tuple[SglangServer, list[Job]]:
    jobs = jobs_of(calls, settings.page_tokens)
    return serve(settings, jobs), jobs


def tokens(count: int, first: int = 0) -> list[int]:
    """`count` tokens that no other `first` shares."""
    return list(range(first * 10_000, first * 10_000 + count))
