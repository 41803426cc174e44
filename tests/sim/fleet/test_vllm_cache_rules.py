"""vLLM 0.32.0's prefix cache, rule by rule (rows of serving-semantics §1a), in numbers to redo.

Engine blocks of 4 tokens and steps of 1 ms unless a test says otherwise.
"""

from collections.abc import Iterable

import numpy as np
import pytest
from fleet_runs import Served, Setup, ask, ask_ids, linear, queue_of, serve, steps_of_1_ms

from cachecast_datasets.hashing import scoped_ids
from cachecast_datasets.request import Request

A = list(range(100, 200))
B = list(range(200, 300))
YEAR_MS = 365 * 86_400_000


def run(requests: Iterable[Request], usable: int = 1000, block: int = 4) -> Served:
    return serve(Setup(block, usable), steps_of_1_ms, requests)


def one_by_one(*prompts: list[int]) -> list[Request]:
    """Each has ended long before the next comes."""
    return [ask(1_000 * number, prompt) for number, prompt in enumerate(prompts)]


def test_row_1_the_same_tokens_after_another_prefix_do_not_hit() -> None:
    """Known fault 6: 53 false hits on 300 requests from hashes that were not chained."""
    same = A[:16]
    prompts = one_by_one([*B[:16], *same, 1], [*B[16:32], *same, 1], [*B[:16], *same, 1])
    assert run(prompts, block=16).hits == [0, 0, 32]


def test_row_1_ids_of_another_scope_never_hit() -> None:
    """BR-103: another LoRA or salt is another scope, whose name is mixed into every id."""
    ids = np.array([1, 2, 3], np.uint64)
    requests = [
        ask_ids(1_000 * number, scoped_ids(scope, ids).tolist(), 13, 4)
        for number, scope in enumerate(("base", "lora-a", "base"))
    ]
    assert run(requests).hits == [0, 0, 12]


def test_row_1_ids_keep_all_their_64_bits() -> None:
    """Known fault 29: cut to 32 bits, these two would be the same prefix."""
    low, high = 7, 7 + (1 << 32)
    top = (1 << 64) - 1
    requests = [ask_ids(at, [first, 5], 9, 4) for at, first in ((0, low), (100, high))]
    requests[1].token_blocks = np.array([high, 6], np.uint64)
    requests += [ask_ids(at, [top, top - 1], 9, 4) for at in (200, 300)]
    assert run(requests).hits == [0, 0, 0, 8]


def test_row_5_only_full_blocks_have_a_hash() -> None:
    assert run(one_by_one(A[:31], [*A[:31], 1, 2]), block=16).hits == [0, 16]
    assert run(one_by_one(A[:32], [*A[:32], 1]), block=16).hits == [0, 32]


def test_row_5_a_shared_prefix_shorter_than_a_block_hits_nothing_and_says_so() -> None:
    """BR-95 and known fault 3: 240 shared tokens, blocks of 784: floor(240 / 784) = 0."""
    prompts = one_by_one([*range(240), *[1] * 560], [*range(240), *[2] * 560])
    served = run(prompts, block=784)
    assert served.hits == [0, 0]
    assert served.jobs[1].misses == (("cold_start", 784), ("block_rounding", 16))
    assert run(prompts, block=16).hits == [0, 240]


@pytest.mark.parametrize(
    ("block", "tokens", "hit"),
    [(16, 63, 48), (16, 64, 48), (16, 65, 64), (1, 64, 63), (64, 64, 0), (64, 65, 64)],
)
def test_row_7_the_last_token_is_computed_so_a_repeat_hits_the_blocks_before_it(
    block: int, tokens: int, hit: int
) -> None:
    """BR-100 (64 tokens, block 16: 48) and known fault 10, the exact repeat."""
    assert run(one_by_one(A[:tokens], A[:tokens]), block=block).hits == [0, hit]


@pytest.mark.parametrize(
    ("tokens", "missed"),
    [(63, ("block_rounding", 15)), (64, ("last_token_rule", 16)), (65, ("block_rounding", 1))],
)
def test_row_7_a_block_that_is_only_missed_for_its_last_token_says_so(
    tokens: int, missed: tuple[str, int]
) -> None:
    again = run(one_by_one(A[:tokens], A[:tokens]), block=16).jobs[1]
    assert (again.misses, again.reason) == ((missed,), missed[0] if tokens == 64 else None)


def test_row_7_the_look_up_stops_at_the_first_block_that_is_not_there() -> None:
    """Known fault 5: block 1 of three is another one, so block 2 does not count either."""
    other = [*A[:4], 0, *A[5:12], 1]
    assert run(one_by_one([*A[:12], 1], other)).hits == [0, 4]


