"""The engine's scheduling rules, each on a pool small enough to follow by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachecast_replay.engine.blocks import BlockManager
from cachecast_replay.engine.errors import EngineError
from cachecast_replay.engine.scheduler import Scheduler
from cachecast_replay.engine.sequence import Sequence

Steps = list[list[tuple[str, int, int]]]


def scheduler_of(
    blocks: int, block_tokens: int = 4, max_batch_tokens: int = 64, max_seqs: int = 8
) -> Scheduler:
    """`blocks` usable ones."""
    return Scheduler(BlockManager(blocks + 1, block_tokens), max_batch_tokens, max_seqs)


def request(name: str, prompt: range | list[int], output_len: int = 1) -> Sequence:
    """Its output is 1000, 1001, … whatever the prompt."""
    return Sequence(name, prompt, output_len, range(1000, 1000 + output_len))


def play(scheduler: Scheduler, *sequences: Sequence, steps: int = 1000) -> Steps:
    """Add the requests, run to the end (or `steps`): (request, start, new tokens) of each part."""
    for sequence in sequences:
        assert scheduler.add(sequence)
    seen: Steps = []
    while (scheduler.waiting or scheduler.running) and len(seen) < steps:
        schedule = scheduler.schedule()
        seen.append(
            [
                (part.sequence.request_id, part.start_tokens, part.new_tokens)
                for part in schedule.parts
            ]
        )
        scheduler.complete(schedule, [each.next_forced or 0 for each in schedule.yielding])
    return seen


def test_a_prompt_is_cut_into_chunks_of_the_budget_not_of_blocks() -> None:
    """17 tokens, 6 a step, blocks of 4; the step that computes the last one yields the first
    output token, and the last output token is never computed."""
    steps = play(scheduler_of(8, max_batch_tokens=6), request("a", range(17), output_len=3))

    assert steps == [
        [("a", 0, 6)], [("a", 6, 6)], [("a", 12, 5)], [("a", 17, 1)], [("a", 18, 1)],
    ]  # fmt: skip


def test_running_requests_come_before_waiting_ones_and_a_hit_costs_no_budget() -> None:
    """5 tokens a step. In step 2, b has 5 - 1 = 4 left; c finds both blocks of its prefix."""
    scheduler = scheduler_of(20, max_batch_tokens=5)
    a, b = request("a", range(5), output_len=9), request("b", range(50, 58), output_len=9)
    steps = play(scheduler, a, b, steps=3)
    assert steps == [[("a", 0, 5)], [("a", 5, 1), ("b", 0, 4)], [("a", 6, 1), ("b", 4, 4)]]

    c = request("c", [*range(50, 58), 7, 8, 9])
    steps = play(scheduler, c, steps=1)
    assert steps == [[("a", 7, 1), ("b", 8, 1), ("c", 8, 3)]]
    assert c.hit_tokens == 8


def test_a_request_finds_the_blocks_of_one_scheduled_before_it_in_the_same_step() -> None:
    """Rule 11: blocks are published when they are scheduled; only full ones."""
    a, b = request("a", range(10)), request("b", range(10))
    assert play(scheduler_of(9), a, b) == [[("a", 0, 10), ("b", 8, 2)]]
    assert (a.hit_tokens, b.hit_tokens) == (0, 8)


def test_output_tokens_fill_and_publish_blocks_except_the_last_one() -> None:
    """6 prompt and 6 output tokens: 11 computed, so 2 blocks of 4; the third lacks its last."""
    scheduler = scheduler_of(20)
    play(scheduler, request("a", range(6), output_len=6))
    again = request("b", [*range(6), *range(1000, 1006), 5])
    play(scheduler, again)
    assert again.hit_tokens == 8


def test_the_whole_prompt_must_fit_before_its_first_chunk_runs() -> None:
    """a takes 2 blocks; b needs 4, its first chunk only 1. With 6 blocks b starts beside a; with
    5 it waits for a's end, and c, which would fit, waits behind b."""
    a, b, c = request("a", range(8), 3), request("b", range(100, 116)), request("c", [1])
    assert play(scheduler_of(6, max_batch_tokens=12), a, b, c)[0] == [("a", 0, 8), ("b", 0, 4)]

    a, b, c = request("a", range(8), 3), request("b", range(100, 116)), request("c", [1])
    assert play(scheduler_of(5, max_batch_tokens=12), a, b, c) == [
        [("a", 0, 8)], [("a", 8, 1)], [("a", 9, 1)], [("b", 0, 12)], [("b", 12, 4), ("c", 0, 1)],
    ]  # fmt: skip


