"""Who an SGLang server takes in, who waits and who gives way, in numbers by hand.

A step takes 1,000 ns and 10 ns for each token in it.
"""

from collections.abc import Sequence
from fractions import Fraction

import pytest
from sim.sglang_jobs import Call, Linear, jobs_of, serve, served, tokens

from cachecast_sim.fleet.sglang.active import Active
from cachecast_sim.fleet.sglang.group import DecodeGroup
from cachecast_sim.fleet.sglang.prefill import PrefillStep
from cachecast_sim.fleet.sglang.radix_cache import RadixCache
from cachecast_sim.fleet.sglang.seen import Seen
from cachecast_sim.fleet.sglang.settings import NewTokenRatio, SglangSettings

ALL_OF_IT = NewTokenRatio.all_of_it()
NONE_OF_IT = NewTokenRatio(Fraction(0), Fraction(0), 1)


class Recorder(Linear):
    """Remembers what it was asked for prefill steps."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Sequence[int]] = []

    def step_ns(
        self, prefill_tokens: int, prefill_requests: int, prefill_context: int,
        decode_requests: int, decode_context: int,
    ) -> int:  # fmt: skip
        if prefill_tokens:
            self.asked.append((prefill_tokens, prefill_requests, prefill_context))
        return super().step_ns(
            prefill_tokens, prefill_requests, prefill_context, decode_requests, decode_context
        )


def test_a_prompt_above_the_budget_is_cut_and_hits_are_taken_off_once() -> None:
    """Of 30 tokens 12 are found; 18 in chunks of 8. LLMServingSim took hits off each chunk."""
    calls = [Call(0, tokens(12), 1), Call(50, [*tokens(12), *tokens(18, first=1)], 1)]
    latency = Recorder()
    jobs = jobs_of(calls, 1)

    serve(SglangSettings(100, max_batch_tokens=8), jobs, latency)

    assert latency.asked == [
        (8, 1, 8 * 9 // 2), (4, 1, 4 * 8 + 4 * 5 // 2),
        (8, 1, 8 * 12 + 36), (8, 1, 8 * 20 + 36), (2, 1, 2 * 28 + 3),
    ]  # fmt: skip
    assert [job.hit_tokens for job in jobs] == [0, 12]
    assert jobs[1].first_token_ns == 50_000 + 3 * 1000 + 18 * 10


def test_what_the_last_chunk_leaves_of_the_budget_goes_to_the_next_request() -> None:
    """10 and 5 tokens with a budget of 8: 8, then 2 and 5 together."""
    latency = Recorder()
    jobs = jobs_of([Call(0, tokens(10), 1), Call(0, tokens(5, first=1), 1)], 1)

    serve(SglangSettings(100, max_batch_tokens=8), jobs, latency)

    assert latency.asked == [(8, 1, 36), (2 + 5, 2, 2 * 8 + 3 + 15)]
    assert [job.scheduled_ns for job in jobs] == [0, 1080]


def test_two_waiting_requests_of_one_prompt_do_not_find_each_other() -> None:
    """Both are looked up before either is computed; afterwards one copy is left."""
    calls = [Call(0, tokens(10), 1), Call(0, tokens(10), 1)]
    server, jobs = served(SglangSettings(100), *calls)

    assert [job.hit_tokens for job in jobs] == [0, 0]
    assert jobs[1].reason == "concurrent_with_writer"
    assert (server.cache.tree_pages, server.cache.free_pages) == (10, 90)


def test_a_preempted_request_loses_what_the_tree_did_not_have() -> None:
    """§1b row 9. Two requests of one prompt of 4 tokens and 10 to make, in 18 tokens of memory.

    B finds 3 of the prompt. After 7 common steps nothing is free; B, admitted last, gives way and
    A ends in two more. B had computed 11 tokens and finds its prompt again, 4.
    """
    calls = [Call(0, tokens(4), 10), Call(1, tokens(4), 10)]
    server, (a, b) = served(SglangSettings(18, new_token_ratio=NONE_OF_IT), *calls)

    assert (a.hit_tokens, b.hit_tokens) == (0, 3)
    assert (a.preemptions, b.preemptions, server.preemptions) == (0, 1, 1)
    assert (a.readmission_hit_tokens, b.readmission_hit_tokens) == ([], [4])
    assert (a.first_token_ns, b.first_token_ns) == (1040, 2050)
    assert a.end_ns == 2050 + 7 * 1020 + 2 * 1010
    assert b.end_ns == 11_210 + (1000 + 8 * 10) + 1010
    waited = 12_290 - 9190
    assert server.gaps == {2050 + 1020 - 1040: 1, 1020: 6 + 7, 1010: 2 + 1, waited: 1}


def test_a_preempted_request_queues_behind_those_that_wait() -> None:
    """As above, and C has come before the preemption: it is admitted first, when A ends."""
    calls = [Call(0, tokens(4), 10), Call(1, tokens(4), 10), Call(4, tokens(4, first=1), 9)]
    _, (a, b, c) = served(SglangSettings(18, new_token_ratio=NONE_OF_IT), *calls)

    assert b.preemptions == 1
    assert c.scheduled_ns == a.end_ns == 11_210
    assert c.first_token_ns is not None
    assert b.end_ns is not None
    assert b.end_ns > c.first_token_ns


@pytest.mark.parametrize(
    ("page", "tokens_of_memory", "prompt", "status"),
    [(1, 20, 11, "ok"), (1, 20, 12, "rejected"), (16, 47, 23, "ok"), (16, 47, 24, "rejected")],
)
def test_a_request_that_can_never_fit_is_rejected_and_the_others_go_on(
    page: int, tokens_of_memory: int, prompt: int, status: str
) -> None:
    """10 tokens to make take 9 pages of one token: 11 + 9 = 20. In 2 pages of 16: 23 + 9 = 32."""
    calls = [Call(0, tokens(prompt), 10), Call(1, tokens(2, first=1), 2)]
    _, jobs = served(SglangSettings(tokens_of_memory, page), *calls)

    assert [job.status for job in jobs] == [status, "ok"]
    assert (jobs[0].end_ns is None) == (status == "rejected")


def test_a_request_that_does_not_fit_blocks_those_behind_it() -> None:
    """30 tokens of memory, and each sets its whole output aside.

    A holds 5 and sets 9 aside, so B (20 + 5 + a page) waits, and C behind it, until A ends. Then B
    leaves C too little: 30 - (20 + 1 + 5) = 4 < 2 + 2 + 1. With B's prompt computed there are 10
    besides it, less 4 for its output: C fits.
    """
    calls = [
        Call(0, tokens(5), 10),
        Call(1, tokens(20, first=1), 5),
        Call(2, tokens(2, first=2), 2),
    ]
    _, (a, b, c) = served(SglangSettings(30, new_token_ratio=ALL_OF_IT), *calls)

    assert a.end_ns == 1050 + 9 * 1010
    assert b.scheduled_ns == a.end_ns
    assert c.scheduled_ns == b.first_token_ns == 10_140 + 1200


@pytest.mark.parametrize(("memory", "joins"), [(4209, True), (4208, False)])
def test_nobody_sets_more_than_4096_output_tokens_aside(memory: int, joins: bool) -> None:
    """A has 10 tokens and 6,000 to make, of which it sets 4,096 aside; B has 100, one to make.

    B is taken in if 100 + 1 + a page of 1 is less than memory - 10 - 4,096.
    """
    group, cache = DecodeGroup(1), RadixCache(memory)
    (a,) = jobs_of([Call(0, tokens(10), 6000)], 1)
    (b,) = jobs_of([Call(0, tokens(100, first=1), 1)], 1)
    running = Active(a, cache, Seen(), 1)
    running.match()
    assert cache.take(10)
    running.computed_tokens = 10
    running.grow()
    group.join(running)
    step = PrefillStep(cache, SglangSettings(memory), group, Fraction(1))

    step.add(Active(b, cache, Seen(), 1))

    assert bool(step.chunks) == joins
    assert group.tokens_to_come(4096) == 4096
    assert group.tokens_to_come(6000) == 6000


def test_sequential_admission_starts_a_request_when_the_one_before_has_ended() -> None:
    calls = [Call(0, tokens(10), 3), Call(0, tokens(10), 2), Call(0, tokens(3), 1)]
    _, jobs = served(SglangSettings(100, admission="sequential"), *calls)

    assert [job.scheduled_ns for job in jobs] == [0, jobs[0].end_ns, jobs[1].end_ns]
    assert [job.hit_tokens for job in jobs] == [0, 9, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"page_tokens": 0}, "page_tokens is 0, expected >= 1"),
        ({"max_seqs": 0}, "max_seqs is 0, expected >= 1"),
        ({"page_tokens": 16, "tokens": 15}, "tokens is 15, expected at least one page of 16"),
        ({"page_tokens": 16, "max_batch_tokens": 8}, "max_batch_tokens is 8, expected at least"),
    ],
)
def test_a_server_that_could_run_nothing_is_refused(change: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SglangSettings(**{"tokens": 100, **change})  # type: ignore[arg-type]


def test_a_ratio_outside_its_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match="from 1/2 to 3/4 in 10 steps"):
        NewTokenRatio(Fraction(1, 2), Fraction(3, 4), 10)


def test_preemption_goes_on_to_an_end() -> None:
    """inference-sim#1057: a request was put out 597 times, 858 of 5,000 finished.

    Every prompt fits the budget, so each step makes at least one token: 30 * 12 steps at most.
    """
    calls = [Call(at, tokens(4, first=at), 12) for at in range(30)]
    server, jobs = served(SglangSettings(24, new_token_ratio=NONE_OF_IT), *calls)

    assert [job.status for job in jobs] == ["ok"] * 30
    assert server.preemptions > 0
    assert server.steps <= 30 * 12
