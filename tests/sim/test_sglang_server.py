"""An SGLang server in numbers by hand. A step takes 1,000 ns and 10 ns for each token in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sim.sglang_jobs import Call, Linear, jobs_of, serve, served, tokens

from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.sglang.server import SglangServer
from cachecast_sim.fleet.sglang.settings import SglangSettings
from cachecast_sim.fleet.world import FleetWorld


@pytest.mark.parametrize(
    ("page", "prompt", "hit"), [(1, 32, 31), (16, 32, 16), (16, 33, 32), (16, 64, 48)]
)
def test_a_prompt_sent_again_is_found_but_for_its_last_token(
    page: int, prompt: int, hit: int
) -> None:
    """sglang#21158, vllm#11186: input - 1, then whole pages."""
    again = Call(50, tokens(prompt), 1)
    _, jobs = served(SglangSettings(1600, page), Call(0, tokens(prompt), 1), again)

    assert [job.hit_tokens for job in jobs] == [0, hit]


@pytest.mark.parametrize(("page", "hit"), [(1, 149), (16, 144)])
def test_a_second_turn_finds_the_first_ones_output(page: int, hit: int) -> None:
    """sglang#16521 found 100 of 150. The last output token was never computed: 149."""
    answer = tokens(50, first=1)
    turn = Call(900, [*tokens(100), *answer, *tokens(10, first=2)], 1)
    _, jobs = served(SglangSettings(1600, page), Call(0, tokens(100), answer), turn)

    assert [job.hit_tokens for job in jobs] == [0, hit]


def test_a_prefix_shorter_than_a_page_is_no_hit() -> None:
    """vllm#54607: about 240 shared tokens, pages of 784."""
    shared = tokens(240)
    first, second = [*shared, *tokens(800, first=1)], [*shared, *tokens(800, first=2)]
    _, jobs = served(SglangSettings(7840, 784), Call(0, first, 1), Call(50, second, 1))

    assert [job.hit_tokens for job in jobs] == [0, 0]


def test_the_shared_pages_of_two_long_prompts_are_reused() -> None:
    """FAST'25: 6,955 and 6,472 tokens share 12 blocks of 512, so 328 are fresh."""
    shared = tokens(12 * 512)
    first, second = [*shared, *tokens(811, first=1)], [*shared, *tokens(328, first=2)]
    _, jobs = served(SglangSettings(51_200, 512), Call(0, first, 1), Call(50, second, 1))

    assert [job.hit_tokens for job in jobs] == [0, 6144]
    assert jobs[1].misses == (("block_rounding", 328),)


def test_why_tokens_were_not_found() -> None:
    """Memory of 40 tokens: the second prompt of 30 evicts the first of 20 whole."""
    calls = [Call(0, tokens(20), 1), Call(50, tokens(20), 1), Call(90, tokens(30, first=1), 1),
             Call(200, tokens(20), 1)]  # fmt: skip
    _, jobs = served(SglangSettings(40), *calls)

    assert [job.misses for job in jobs] == [
        (("cold_start", 20),),
        (("last_token_rule", 1),),
        (("cold_start", 30),),
        (("evicted", 19), ("last_token_rule", 1)),
    ]
    assert [job.reason for job in jobs] == [
        "cold_start", "last_token_rule", "cold_start", "evicted",
    ]  # fmt: skip


def test_prefill_goes_before_decode_and_decoding_requests_wait_for_it() -> None:
    """A: 10 tokens at 0, three to make. B: 20 tokens at 1 us, two to make."""
    calls = [Call(0, tokens(10), 3), Call(1, tokens(20, first=1), 2)]
    server, (a, b) = served(SglangSettings(100), *calls)

    assert (a.scheduled_ns, a.first_token_ns) == (0, 1000 + 10 * 10)
    assert (b.scheduled_ns, b.first_token_ns) == (1100, 1100 + 1000 + 20 * 10)
    assert b.end_ns == 2300 + 1000 + 2 * 10
    assert a.end_ns == 3320 + 1000 + 10
    assert server.gaps == {3320 - 1100: 1, 1020: 1, 1010: 1}
    assert server.steps == 4