def test_the_request_admitted_last_gives_way_and_finds_what_survived() -> None:
    """4 blocks of 4. a and b take 2 each (7 tokens); at token 9, a needs a third.

    b is thrown out with 8 tokens computed: both its blocks are full and findable, and a takes
    the one at the head of the free list, b's last. Back after a's end, b has 9 tokens and finds 4.
    """
    scheduler = scheduler_of(4)
    a, b = request("a", range(7), 4), request("b", range(50, 57), 4)
    steps = play(scheduler, a, b)

    assert steps == [
        [("a", 0, 7), ("b", 0, 7)],
        [("a", 7, 1), ("b", 7, 1)],
        [("a", 8, 1)],
        [("a", 9, 1)],
        [("b", 4, 5)],
        [("b", 9, 1)],
    ]
    assert (a.preemptions, b.preemptions) == (0, 1)
    assert (b.hit_tokens, b.resume_hits) == (0, [4])
    assert b.output_token_ids == [1000, 1001, 1002, 1003]


def test_nobody_is_admitted_in_a_step_that_preempted_and_the_victim_goes_first() -> None:
    """c would fit beside a once b is out, but waits behind b."""
    scheduler = scheduler_of(5, max_seqs=2)
    a, b, c = request("a", range(11), 3), request("b", range(50, 57), 9), request("c", [1])
    steps = play(scheduler, a, b, c, steps=3)
    assert steps == [[("a", 0, 11), ("b", 0, 7)], [("a", 11, 1), ("b", 7, 1)], [("a", 12, 1)]]
    assert [sequence.request_id for sequence in scheduler.waiting] == ["b", "c"]


def test_a_request_that_needs_a_block_may_have_to_give_way_itself() -> None:
    """a fills its blocks exactly; b, the last, needs one more and throws itself out."""
    scheduler = scheduler_of(3)
    a, b = request("a", range(5), 4), request("b", range(50, 54), 2)
    steps = play(scheduler, a, b)
    assert steps[0] == [("a", 0, 5), ("b", 0, 4)]
    assert steps[1:4] == [[("a", 5, 1)], [("a", 6, 1)], [("a", 7, 1)]]
    assert (b.preemptions, b.resume_hits) == (1, [4])


@pytest.mark.parametrize(("output_len", "fits"), [(5, True), (6, False)])
def test_a_request_that_can_never_fit_is_not_queued(output_len: int, fits: bool) -> None:
    """2 blocks of 4 hold 4 prompt tokens and all but the last of 5 output tokens."""
    scheduler = scheduler_of(2)
    assert scheduler.add(request("a", range(4), output_len)) is fits
    assert len(scheduler.waiting) == fits


@pytest.mark.parametrize(("seqs", "first_step"), [(1, ["a"]), (2, ["a", "b"])])
def test_at_most_max_seqs_run_at_once(seqs: int, first_step: list[str]) -> None:
    steps = play(scheduler_of(9, max_seqs=seqs), *(request(name, [1]) for name in "abc"))
    assert [name for name, _, _ in steps[0]] == first_step


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: request("a", []), "request a: an empty prompt, expected 1 token or more"),
        (lambda: request("a", [1], 0), "request a: output_len is 0, expected >= 1"),
        (lambda: Sequence("a", [1], 2, [5]), "request a: 1 forced tokens for output_len 2"),
        (lambda: request("a", [3, -1]), "request a: token id -1, expected 0 to 2,147,483,647"),
        (lambda: scheduler_of(9, max_seqs=0), "max_seqs is 0, expected >= 1"),
        (lambda: scheduler_of(9, max_batch_tokens=0), "max_batch_tokens is 0, expected >= 1"),
    ],
)
def test_what_cannot_be_run_is_refused(make: "object", message: str) -> None:
    assert callable(make)
    with pytest.raises(EngineError) as caught:
        make()
    assert str(caught.value) == message


@given(
    st.lists(
        st.tuples(st.integers(1, 20), st.integers(1, 8), st.booleans()), min_size=1, max_size=8
    ),
    st.integers(3, 14),
    st.integers(1, 9),
    st.integers(1, 4),
)
def test_whatever_comes_every_request_ends_and_the_limits_hold(
    wanted: list[tuple[int, int, bool]], blocks: int, max_batch_tokens: int, max_seqs: int
) -> None:
    """Prompts share a start or not; each token is computed once, or again after a preemption."""
    scheduler = scheduler_of(blocks, 4, max_batch_tokens, max_seqs)
    sequences = [
        request(
            str(number),
            list(range(100 * (0 if shares else number), 100 * number + 20))[:tokens],
            out,
        )
        for number, (tokens, out, shares) in enumerate(wanted)
    ]
    queued = [sequence for sequence in sequences if scheduler.add(sequence)]
    for step in play(scheduler):
        assert 1 <= sum(new for _, _, new in step) <= max_batch_tokens
        assert len(step) <= max_seqs
        assert len({name for name, _, _ in step}) == len(step)

    assert scheduler.manager.free_blocks == blocks
    for sequence in sequences:
        assert sequence.is_finished == (sequence in queued)
        assert len(sequence.resume_hits) == sequence.preemptions
