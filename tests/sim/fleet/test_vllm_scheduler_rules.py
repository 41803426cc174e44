"""vLLM 0.32.0's scheduler, rule by rule (serving-semantics §1a rows 17 to 19, §1d but for
6 to 9), by hand.

Engine blocks of 4 tokens and steps of 1 ms unless a test says otherwise.
"""

from collections.abc import Iterable

import pytest
from fleet_runs import Served, Setup, ask, linear, serve, steps_of_1_ms, times_ms
from fleets import FIXED, asked
from fleets import served as served_by

from cachecast_datasets.request import Request
from cachecast_sim.fleet.config import fleet_config
from cachecast_sim.fleet.run import FleetRun
from cachecast_sim.fleet.vllm.server import VllmServer

A = list(range(100, 200))
B = list(range(200, 300))
C = list(range(300, 400))


def run(
    requests: Iterable[Request], usable: int = 1000, budget: int = 1000, seqs: int = 8
) -> Served:
    return serve(Setup(4, usable, budget, seqs), steps_of_1_ms, requests)


def scheduled_ms(served: Served) -> list[float]:
    return [scheduled for scheduled, _, _ in times_ms(served)]


def test_rows_6_16_and_18_what_a_fleet_file_leaves_out_is_vllm_s_default() -> None:
    """Blocks of 16 tokens, 2,048 tokens a step, 128 requests; num_gpu_blocks counts the null block:
    of 101 blocks 100 can be used."""
    config = fleet_config({"engine": {"blocks": 101}, "latency": FIXED})
    engine = config.engine
    assert (engine.block_tokens, engine.max_batch_tokens, engine.max_seqs) == (16, 2048, 128)
    fits, too_large = asked(0, range(100), block=16), asked(1, range(101), block=16)
    jobs = served_by(FleetRun(config), fits, too_large)
    assert [job.status for job in jobs] == ["ok", "rejected"]


def test_detail_1_the_first_token_comes_at_the_end_of_the_prompt_s_last_step() -> None:
    """10 tokens at 4 a step are 3 steps; each further token is one more."""
    assert times_ms(run([ask(0, A[:10], output=1)], budget=4, seqs=4)) == [(0, 3, 3)]
    assert times_ms(run([ask(0, A[:10], output=5)], budget=4, seqs=4)) == [(0, 3, 7)]


@pytest.mark.parametrize(("budget", "steps"), [(3, 6), (4, 4), (12, 2), (13, 1)])
def test_detail_2_a_decode_costs_one_token_and_the_prompt_takes_the_rest(
    budget: int, steps: int
) -> None:
    """12 tokens beside one that decodes: ceil(12 / (budget - 1)) steps from 1 ms on."""
    served = run([ask(0, A[:2], output=30), ask(0.5, B[:12])], budget=budget, seqs=2)
    assert times_ms(served)[1] == (1, 1 + steps, 1 + steps)


def test_detail_2_hits_cost_no_budget() -> None:
    """32 of 40 tokens are cached, 8 fit into one step; without them it takes five."""
    requests = [ask(0, A[:33]), ask(100, A[:40]), ask(200, B[:40])]
    assert times_ms(run(requests, budget=8))[1:] == [(100, 101, 101), (200, 205, 205)]


def test_detail_2_chunks_are_not_rounded_to_blocks() -> None:
    """10 tokens at 6 a step are 6 + 4, not 4 + 4 + 2."""
    assert times_ms(run([ask(0, A[:10])], budget=6, seqs=6)) == [(0, 2, 2)]


def test_detail_2_a_chunk_after_the_first_costs_all_its_tokens() -> None:
    """Known fault 7: hits were taken off every chunk. 100 tokens, 32 cached, 20 a step: 20 + 20 +
    20 + 8 tokens at 1 us each are 68 us."""
    requests = [ask(0, A[:33]), ask(1, A)]
    served = serve(Setup(4, 1000, 20, 8), lambda: linear(0, 1), requests)
    assert served.hits == [0, 32]
    assert served.jobs[1].first_token_ns == 1_068_000


def test_detail_3_the_step_is_full_when_the_budget_is_used_up() -> None:
    """A takes 6 of 8 tokens, B the other 2 and then 8 - 1 (A decodes), C's 3 wait for 2 ms."""
    served = run([ask(0, A[:6], output=9), ask(0, B[:9]), ask(0, C[:3])], budget=8)
    assert times_ms(served)[1:] == [(0, 2, 2), (2, 3, 3)]