def test_row_7_of_an_evicted_chain_the_tail_is_missing_always() -> None:
    """Known fault 14: of three free blocks the last one goes, however often this is run.

    4 usable blocks: A leaves 3 with a hash and 1 without; B takes 2, one of them A's third.
    """
    prompts = one_by_one(A[:12], B[:8], [*A[:12], 1])
    assert [run(prompts, usable=4).hits for _ in range(20)] == [[0, 0, 8]] * 20


@pytest.mark.parametrize(("held", "scheduled_ms"), [(2, 1_001), (3, 1_003)])
def test_row_9_free_blocks_that_are_hit_count_against_the_free_ones(
    held: int, scheduled_ms: int
) -> None:
    """5 usable blocks, 2 of them cached and free; another request holds 2 or 3 until 1,003 ms.

    The third needs 1 new block and its 2 hits: 3 of 5 - 2 at once, while 3 of 5 - 3 must wait.
    """
    holder = ask(1_000, B[: 4 * held - 3], output=3)
    served = run([ask(0, A[:8]), holder, ask(1_001, A[:12])], usable=5)
    assert served.jobs[2].scheduled_ns == scheduled_ms * 1_000_000
    assert served.hits == [0, 0, 8]


@pytest.mark.parametrize(("usable", "scheduled_ms"), [(4, 1), (3, 3)])
def test_row_9_blocks_that_are_held_already_cost_nothing(usable: int, scheduled_ms: int) -> None:
    """The first holds 3 blocks until 3 ms; the second hits 2 of these and needs 1 more."""
    served = run([ask(0, A[:9], output=3), ask(1, [*A[:8], 1, 2, 3])], usable=usable)
    assert served.jobs[1].scheduled_ns == scheduled_ms * 1_000_000
    assert served.jobs[1].hit_tokens == 8


def test_row_9_a_request_that_waits_holds_nothing_yet() -> None:
    """It would hit 2 free blocks at 1,001 ms, but does not fit; the running one takes its 4th block
    in the step at 1,004 ms and evicts the second of them; at 1,005 ms one is left to hit.
    """
    requests = [ask(0, A[:8]), ask(1_000, B[:9], output=5), ask(1_001, A[:12])]
    served = run(requests, usable=5)
    assert served.jobs[2].scheduled_ns == 1_005_000_000
    assert served.hits == [0, 0, 4]


def test_row_10_a_block_is_cached_until_it_is_taken_however_long_that_is() -> None:
    """There is no TTL. Of 3 usable blocks B's 2 are the one without hash and A's second."""
    served = run([ask(0, A[:8]), ask(10 * YEAR_MS, B[:8]), ask(20 * YEAR_MS, A[:9])], usable=3)
    assert served.hits == [0, 0, 4]
    without = run([ask(0, A[:8]), ask(20 * YEAR_MS, A[:9])], usable=3)
    assert without.hits == [0, 8]


def test_row_10_taking_evicts_just_what_it_takes_beyond_the_blocks_without_hash() -> None:
    for tokens, evicted in ((4, 0), (8, 1), (12, 2)):
        served = run(one_by_one(A[:8], B[:tokens]), usable=3)
        assert served.server.pool.evicted_blocks == len(served.evicted) == evicted


def test_row_11_a_request_scheduled_later_in_the_same_step_hits_already() -> None:
    """9 + 1 tokens at 10 us each on 1 ms: the 8 shared ones are computed once."""
    served = serve(Setup(4, 100), lambda: linear(1_000, 10), [ask(0, A[:9]), ask(0, A[:9])])
    assert served.hits == [0, 8]
    assert [job.scheduled_ns for job in served.jobs] == [0, 0]
    assert [job.end_ns for job in served.jobs] == [1_100_000, 1_100_000]


def test_row_12_the_next_turn_hits_the_answer_but_for_its_last_token() -> None:
    """Known fault 11: a prompt of 100 and an answer of 51 give 150 reusable tokens, not 100."""
    prompt, answer = A[:100], list(range(300, 351))
    requests = [ask(0, prompt, answer), ask(1_000, [*prompt, *answer, 1])]
    assert run(requests, block=1).hits == [0, 150]


@pytest.mark.parametrize(("answer", "hit"), [(16, 16), (17, 32)])
def test_row_12_an_answer_s_block_is_full_when_the_token_after_it_is_sampled(
    answer: int, hit: int
) -> None:
    """16 + 16 - 1 = 31 tokens are computed, or 16 + 17 - 1 = 32: the second block's worth."""
    requests = [ask(0, A[:16], B[:answer]), ask(1_000, [*A[:16], *B[:17]])]
    assert run(requests, block=16).hits == [0, hit]


@pytest.mark.parametrize(("at_ms", "hit"), [(0, 0), (0.5, 4)])
def test_row_12_blocks_of_the_answer_are_cached_while_it_is_still_decoded(
    at_ms: float, hit: int
) -> None:
    """The first token fills block 0 in the step at 1 ms, before the second request's turn in it."""
    served = run([ask(0, A[:3], A[3:20]), ask(at_ms, [*A[:4], 1])])
    assert served.hits == [0, hit]
    assert served.jobs[0].end_ns == 17_000_000


