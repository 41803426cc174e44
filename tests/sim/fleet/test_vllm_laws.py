"""What must hold for every log on a vLLM server, whatever the rules say about each request."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from fleet_runs import ContextSteps, Served, Setup, ask, linear, serve
from hypothesis import given, settings
from hypothesis import strategies as st
from sim.fleet.vllm_cases import LATENCIES, Case, cases

from cachecast_datasets.request import Request
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.world import FleetWorld
from cachecast_sim.latency.kinds import latency_of
from cachecast_sim.latency.model import LatencyModel
from cachecast_sim.latency.recorded import RecordedModel


class Counted(ContextSteps):
    """Counts what the steps that really ran computed, and remembers how long each took."""

    def __init__(self) -> None:
        super().__init__(1_000, 9)
        self.prefilled = self.decoded = 0
        self.durations_ns: list[int] = []
        self._stretch = (0, 0, [0])

    def step_ns(self, *counts: int) -> int:
        self.prefilled += counts[0]
        self.decoded += counts[3]
        self.durations_ns.append(super().step_ns(*counts))
        return self.durations_ns[-1]

    def decode_ends_ns(self, requests: int, context: int, steps: int) -> list[int]:
        ends = list(super().decode_ends_ns(requests, context, steps))
        self._stretch = requests, 0, ends
        return ends

    def chunk_ends_ns(
        self, chunk: int, computed: int, decode_requests: int, decode_context: int, steps: int
    ) -> list[int]:
        stretch = (chunk, computed, decode_requests, decode_context, steps)
        ends = list(super().chunk_ends_ns(*stretch))
        self._stretch = decode_requests, chunk, ends
        return ends

    def taken(self, steps: int) -> None:
        super().taken(steps)
        requests, chunk, ends = self._stretch
        self.decoded += requests * steps
        self.prefilled += chunk * steps
        self.durations_ns += [b - a for a, b in pairwise([0, *ends[:steps]])]


def requests_of(case: Case) -> list[Request]:
    return [asked.request for asked in case.asked]


def results(served: Served) -> list[dict[str, Any]]:
    """Everything a job says of itself, but for the objects that it holds."""
    names = [name for name in Job.__slots__ if name not in ("path", "held")]
    return [{name: getattr(job, name) for name in names} for job in served.jobs]


@given(cases())
def test_every_request_comes_out_once_in_the_log_s_order_and_nothing_before_its_cause(
    case: Case,
) -> None:
    """Known faults 15, 17 and 19: requests that never ended, or ended twice."""
    served = serve(case.setup, LATENCIES[case.latency], requests_of(case))
    assert [job.index for job in served.jobs] == list(range(len(case.asked)))
    for job in served.jobs:
        if job.status == "rejected":
            assert job.end_ns is None
            continue
        assert job.status == "ok"
        assert job.scheduled_ns is not None
        assert job.first_token_ns is not None
        assert job.end_ns is not None
        assert job.arrival_ns <= job.scheduled_ns < job.first_token_ns <= job.end_ns
        assert (job.output_tokens > 1) == (job.end_ns > job.first_token_ns)
        assert len(job.readmission_hit_tokens) == job.preemptions
        assert job.hit_tokens <= (job.prompt_tokens - 1) // case.setup.block_tokens * (
            case.setup.block_tokens
        )
        assert job.hit_tokens + sum(tokens for _, tokens in job.misses) == job.prompt_tokens


@given(cases())
def test_every_token_is_computed_as_often_as_the_hits_say(case: Case) -> None:
    """Known faults 1, 16 and 36: what was hit, computed and counted must be the same tokens.

    Without preemptions prompt - hit tokens are prefilled and output - 1 decoded. With them a token
    may be computed again, unless it is found again, and a prefill may stand for a decode.
    """
    latency = Counted()
    served = serve(case.setup, lambda: latency, requests_of(case))
    ok = [job for job in served.jobs if job.status == "ok"]
    prefilled = sum(job.prompt_tokens - job.hit_tokens for job in ok)
    decoded = sum(job.output_tokens - 1 for job in ok)
    found_again = sum(sum(job.readmission_hit_tokens) for job in ok)
    preemptions = served.server.preemptions
    assert latency.prefilled + latency.decoded >= prefilled + decoded - found_again
    assert decoded - preemptions <= latency.decoded <= decoded
    if not preemptions:
        assert latency.prefilled == prefilled
    assert len(latency.durations_ns) == served.server.steps


@given(cases())
def test_the_gaps_between_tokens_fill_the_time_from_the_first_to_the_last(case: Case) -> None:
    served = serve(case.setup, LATENCIES[case.latency], requests_of(case))
    ok = [job for job in served.jobs if job.status == "ok"]
    gaps = served.server.gaps
    assert sum(gaps.values()) == sum(job.output_tokens - 1 for job in ok)
    spans = [(job.end_ns or 0) - (job.first_token_ns or 0) for job in ok]
    assert sum(gap * count for gap, count in gaps.items()) == sum(spans)


@given(cases())
def test_the_same_log_gives_the_same_results_and_a_replay_of_its_steps_too(case: Case) -> None:
    """Known fault 24: a replay of the run's own step durations must not differ in anything."""
    latency = Counted()
    first = serve(case.setup, lambda: latency, requests_of(case))
    again = serve(case.setup, Counted, requests_of(case))
    assert results(first) == results(again)
    replayed = RecordedModel(latency.durations_ns, "the first run")
    replay = serve(case.setup, lambda: replayed, requests_of(case))
    assert results(replay) == results(first)
    assert replay.server.gaps == first.server.gaps
    assert replayed.assumptions() == ()  # no step was left over


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 8), st.integers(1, 9), st.integers(1, 6)),
        min_size=2, max_size=12,
    ),
    st.integers(0, 12),
    st.integers(1, 6),
)  # fmt: skip
def test_more_blocks_never_lower_a_hit_when_no_block_is_ever_computed_twice(
    turns: list[tuple[int, int, int, int]], spare: int, more: int
) -> None:
    """What is proven, and no more: requests one after the other, whose prompts end inside a block
    (the last-token rule then computes no cached block again) and whose answers nobody shares.

    The cached blocks are then the top of one stack, in the order of last use with a prompt's head
    above its tail. A larger pool keeps at least as much of the top before a request, hence after
    it. Copies of a block take room in one pool and not in the other, and requests that run together
    come at other times: there this does not prove anything.
    """
    prompts: list[list[int]] = []
    for base, keep, tail, _ in turns:
        start = prompts[-base] if 0 < base <= len(prompts) else []
        prompt = [*start[: 4 * keep], *range(tail)]
        prompts.append(prompt + [7] * (1 - min(len(prompt) % 4, 1)))
    outputs = [output for *_, output in turns]
    requests = [
        ask(1_000 * number, prompt, output)
        for number, (prompt, output) in enumerate(zip(prompts, outputs, strict=True))
    ]
    most = max(-(-(len(p) + o - 1) // 4) for p, o in zip(prompts, outputs, strict=True))
    small = serve(Setup(4, most + spare), lambda: linear(1, 0), requests).hits
    large = serve(Setup(4, most + spare + more), lambda: linear(1, 0), requests).hits
    assert all(few <= many for few, many in zip(small, large, strict=True)), (small, large)


IDLE: dict[str, LatencyModel] = {
    "linear": linear(3, 1),
    "fixed": latency_of({"kind": "fixed", "prefill_step_s": 0.2, "decode_step_s": 0.02}),
    "roofline": latency_of({"kind": "roofline", "model": "llama-3.1-8b", "hardware": "h200-sxm"}),
}


@given(st.sampled_from(sorted(IDLE)), st.data())
def test_more_hits_never_raise_the_time_to_the_first_token_of_an_idle_server(
    name: str, data: st.DataObject
) -> None:
    """Known fault 36, by experiment: the same prompt after a shorter and a longer cached prefix."""
    prompt = list(range(data.draw(st.integers(1, 200), "prompt")))
    fewer, more = sorted(data.draw(st.tuples(*[st.integers(0, len(prompt))] * 2), "cached"))
    setup = Setup(4, 1000, data.draw(st.integers(4, 100), "budget"), 4)
    waits, hits = [], []
    for cached in (fewer, more):
        before = [ask(0, [*prompt[:cached], 999])] if cached else []
        served = serve(setup, lambda: IDLE[name], [*before, ask(1e6, prompt)])
        job = served.jobs[-1]
        assert job.first_token_ns is not None
        waits.append(job.first_token_ns - job.arrival_ns)
        hits.append(job.hit_tokens)
    assert hits == sorted(hits)
    assert waits[0] >= waits[1]
    if name == "linear" and hits[0] < hits[1]:
        assert waits[0] > waits[1]


@pytest.mark.parametrize(("cached", "expected_us"), [(0, 44), (16, 28), (40, 4), (41, 4)])
def test_an_idle_server_answers_after_one_step_of_what_was_not_cached(
    cached: int, expected_us: int
) -> None:
    """41 tokens at 1 us on 3 us a step: 3 + 41 = 44 us; hits are whole blocks of 4, at most 40."""
    prompt = list(range(41))
    requests = [ask(0, [*prompt[:cached], 999])] * (cached > 0) + [ask(1_000, prompt)]
    job = serve(Setup(4, 100), lambda: linear(3, 1), requests).jobs[-1]
    assert job.first_token_ns == job.arrival_ns + expected_us * 1_000


def test_a_storm_of_preemptions_ends() -> None:
    """Known fault 15: one request was preempted 597 times, 858 of 5,000 requests finished. Here the
    first running one always goes on, so each of 60 requests is preempted by those before it only.

    Known fault 1 and BR-101: nothing is shared, so no token is a hit, however much is found again.
    """
    prompts = [list(range(1000 * number, 1000 * number + 9)) for number in range(60)]
    served = serve(Setup(4, 12, 64, 16), lambda: linear(1, 1), [ask(0, p, 30) for p in prompts])
    assert Counter(job.status for job in served.jobs) == {"ok": 60}
    assert served.hits == [0] * 60
    assert sum(sum(job.readmission_hit_tokens) for job in served.jobs) > 0
    assert served.server.preemptions == sum(job.preemptions for job in served.jobs) > 60
    assert max(job.preemptions for job in served.jobs) < 60


class Stuck:
    """An engine that takes jobs and never moves them."""

    def submit(self, job: Job, now_ns: int) -> int | None:
        return None

    def advance(self, now_ns: int) -> int | None:
        raise AssertionError("never asked for")

    def look_at(self, at_ns: int) -> int | None:
        raise AssertionError("never asked for")

    def load(self) -> tuple[int, int, int]:
        return 1, 0, 0


def test_a_run_that_nothing_moves_any_more_says_so_instead_of_ending_short() -> None:
    job = Job("a", 0, 0, 1, 1, [], 0)
    world = FleetWorld()
    world.connect([Stuck()], lambda job, now_ns: 0)
    with pytest.raises(RuntimeError, match=r"^1 requests are in flight and nothing moves them$"):
        list(world.run([job]))