def test_detail_3_a_request_that_does_not_fit_blocks_those_behind_it() -> None:
    """5 blocks, 2 held until 3 ms. B needs 4 and waits, and with it C, which needs 1 of the 3 free
    ones. If B needs 3, it gets them at 1 ms, and C waits because none is left."""
    for tokens, expected in ((16, [0, 3, 3]), (12, [0, 1, 3])):
        requests = [ask(0, A[:5], output=3), ask(0.1, B[:tokens], output=2), ask(0.2, C[:4])]
        assert scheduled_ms(run(requests, usable=5)) == expected


def test_row_17_the_whole_prompt_must_fit_not_only_its_first_chunk() -> None:
    """The first chunk is 4 tokens, 1 block of 3 free ones; 13 tokens are 4 blocks, 12 are 3."""
    for tokens, expected in ((13, [0, 3]), (12, [0, 1])):
        requests = [ask(0, A[:5], output=3), ask(0.1, B[:tokens])]
        assert scheduled_ms(run(requests, usable=5, budget=5, seqs=2)) == expected


def test_row_17_room_for_the_answer_is_not_reserved() -> None:
    """Both prompts take all 4 blocks; that their answers will not fit is seen when it is so."""
    served = run([ask(0, A[:8], output=5), ask(0, B[:8], output=5)], usable=4)
    assert scheduled_ms(served) == [0, 0]
    assert [job.preemptions for job in served.jobs] == [0, 1]


def test_row_18_no_more_requests_run_than_max_seqs() -> None:
    requests = [ask(0, prompt[:4], output=output) for prompt, output in ((A, 3), (B, 5), (C, 1))]
    assert scheduled_ms(run(requests, seqs=2)) == [0, 0, 3]
    assert scheduled_ms(run(requests, seqs=3)) == [0, 0, 0]


def test_row_18_running_requests_come_before_waiting_ones() -> None:
    """A's second chunk takes the whole budget of the step at 1 ms, B begins with the third's."""
    served = run([ask(0, A[:10]), ask(0.5, B[:2])], budget=4, seqs=4)
    assert times_ms(served) == [(0, 3, 3), (2, 3, 3)]


def test_row_19_the_last_running_request_makes_room_and_goes_on_with_what_survived() -> None:
    """4 blocks. A and B have 4 tokens and want 9 more. At 5 ms both have 8 and want a third block.

    A takes B's second one (row 14: the tail goes first). B needs 3 blocks for 4 + 5 tokens, one of
    which it finds again, and waits until A has its 9 tokens at 9 ms. Then 4 of 9 tokens are a
    readmission hit and B's 6th to 9th token come at 10 to 13 ms.
    """
    served = run([ask(0, A[:4], A[50:59]), ask(0, B[:4], B[50:59])], usable=4)
    first, second = served.jobs
    assert times_ms(served) == [(0, 1, 9), (0, 1, 13)]
    assert (first.preemptions, second.preemptions) == (0, 1)
    assert second.hit_tokens == 0
    assert second.readmission_hit_tokens == [4]
    assert [at for _, at in served.evicted[:1]] == [1]
    # 8 gaps of A, 4 + 3 of B; between B's 5th token at 5 ms and its 6th at 10 ms lie 5 ms
    assert served.server.gaps == {1_000_000: 15, 5_000_000: 1}


def test_row_19_a_preempted_request_keeps_its_first_token_s_time() -> None:
    """Known fault 38: the time to the first token was overwritten when a request went on."""
    served = run([ask(0, A[:8], output=5), ask(0, B[:8], output=5)], usable=4)
    assert served.jobs[1].preemptions == 1
    assert served.jobs[1].first_token_ns == 1_000_000


def test_row_19_the_preempted_request_waits_before_all_others() -> None:
    """B is preempted at 1 ms, after C has begun to wait: it is admitted first all the same."""
    requests = [ask(0, A[:8], output=5), ask(0, B[:8], output=5), ask(0.5, C[:8])]
    served = run(requests, usable=4)
    assert [job.preemptions for job in served.jobs] == [0, 1, 0]
    assert times_ms(served) == [(0, 1, 5), (0, 1, 9), (9, 10, 10)]


def test_row_19_a_preempted_request_that_is_back_in_time_ends_once() -> None:
    """Known fault 19. 2 blocks of 2 tokens: B has 2 of its 4 tokens when A takes its block at 2 ms.

    A ends at 3 ms, B's third token comes at 4 ms and its last at 5 ms. While it was away one decode
    step ran, in place of which it prefills again: counted in decode steps it ends when it would
    have ended without the preemption, which is how ours once ended it twice.
    """
    requests = [ask(0, A[:1], output=3), ask(0, B[:1], output=4)]
    served = serve(Setup(2, 2), steps_of_1_ms, requests)
    assert times_ms(served) == [(0, 1, 3), (0, 1, 5)]
    assert [job.preemptions for job in served.jobs] == [0, 1]
    assert served.server.pool.free_blocks == 2


