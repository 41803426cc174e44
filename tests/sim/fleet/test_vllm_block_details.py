"""What becomes of blocks under vLLM 0.32.0's scheduler (serving-semantics §1d, 6 to 9), by hand.

Engine blocks of 4 tokens and steps of 1 ms unless a test says otherwise.
"""

from collections.abc import Iterable

import pytest
from fleet_runs import Served, Setup, ask, ask_ids, serve, steps_of_1_ms, times_ms

from cachecast_datasets.request import Request

A = list(range(100, 200))
B = list(range(200, 300))
C = list(range(300, 400))


def run(requests: Iterable[Request], usable: int = 1000) -> Served:
    return serve(Setup(4, usable), steps_of_1_ms, requests)


@pytest.mark.parametrize(("first", "second"), [(A, B), (B, A)])
@pytest.mark.parametrize("prefills", [False, True])
def test_detail_6_who_ends_in_a_step_lets_go_after_it_in_running_order(
    first: list[int], second: list[int], prefills: bool
) -> None:
    """4 blocks, 2 of each. Both end at 2 ms: two that decode, or one that decodes and one whose
    prompt ends. The third needs a block from 1 ms on and gets it at 2 ms: the first one's second,
    which was let go before all others."""
    both = [ask(0, first[:7], first[7:9]), ask(0, second[:7], second[7:9])]
    if prefills:
        both[1] = ask(0.5, second[:8])
    requests = [*both, ask(0.6, C[:4])]
    served = run(requests, usable=4)
    assert times_ms(served) == [(0, 1, 2), (prefills, 2 if prefills else 1, 2), (2, 3, 3)]
    assert [at for _, at in served.evicted] == [1]
    assert run([*requests, ask(10, first[:9])], usable=4).hits[3] == 4
    assert run([*requests, ask(10, second[:9])], usable=4).hits[3] == 8


@pytest.mark.parametrize(
    ("outputs", "others", "scheduled"),
    [((5, 1), [], 2), ((1, 5), [], 5), ((1, 5), [ask(1.2, B[:4])], 3)],
)
def test_detail_7_the_look_up_takes_the_oldest_copy_that_is_still_cached(
    outputs: tuple[int, int], others: list[Request], scheduled: int
) -> None:
    """4 blocks. Two equal prompts share block 0 and have a block 1 each; at 1 ms one ends, and the
    other takes a third block and decodes until 5 ms. So the copy of the ended one is the only free
    block, and the last request needs one beside its hits.

    If the older copy is held, that one is hit and the free one taken at 2 ms. If the older one is
    free, it is hit, and nothing is left to take before 5 ms; unless another request took it at
    2 ms: then the younger one is hit at 3 ms, when that request has ended.
    """
    twins = [ask(0, A[:8], output=output) for output in outputs]
    served = run([*twins, *others, ask(1.5, A[:9])], usable=4)
    assert times_ms(served)[-1][0] == scheduled
    assert served.hits[-1] == 8


def test_detail_8_the_own_answer_is_found_again_even_where_the_log_does_not_know_it() -> None:
    """3 tokens and a log without output tokens: block 0 mixes prompt and answer. 4 blocks; at 6 ms
    A and B have 8 tokens each, A takes B's second block, B finds its first again at 10 ms.

    A later request with the same prompt cannot hit a block that nobody else knows.
    """
    requests = [ask(0, A[:3], output=10), ask(0, B[:3], output=10), ask(100, [*B[:3], 1, 2])]
    served = run(requests, usable=4)
    assert served.jobs[1].readmission_hit_tokens == [4]
    assert served.hits == [0, 0, 0]
    assert times_ms(served)[:2] == [(0, 1, 10), (0, 1, 14)]


@pytest.mark.parametrize(
    ("ids", "engine_block", "hit"), [([7, 9], 4, 12), ([7], 4, 8), ([7, 9], 8, 8), ([7, 9], 2, 12)]
)
def test_detail_9_the_partial_last_id_of_a_log_names_the_full_engine_blocks_inside_it(
    ids: list[int], engine_block: int, hit: int
) -> None:
    """14 tokens, ids of 8. With blocks of 4 the partial id has one full block (8 to 12), without
    the id there is none; with blocks of 8 it is only a block without hash. With blocks of 2 it has
    three, up to 14, of which the last holds the last token.
    """
    requests = [ask_ids(at_ms, ids, 14, 8) for at_ms in (0, 100)]
    served = serve(Setup(engine_block, 100), steps_of_1_ms, requests)
    assert served.hits == [0, hit]


def test_detail_9_what_only_the_whole_block_of_an_id_holds_is_new() -> None:
    """Ids of 8, blocks of 2: the first prompt has 5 of the 8 tokens of id 9, 2 full blocks of 4.
    The next one hits 8 + 4 tokens; nobody computes the other 4 beside it, they are new."""
    requests = [ask_ids(0, [7, 9], 13, 8), ask_ids(100, [7, 9, 11], 17, 8)]
    served = serve(Setup(2, 100), steps_of_1_ms, requests)
    assert served.hits == [0, 12]
    assert served.jobs[1].misses == (("new_content", 4), ("block_rounding", 1))


def test_detail_9_an_id_of_a_smaller_log_block_names_all_that_lies_before_its_end() -> None:
    """Ids of 2 tokens, blocks of 4: the 2nd and the 4th id count; a change in the 3rd changes the
    4th, since ids name prefixes."""
    requests = [ask_ids(0, [1, 2, 3, 4], 9, 2), ask_ids(50, [1, 2, 30, 40], 9, 2)]
    requests.append(ask_ids(100, [1, 2, 3, 4], 9, 2))
    assert run(requests).hits == [0, 4, 8]
