"""Requests through the real fleet code on vLLM servers, and what can be seen of it afterwards."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import accumulate

import numpy as np

from cachecast_datasets.request import Request
from cachecast_sim.fleet.content import JobMaker
from cachecast_sim.fleet.extents import Extent
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.prefixes import Segment
from cachecast_sim.fleet.vllm.beside import Beside
from cachecast_sim.fleet.vllm.pool import BlockPool
from cachecast_sim.fleet.vllm.server import VllmServer
from cachecast_sim.fleet.world import FleetWorld
from cachecast_sim.latency.fixed import FixedModel
from cachecast_sim.latency.linear import LinearModel
from cachecast_sim.latency.model import LatencyModel

US = 1_000  # nanoseconds
MS = 1_000_000


def linear(base_us: int, per_token_us: int) -> LatencyModel:
    """A step lasts `base_us` and `per_token_us` for each of its tokens, as in the golden files."""
    return LinearModel(Decimal(base_us) / 1_000_000, Decimal(per_token_us) / 1_000_000)


def by_phase(prefill_us: int, decode_us: int) -> LatencyModel:
    """A step lasts `prefill_us` if it prefills, `decode_us` if it decodes, the sum if both."""
    return FixedModel(Decimal(prefill_us) / 1_000_000, Decimal(decode_us) / 1_000_000)


class ContextSteps(LatencyModel):
    """Every argument counts, so decode steps grow; ends as a list, and `taken` is held to account.

    `steps` are all that it was told of.
    """

    def __init__(self, base_ns: int, context_tokens: int) -> None:
        self.base_ns = base_ns
        self.context_tokens = context_tokens  # so many more tokens of context cost 1 us
        self.steps = 0
        self._open: int | None = None

    def step_ns(
        self, prefill_tokens: int, prefill_requests: int, prefill_context: int,
        decode_requests: int, decode_context: int,
    ) -> int:  # fmt: skip
        self.steps += 1
        return self._ns(
            prefill_tokens + 2 * prefill_requests + decode_requests,
            prefill_context + 3 * decode_context,
        )

    def _ns(self, counted: int, context: int) -> int:
        return self.base_ns + US * (counted + context // self.context_tokens)

    def decode_ends_ns(self, requests: int, context: int, steps: int) -> Sequence[int]:
        assert self._open is None, "the stretch before was never said to be taken"
        self._open = steps
        return list(
            accumulate(self._ns(requests, 3 * (context + k * requests)) for k in range(steps))
        )

    def chunk_ends_ns(
        self, chunk: int, computed: int, decode_requests: int, decode_context: int, steps: int
    ) -> Sequence[int]:
        assert self._open is None, "the stretch before was never said to be taken"
        self._open = steps
        counted = chunk + 2 + decode_requests
        contexts = (
            chunk * (computed + k * chunk) + chunk * (chunk + 1) // 2
            + 3 * (decode_context + k * decode_requests)
            for k in range(steps)
        )  # fmt: skip
        return list(accumulate(self._ns(counted, context) for context in contexts))

    def taken(self, steps: int) -> None:
        assert self._open is not None, "taken without a stretch"
        assert 1 <= steps <= self._open
        self._open = None
        self.steps += steps


@dataclass(frozen=True, slots=True)
class Setup:
    """One vLLM server. `usable_blocks` leaves the null block out."""

    block_tokens: int
    usable_blocks: int
    max_batch_tokens: int = 2048
    max_seqs: int = 64
    ttl_ns: int | None = None


def vllm_server(
    setup: Setup,
    latency: LatencyModel,
    on_finish: Callable[[Job, int], None],
    beside: Beside | None = None,
) -> VllmServer:
    return VllmServer(
        setup.block_tokens, setup.usable_blocks, setup.max_batch_tokens, setup.max_seqs,
        latency, on_finish, ttl_ns=setup.ttl_ns, beside=beside,
    )  # fmt: skip


Probe = Callable[[VllmServer, Job, int], None]


@dataclass(slots=True)
class Served:
    """The jobs in log order, the servers as they stand, the evicted blocks in order."""

    jobs: list[Job] = field(default_factory=list)
    servers: list[VllmServer] = field(default_factory=list)
    evicted: list[tuple[Segment, int]] = field(default_factory=list)

    @property
    def server(self) -> VllmServer:
        (server,) = self.servers
        return server

    @property
    def hits(self) -> list[int]:
        return [job.hit_tokens for job in self.jobs]

    def itl_mean_ns(self) -> float:
        """Sum of the gaps over their number, over all tokens of all servers."""
        gaps = [item for server in self.servers for item in server.gaps.items()]
        return sum(gap * count for gap, count in gaps) / sum(count for _, count in gaps)


def serve(
    setup: Setup,
    latency: Callable[[], LatencyModel],
    requests: Iterable[Request],
    *,
    servers: int = 1,
    ignore_output: bool = False,
    probe: Probe | None = None,
) -> Served:
    """All requests, the n-th on server n modulo `servers`. `probe` sees its server before."""
    served = Served()

    def evicted(segment: Segment, low: int, high: int) -> None:
        served.evicted += [(segment, at) for at in reversed(range(low, high))]

    world, beside = FleetWorld(), Beside()
    for _ in range(servers):
        server = vllm_server(setup, latency(), world.finished, beside)
        server.pool._on_evict = evicted
        served.servers.append(server)

    def route(job: Job, now_ns: int) -> int:
        number = job.index % servers
        if probe is not None:
            probe(served.servers[number], job, now_ns)
        return number

    maker = JobMaker(setup.block_tokens, ignore_output)
    world.connect(served.servers, route)
    served.jobs = list(world.run(map(maker.job, requests)))
    return served


def queue_of(pool: BlockPool) -> list[tuple[Segment, int]]:
    """The hashed free blocks as (segment, position), the head first."""
    return [(extent.segment, at) for extent in extents_in(pool) for at in _downwards(extent)]


def extents_in(pool: BlockPool) -> list[Extent]:
    """The extents of the free queue, the head first; both directions of the ring agree."""
    ring = pool.queue.ring
    forward, at = [], ring.after
    while at is not ring:
        forward.append(at)
        at = at.after
    backward, at = [], ring.before
    while at is not ring:
        backward.append(at)
        at = at.before
    assert forward == backward[::-1]
    return forward


def _downwards(extent: Extent) -> Iterable[int]:
    return reversed(range(extent.low, extent.high))


def ask(
    at_ms: float, prompt: Sequence[int], output: int | Sequence[int] = 1, name: str = ""
) -> Request:
    """A request with token ids; its output as tokens, or as their number only."""
    known = None if isinstance(output, int) else output
    return Request(
        request_id=name,
        arrival_us=round(at_ms * 1000),
        token_ids=np.array(prompt, np.int32),
        output_token_ids=None if known is None else np.array(known, np.int32),
        prompt_tokens=len(prompt),
        output_tokens=output if isinstance(output, int) else len(output),
    )


def ask_ids(
    at_ms: float, ids: Sequence[int], prompt_tokens: int, id_tokens: int, output: int = 1
) -> Request:
    """A request that knows only the ids of its prefixes, `id_tokens` tokens apart."""
    return Request(
        request_id="",
        arrival_us=round(at_ms * 1000),
        token_block_size=id_tokens,
        token_blocks=np.array(ids, np.uint64),
        prompt_tokens=prompt_tokens,
        output_tokens=output,
    )


def steps_of_1_ms() -> LatencyModel:
    """Whatever a step does, it lasts 1 ms: then times count steps."""
    return linear(1_000, 0)


def times_ms(served: Served) -> list[tuple[float, float, float]]:
    """(scheduled, first token, end) of each request in ms."""
    found = []
    for job in served.jobs:
        times = (job.scheduled_ns, job.first_token_ns, job.end_ns)
        scheduled, first, end = (ns / MS for ns in times if ns is not None)
        found.append((scheduled, first, end))
    return found