def test_detail_4_a_waiting_request_fits_in_the_step_in_which_another_fills_its_block() -> None:
    """4 blocks. B is A's prompt (4 tokens), 8 tokens of A's answer and one more: 4 blocks.

    At 1 ms A has 5 tokens: 2 blocks held, 1 to hit, so B needs 3 of 2. So it stays until the step
    at 4 ms, which fills A's second block: B hits 2 and needs 2 of 2. No request came or went there.
    """
    served = run([ask(0, A[:4], A[4:13]), ask(0.5, [*A[:12], 1])], usable=4)
    assert served.hits == [0, 8]
    assert times_ms(served) == [(0, 1, 9), (4, 5, 5)]


def test_detail_5_a_request_may_preempt_itself() -> None:
    """3 blocks: A's 5 tokens have 2 until 3 ms, B's 4 have 1 and want another at 1 ms: B is the
    last one running. Its own block stays cached and is hit on readmission, but counts as free."""
    served = run([ask(0, A[:5], output=3), ask(0, B[:4], output=3)], usable=3)
    assert [job.preemptions for job in served.jobs] == [0, 1]
    assert served.jobs[1].readmission_hit_tokens == [4]
    assert times_ms(served) == [(0, 1, 3), (0, 1, 5)]


def test_detail_5_victims_go_one_by_one_and_their_blocks_serve_the_same_step() -> None:
    """3 blocks, one each; at 1 ms all three want a second. C makes room for A, then B for itself.

    A ends at 5 ms with 5 tokens. B (5 tokens, its own block is left, hit 4) takes one of A's two
    and leaves one: C needs 2 and waits for B's end at 9 ms. A took C's block: nothing left to hit.
    """
    requests = [ask(0, prompt[:4], output=5) for prompt in (A, B, C)]
    served = run(requests, usable=3)
    assert [job.preemptions for job in served.jobs] == [0, 1, 1]
    assert [job.readmission_hit_tokens for job in served.jobs] == [[], [4], [0]]
    assert times_ms(served) == [(0, 1, 5), (0, 1, 9), (0, 1, 13)]


def test_detail_10_what_can_never_fit_is_rejected_on_arrival_and_the_rest_goes_on() -> None:
    """3 blocks are 12 tokens. 13 tokens would block all behind them for ever."""
    served = run([ask(0, A[:4]), ask(0.5, B[:13]), ask(0.6, C[:12])], usable=3)
    assert [job.status for job in served.jobs] == ["ok", "rejected", "ok"]
    rejected = served.jobs[1]
    assert (rejected.scheduled_ns, rejected.first_token_ns, rejected.end_ns) == (None, None, None)
    assert served.jobs[2].scheduled_ns == 1_000_000


@pytest.mark.parametrize(
    ("at_ms", "scheduled"), [(0.999, 1), (1, 1), (1.001, 2), (2.999, 3), (3, 3), (3.001, 4)]
)
def test_the_clock_arrivals_come_before_the_step_that_begins_at_their_moment(
    at_ms: float, scheduled: float
) -> None:
    """At the end of the first one's prompt at 1 ms, or inside its decode steps, which are cut."""
    served = run([ask(0, A[:4], output=30), ask(at_ms, B[:4])])
    assert times_ms(served) == [(0, 1, 30), (scheduled, scheduled + 1, scheduled + 1)]


def test_the_clock_adds_whole_nanoseconds_so_ten_million_steps_are_exact() -> None:
    """0.1 ms has no exact float: adding it up ten million times misses 1,000 s by over 1e-5 s."""
    output = 10_000_000
    served = serve(Setup(1_000, 10_001), lambda: linear(100, 0), [ask(0, A[:1], output=output)])
    assert served.jobs[0].end_ns == output * 100_000
    assert served.server.steps == output


@pytest.mark.parametrize(("tokens", "accepted"), [(4, True), (3, False)])
def test_a_server_whose_step_holds_fewer_tokens_than_requests_is_refused(
    tokens: int, accepted: bool
) -> None:
    """Else more than one prompt could be cut in a step, which vLLM's own check rules out."""
    if accepted:
        VllmServer(4, 10, tokens, 4, linear(1, 1), lambda job, now_ns: None)
        return
    with pytest.raises(ValueError, match=r"max_batch_tokens is 3, expected >= 4"):
        VllmServer(4, 10, tokens, 4, linear(1, 1), lambda job, now_ns: None)