@pytest.mark.parametrize(("taken", "hit"), [(7, 8), (8, 8), (9, 4)])
def test_row_13_equal_blocks_computed_twice_are_two_under_one_hash(taken: int, hit: int) -> None:
    """Both compute the last block (row 7). 10 usable: 7 stay without hash, 2 + 1 with one.

    The next request takes 7; or 8, which evicts one of the two; or 9, which evicts both.
    """
    requests = [ask(0, A[:8]), ask(0, A[:8]), ask(100, B[: 4 * taken]), ask(200, A[:9])]
    served = run(requests[:2], usable=10)
    assert served.server.pool.unhashed == 7
    assert [at for _, at in queue_of(served.server.pool)] == [1, 1, 0]
    assert run(requests, usable=10).hits == [0, 4, 0, hit]


def test_row_14_the_design_document_s_example_with_partial_blocks_freed_to_the_head() -> None:
    """10 blocks. Request 0 (15 + 3 tokens) uses 0 to 4, request 1 (14, the first 10 the same) hits
    0 and 1 while they are held (row 15) and uses 5 and 6. Both end at 3 ms, in running order.

    The document appends all: 7 8 9 4 3 2 6 5 1 0. But 4 and 6 are partial and go to the head:
    6 4 7 8 9 | 3 2 5 1 0. Request 2 (29 tokens, 12 the same) hits 0, 1, 2 and takes 6 4 7 8 9, so
    that 3 survives, where the document evicts it. With one more block it goes.
    """
    answer = [900, 901, 902]
    first = [ask(0, A[:15], answer), ask(1.5, [*A[:10], *B[:4]])]
    served = run(first, usable=10)
    assert served.hits == [0, 8]
    assert [job.end_ns for job in served.jobs] == [3_000_000, 3_000_000]
    assert served.server.pool.unhashed == 5
    assert [at for _, at in queue_of(served.server.pool)] == [3, 2, 2, 1, 0]

    third, fourth = ask(10, [*A[:12], *B[20:37]]), ask(20, [*A[:15], 900, 1])
    served = run([*first, third], usable=10)
    assert served.evicted == []
    assert run([*first, third, fourth], usable=10).hits == [0, 8, 12, 16]

    longer = ask(10, [*A[:12], *B[20:41]])  # 33 tokens, 9 blocks
    served = run([*first, longer], usable=10)
    assert [at for _, at in served.evicted] == [3]
    assert run([*first, longer, fourth], usable=10).hits == [0, 8, 12, 12]


def test_row_15_blocks_can_be_hit_while_they_are_held_and_after() -> None:
    held = run([ask(0, A[:9], output=5), ask(1, A[:9])])
    freed = run([ask(0, A[:9], output=5), ask(6, A[:9])])
    assert held.hits == freed.hits == [0, 8]


@pytest.mark.parametrize(("output", "status"), [(5, "ok"), (6, "rejected")])
def test_row_16_all_usable_blocks_can_be_used_and_none_beyond(output: int, status: str) -> None:
    """3 blocks hold 12 tokens: 8 + 5 - 1 = 12 (the last one has no K and V), 8 + 6 - 1 = 13."""
    served = run([ask(0, A[:8], output=output), ask(50, B[:4])], usable=3)
    assert [job.status for job in served.jobs] == [status, "ok"]


def test_rows_20_and_21_a_request_that_waits_is_counted_once_when_it_is_admitted() -> None:
    """Known fault 2: 8 more blocks do not fit beside 9 of 15, in no step from 1 to 27 ms."""
    requests = [ask(0, A[:33], output=28), ask(1, [*A[:8], *B[:32]])]
    served = run(requests, usable=15)
    assert served.hits == [0, 8]
    assert served.jobs[1].readmission_hit_tokens == []
    assert served.jobs[1].scheduled_ns == served.jobs[0].end_ns == 28_000_000


def test_a_prompt_as_large_as_the_pool_hits_when_it_is_sent_again() -> None:
    """Known fault 22: every new block evicted the first one just found again."""
    assert run(one_by_one(A[:16], A[:16], A[:16]), usable=4).hits == [0, 12, 12]


def test_two_requests_of_the_public_trace_share_12_blocks_of_512() -> None:
    """BR-106: 6,955 and 6,472 tokens; 12 x 512 = 6,144 are reused and 328 are fresh."""
    first, second = list(range(1, 15)), [*range(1, 13), 99]
    served = run([ask_ids(0, first, 6_955, 512), ask_ids(1_000, second, 6_472, 512)], block=512)
    assert served.hits == [0, 6_144]
    assert sum(tokens for _, tokens in served.jobs[1].misses) == 328
