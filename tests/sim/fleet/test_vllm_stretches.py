"""Several servers, in stretches of steps and step by step: every result of every request is the
same, the reasons too, which ask what any server has computed by then. Most times are whole
microseconds, so that boundaries of several servers often come at one and the same time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from fleet_runs import Setup, ask, linear, vllm_server
from hypothesis import given, settings
from hypothesis import strategies as st
from sim.fleet.vllm_cases import LATENCIES, Case, cases, echoes

from cachecast_sim.fleet.config import fleet_config
from cachecast_sim.fleet.content import JobMaker
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.routers import ROUTERS, RouterSettings
from cachecast_sim.fleet.run import FleetRun
from cachecast_sim.fleet.vllm.beside import Beside
from cachecast_sim.fleet.world import FleetWorld
from cachecast_sim.latency.model import LatencyModel

FACTS = [name for name in Job.__slots__ if name not in ("path", "held")]


@dataclass(frozen=True, slots=True)
class Fleet:
    """Servers all alike. In a closed loop there are two sessions, and no pauses."""

    servers: int
    router: str
    closed: bool
    case: Case


fleets = st.builds(
    Fleet, st.integers(2, 3), st.sampled_from(sorted(ROUTERS)), st.booleans(), cases() | echoes()
)


class StepByStep(LatencyModel):
    """The same step times, asked for one by one; decode steps as a stretch if `decode_at_once`."""

    def __init__(self, inner: LatencyModel, decode_at_once: bool) -> None:
        self._inner = inner
        self._decode_at_once = decode_at_once

    def step_ns(self, *counts: int) -> int:
        return self._inner.step_ns(*counts)

    def decode_ends_ns(self, requests: int, context: int, steps: int) -> Sequence[int]:
        if self._decode_at_once:
            return self._inner.decode_ends_ns(requests, context, steps)
        return [self._inner.step_ns(0, 0, 0, requests, context)]

    def taken(self, steps: int) -> None:
        if self._decode_at_once:
            self._inner.taken(steps)


@dataclass(slots=True)
class Outcome:
    jobs: list[dict[str, Any]]
    gaps: dict[int, int]
    steps: int
    counts: tuple[int, int]
    timeline: list[Any]


def served(fleet: Fleet, stretches: str) -> Outcome:
    setup, case = fleet.case.setup, fleet.case
    config = fleet_config({
        "fleet": {
            "servers": fleet.servers, "router": fleet.router,
            "loop": "closed" if fleet.closed else "open",
        },
        "engine": {
            "block_tokens": setup.block_tokens, "blocks": setup.usable_blocks + 1,
            "max_batch_tokens": setup.max_batch_tokens, "max_seqs": setup.max_seqs,
        },
        "latency": {"kind": "fixed", "prefill_step_s": 1, "decode_step_s": 1},
    })  # fmt: skip

    def latency(table: object, files: object) -> LatencyModel:
        model = LATENCIES[case.latency]()
        return model if stretches == "all" else StepByStep(model, stretches == "decode")

    for number, asked in enumerate(case.asked):
        asked.request.session_id = str(number % 2)
        asked.request.think_time_s = 0.0
    with patch("cachecast_sim.fleet.servers.latency_of", latency):
        run = FleetRun(config)
    run.timeline.width_ns = 5_000
    jobs = [
        {name: getattr(job, name) for name in FACTS}
        for job in run.jobs([asked.request for asked in case.asked])
    ]
    counts = run.preemptions, run.evicted_blocks
    return Outcome(jobs, run.gaps.as_dict(), run.steps, counts, run.timeline.servers)


@settings(max_examples=300)
@given(fleets)
def test_chunks_as_one_stretch_change_nothing(fleet: Fleet) -> None:
    """The timeline neither, which looks at the servers at step boundaries."""
    assert served(fleet, "all") == served(fleet, "decode")


@settings(max_examples=300)
@given(fleets)
def test_stretches_change_nothing(fleet: Fleet) -> None:
    found, expected = served(fleet, "all"), served(fleet, "none")

    found.timeline = expected.timeline = []  # of a decode stretch it sees only the ends
    assert found == expected


def test_boundaries_at_one_time_come_in_the_order_of_the_servers() -> None:
    """Two like prompts of a block and a token come at 0 ms, the first to server 1. Server 0 is
    before it all the same: its block is computed when server 1 looks who has it, and not yet when
    server 0 does."""
    world, beside, maker = FleetWorld(), Beside(), JobMaker(4)
    setup = Setup(block_tokens=4, usable_blocks=8)
    servers = [vllm_server(setup, linear(1, 0), world.finished, beside) for _ in range(2)]
    world.connect(servers, lambda job, now_ns: 1 - job.index)

    first, second = world.run([maker.job(ask(0, [1, 2, 3, 4, 5])) for _ in range(2)])

    assert second.misses == (("concurrent_with_writer", 4), ("block_rounding", 1))
    assert first.misses == (("routed_elsewhere", 4), ("block_rounding", 1))


def test_a_router_sees_what_a_long_prompts_stretch_has_computed_so_far() -> None:
    """4 tokens a step of 1 us, blocks of 16: the first prompt's first block is full after 4 us, all
    of them within one stretch. The second comes 10 us after it and goes where two blocks are."""
    world, beside, maker = FleetWorld(), Beside(), JobMaker(16)
    setup = Setup(block_tokens=16, usable_blocks=50, max_batch_tokens=4, max_seqs=2)
    servers = [vllm_server(setup, linear(1, 0), world.finished, beside) for _ in range(2)]
    world.connect(servers, ROUTERS["cache_aware"](servers, RouterSettings()))

    jobs = list(world.run([maker.job(ask(at_ms, [1] * 200)) for at_ms in (0, 0.01)]))

    assert [job.server for job in jobs] == [0, 0]
