"""The engine's block manager: who holds a block, what is found, what is reused next."""

from array import array
from collections.abc import Sequence
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from replay.slow_blocks import SlowBlocks

from cachecast_replay.engine.blocks import BlockManager, hash_block
from cachecast_replay.engine.errors import EngineError


def start(manager: BlockManager, tokens: Sequence[int]) -> list[int] | None:
    """Hold blocks for all of `tokens`, hits first, and publish the full ones; None: no room."""
    data = array("i", tokens).tobytes()
    size = manager.block_tokens
    hashes = manager.hashes_of(data)
    found = manager.match(hashes, data, (len(tokens) - 1) // size)
    needed = -(-len(tokens) // size) - len(found)
    if needed + manager.unreferenced(found) > manager.free_blocks:
        return None
    manager.take(found)
    blocks = found + manager.allocate(needed)
    for number in range(len(found), len(tokens) // size):
        content = data[4 * size * number : 4 * size * (number + 1)]
        before = blocks[number - 1] if number else None
        manager.publish(blocks[number], hashes[number], content, before)
    return blocks


def hits(manager: BlockManager, tokens: Sequence[int]) -> list[int]:
    data = array("i", tokens).tobytes()
    most = (len(tokens) - 1) // manager.block_tokens
    return manager.match(manager.hashes_of(data), data, most)


def free_order(manager: BlockManager) -> list[int]:
    """The free list from the head, by using up a copy of the pool."""
    return deepcopy(manager).allocate(manager.free_blocks)


def test_the_worked_example_of_the_design_document() -> None:
    """vLLM's prefix-caching document: blocks of 4, ten of them; here block 0 is the null block,
    so each number is one higher, and all blocks are full, so none is reused before its turn."""
    manager = BlockManager(11, 4)
    first = start(manager, range(20))
    second = start(manager, [*range(8), *range(100, 108)])
    assert first == [1, 2, 3, 4, 5]
    assert second == [1, 2, 6, 7]
    manager.release(first)
    manager.release(second)
    assert free_order(manager) == [8, 9, 10, 5, 4, 3, 7, 6, 2, 1]

    third = start(manager, [*range(12), *range(200, 217)])
    assert third == [1, 2, 3, 8, 9, 10, 5, 4]


def test_a_block_that_nobody_can_find_is_reused_before_all_others() -> None:
    """Rule 14: 6 tokens fill one block of 4 and leave 2 in a block without a hash."""
    manager = BlockManager(5, 4)
    held = start(manager, range(6))
    assert held == [1, 2]
    manager.release(held)
    assert free_order(manager) == [2, 3, 4, 1]


@pytest.mark.parametrize(("tokens", "expected"), [(8, [1]), (9, [1, 2])])
def test_the_last_token_is_never_a_hit(tokens: int, expected: list[int]) -> None:
    """Two blocks of 4 are there: a prompt of 8 tokens may use one, a prompt of 9 both."""
    manager = BlockManager(10, 4)
    start(manager, range(12))
    assert hits(manager, range(tokens)) == expected


def test_a_freed_block_is_found_until_it_is_handed_out_again() -> None:
    manager = BlockManager(4, 2)
    held = start(manager, [1, 2, 3])
    assert held == [1, 2]
    manager.release(held)
    assert hits(manager, [1, 2, 3]) == [1]

    assert manager.allocate(2) == [2, 3]
    assert (hits(manager, [1, 2, 3]), manager.evicted_blocks) == ([1], 0)
    assert manager.allocate(1) == [1]
    assert (hits(manager, [1, 2, 3]), manager.evicted_blocks) == ([], 1)


def test_equal_blocks_computed_twice_are_kept_twice_and_the_oldest_is_found() -> None:
    """Rule 13 and §1d (7): evicting one of them leaves the other.

    The same 4 tokens start twice at once (both are whole prompts, so the second block of 2 is
    never a hit); afterwards block 2 goes first, and the copy in block 3 is found.
    """
    manager = BlockManager(4, 2)
    first = start(manager, [1, 2, 3, 4])
    second = start(manager, [1, 2, 3, 4])
    assert (first, second) == ([1, 2], [1, 3])
    assert hits(manager, [1, 2, 3, 4, 5]) == [1, 2]

    manager.release([1, 2])
    assert manager.allocate(1) == [2]
    assert hits(manager, [1, 2, 3, 4, 5]) == [1, 3]


def test_a_planted_collision_does_not_serve_another_prompts_block() -> None:
    """Every block has hash 7. The same last block behind another first one is no hit either."""
    manager = BlockManager(20, 2, hash_block=lambda parent, tokens: 7)
    start(manager, [1, 2, 3, 4, 9])
    assert hits(manager, [5, 6, 3, 4, 9]) == []
    start(manager, [5, 6, 3, 4, 9])

    assert hits(manager, [1, 2, 3, 4, 9]) == [1, 2]
    assert hits(manager, [5, 6, 3, 4, 9]) == [4, 5]
    assert hits(manager, [1, 2, 5, 6, 9]) == [1]


def test_a_chain_is_found_again_after_its_first_block_was_computed_anew() -> None:
    """The first block is evicted while its successor stays: the new copy leads to the old one.

    Two holders of block 1 end last and first, so that block 1 is evicted before block 2.
    """
    manager = BlockManager(5, 2)
    held = start(manager, [1, 2, 3, 4, 5])
    assert held == [1, 2, 3]
    manager.release([1])
    manager.release([2, 3])
    assert free_order(manager) == [3, 4, 1, 2]
    manager.release(manager.allocate(3))
    assert hits(manager, [1, 2, 3, 4, 5]) == []

    assert start(manager, [1, 2, 9]) is not None
    assert len(hits(manager, [1, 2, 3, 4, 5])) == 2


def test_hashes_are_chained_and_start_from_a_fixed_root() -> None:
    manager = BlockManager(4, 2)
    one, two, other = (array("i", ids).tobytes() for ids in ([1, 2], [3, 4], [9, 9]))
    both = manager.hashes_of(one + two)
    assert both[1] == hash_block(both[0], two)
    assert manager.hashes_of(one + two + other[:4]) == both
    assert manager.hashes_of(one + two, known=both[:1]) == both[1:]
    assert manager.hashes_of(other + two)[1] != both[1]
    assert all(0 <= value < 2**64 for value in both)


@pytest.mark.parametrize(
    ("blocks", "block_tokens", "message"),
    [
        (1, 16, "blocks is 1, expected >= 2 (one is the null block)"),
        (2, 0, "block_tokens is 0, expected >= 1"),
    ],
)
def test_a_pool_without_a_usable_block_is_refused(
    blocks: int, block_tokens: int, message: str
) -> None:
    with pytest.raises(EngineError) as caught:
        BlockManager(blocks, block_tokens)
    assert str(caught.value) == message


prompts = st.lists(st.integers(0, 1), min_size=1, max_size=9)


@given(
    st.integers(2, 9),
    st.integers(1, 3),
    st.sampled_from([1, 2, 2**64]),
    st.lists(prompts | st.integers(0, 3), max_size=30),
)
def test_every_operation_does_what_the_slow_manager_does(
    blocks: int, block_tokens: int, kinds_of_hash: int, operations: list[list[int] | int]
) -> None:
    """A list starts a request, a number ends one of those that run; hashes collide on purpose.

    After each: the same blocks, the same order of reuse, nothing lost, and the same hits for
    every prompt seen so far.
    """
    manager = BlockManager(
        blocks, block_tokens, lambda parent, tokens: hash_block(parent, tokens) % kinds_of_hash
    )
    slow = SlowBlocks(blocks, block_tokens)
    held: list[list[int]] = []
    for operation in operations:
        if isinstance(operation, list):
            got = start(manager, operation)
            assert got == slow.start(operation)
            if got is not None:
                held.append(got)
        elif held:
            ending = held.pop(operation % len(held))
            manager.release(ending)
            slow.end(ending)

        assert free_order(manager) == slow.free
        in_use = {block for each in held for block in each}
        assert manager.free_blocks + len(in_use) == manager.usable_blocks == blocks - 1
        assert not in_use & set(slow.free)
        for prompt in (tokens for tokens in operations if isinstance(tokens, list)):
            assert hits(manager, prompt) == slow.match(prompt)
