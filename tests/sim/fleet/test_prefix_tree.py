"""Which blocks of which prompts are the same: the tree of runs against plain sets of prefixes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachecast_sim.fleet.prefixes import PrefixTree, Segment

Prompt = tuple[int, ...]
prompts = st.lists(st.lists(st.integers(0, 2), max_size=9).map(tuple), max_size=12)


def ids_of(prompt: Prompt, names: dict[Prompt, int]) -> list[int]:
    """An id for each prefix, as a log has them; large ones keep all their bits."""
    prefixes = [prompt[: end + 1] for end in range(len(prompt))]
    return [names.setdefault(prefix, (1 << 64) - 1 - len(names)) for prefix in prefixes]


@given(prompts, st.sampled_from([1, 4]))
def test_two_blocks_are_one_place_exactly_if_their_prefixes_are_equal(
    log: list[Prompt], per_id: int
) -> None:
    """A place is a segment and a position; each id is `per_id` blocks. `enter` also says how many
    of a prompt's blocks an earlier one had."""
    tree, names = PrefixTree(per_id), dict[Prompt, int]()
    places: dict[tuple[Segment, int], tuple[Prompt, int]] = {}
    seen: set[Prompt] = set()
    for prompt in log:
        path, shared = tree.enter(ids_of(prompt, names))
        prefixes = [prompt[: end + 1] for end in range(len(prompt))]
        assert shared == per_id * sum(prefix in seen for prefix in prefixes)
        seen |= set(prefixes)
        blocks = [(segment, at) for segment, low, high in path for at in range(low, high)]
        assert [at for _, at in blocks] == list(range(len(prompt) * per_id))
        for place in blocks:
            content = prefixes[place[1] // per_id], place[1]
            assert places.setdefault(place, content) == content
    assert len(set(places.values())) == len(places)


@given(prompts)
def test_there_are_no_more_segments_than_forks_and_first_blocks(log: list[Prompt]) -> None:
    """Memory: a conversation that only grows stays one segment."""
    tree, names = PrefixTree(), dict[Prompt, int]()
    segments: set[Segment] = set()
    for prompt in log:
        path, _ = tree.enter(ids_of(prompt, names))
        segments |= {segment for segment, _, _ in path}
    assert len(segments) <= len({prompt for prompt in log if prompt})
    grown = PrefixTree()
    turns = [tuple(range(length)) for length in range(1, 50)]
    paths = [grown.enter(ids_of(turn, names))[0] for turn in turns]
    assert len({segment for path in paths for segment, _, _ in path}) == 1


def test_an_id_that_begins_a_run_at_two_positions_names_no_prefix_and_is_refused() -> None:
    """9 forks off at block 1, so it cannot begin a prompt. (Ids inside a run are not looked at one
    by one.)"""
    tree = PrefixTree()
    tree.enter([1, 2])
    tree.enter([1, 9])
    with pytest.raises(ValueError, match=r"^block id 9 is block 0 here and was block 1 of an ear"):
        tree.enter([9, 2])


def test_a_partial_last_id_is_the_front_of_the_whole_block_of_that_id() -> None:
    """Ids of 4 blocks: the second prompt ends 2 blocks into 2, which is whole in the first one, and
    is found there in either order."""
    tree = PrefixTree(4)
    whole, _ = tree.enter([1, 2, 3])
    path, _ = tree.enter([1])
    assert tree.enter_partial(path, 2, 4, 6) == ((whole[0][0], 4, 6), 6)

    tree = PrefixTree(4)
    path, _ = tree.enter([1])
    (part, _, _), seen_to = tree.enter_partial(path, 2, 4, 6)
    assert seen_to == 0
    assert tree.enter([1, 2, 3])[0][1] == (part, 4, 12)


def test_of_an_id_that_was_never_whole_only_what_was_there_is_shared() -> None:
    """Block 4 of the id 2, then 4 to 6, then 4 and 5: each shares what the longest before it had.
    The whole one has 3 of its 4 blocks from them and the next whole one all."""
    tree = PrefixTree(4)
    path, _ = tree.enter([1])
    assert [tree.enter_partial(path, 2, 4, end)[1] for end in (5, 7, 6)] == [0, 5, 6]
    assert [tree.enter([1, 2, 3])[1], tree.enter([1, 2, 4])[1]] == [7, 8]
    assert tree.enter_partial(path, 2, 4, 7)[1] == 7