@pytest.mark.parametrize(("arrival_ns", "scheduled_ns"), [(92_000, 92_000), (92_001, 93_010)])
def test_an_arrival_at_a_steps_end_is_admitted_there_and_a_later_one_a_step_later(
    arrival_ns: int, scheduled_ns: int
) -> None:
    """A decodes alone: its 90th decode step ends at 1,100 + 90 * 1,010 ns."""
    a, b = jobs_of([Call(0, tokens(10), 100), Call(92, tokens(5, first=1), 1)], 1)
    b.arrival_ns = arrival_ns

    serve(SglangSettings(1000), [a, b])

    assert b.scheduled_ns == scheduled_ns


@pytest.mark.parametrize(("now_ns", "found"), [(7070, 4), (7071, 0)])
def test_a_look_from_outside_sees_what_the_steps_so_far_have_evicted(
    now_ns: int, found: int
) -> None:
    """12 tokens of memory: X leaves 5, A has 3 and 4 are free.

    A's fifth decode step, from 3,030 + 4 * 1,010 on, evicts X.
    """
    x, a = jobs_of([Call(0, tokens(5), 1), Call(2, tokens(3, first=1), 8)], 1)
    server = SglangServer(SglangSettings(12), Linear(), lambda job, now_ns: None)
    assert server.submit(x, 0) == 0
    assert server.advance(0) == 1050
    assert server.advance(1050) is None
    assert server.submit(a, 2000) == 2000
    assert server.advance(2000) == 3030
    assert server.advance(3030) == 3030 + 7 * 1010

    assert server.matched_tokens(x, now_ns) == found


def test_a_job_may_bring_the_next_one_when_it_ends() -> None:
    """A closed loop without a pause: the second turn comes at the end of the first."""
    first, second = jobs_of([Call(0, tokens(10), 2), Call(0, tokens(12), 1)], 1)
    turns = [second]

    def next_turn(job: Job, now_ns: int) -> None:
        while turns:
            assert server.submit(turns.pop(), now_ns) is None

    server = SglangServer(SglangSettings(100), Linear(), next_turn)
    now_ns = server.submit(first, 0)
    while now_ns is not None:
        now_ns = server.advance(now_ns)

    assert second.scheduled_ns == first.end_ns == 1100 + 1010
    assert second.hit_tokens == 10


def test_the_fleets_clock_gets_the_same_answers() -> None:
    calls = [Call(at % 7 * at, tokens(at % 5 + 3, first=at % 3), at % 11 + 1) for at in range(60)]
    calls.sort()
    alone = jobs_of(calls, 1)
    serve(SglangSettings(60), alone)

    world = FleetWorld()
    server = SglangServer(SglangSettings(60), Linear(), world.finished)
    world.connect([server], lambda job, now_ns: 0)
    fleet = list(world.run(jobs_of(calls, 1)))

    assert [_result(job) for job in fleet] == [_result(job) for job in alone]


@given(st.integers(0, 39), st.integers(0, 39), st.sampled_from([1, 4, 16]), st.integers(1, 40))
def test_more_hits_never_raise_the_time_to_the_first_token_on_an_idle_server(
    some: int, more: int, page: int, budget: int
) -> None:
    """inference-sim#1699: the hit rate changed 4.8 times and no latency did."""
    times, hits = [], []
    for shared in sorted([some, more]):
        warm = Call(0, [*tokens(shared), 9], 1)
        ask = Call(900, tokens(40), 3)
        jobs = jobs_of([warm, ask], page)
        serve(SglangSettings(640, page, max(budget, page)), jobs, Linear(context_per_ns=1))
        assert jobs[1].first_token_ns is not None
        times.append(jobs[1].first_token_ns)
        hits.append(jobs[1].hit_tokens)

    assert hits == sorted(hits)
    assert times == sorted(times, reverse=True)
    assert (times[0] > times[1]) == (hits[0] < hits[1])


def _result(job: Job) -> tuple[object, ...]:
    return (
        job.request_id, job.hit_tokens, job.readmission_hit_tokens, job.preemptions,
        job.scheduled_ns, job.first_token_ns, job.end_ns, job.misses,
    )  # fmt: skip
