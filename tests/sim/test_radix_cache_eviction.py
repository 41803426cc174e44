"""What the radix cache evicts and what it keeps (serving-semantics §1b rows 5 and 6)."""

from collections import Counter
from collections.abc import Callable

import pytest
from sim.radix_words import found, keep, pages, segments, start
from sim.sglang_jobs import check

from cachecast_sim.fleet.sglang import leaf_queue
from cachecast_sim.fleet.sglang.holding import Holding
from cachecast_sim.fleet.sglang.radix_cache import RadixCache


def test_a_leaf_that_an_insertion_adds_is_younger_than_the_half_it_splits_off() -> None:
    cache = RadixCache(20)
    keep(cache, "abcd")
    assert cache.take(4)
    assert cache.insert(pages("abxy"), 4, None) == 2  # without a look-up before it
    cache.evict(1)

    assert segments(cache) == {("", "ab"), ("ab", "xy")}


def test_a_leaf_that_gets_a_child_is_none_any_more() -> None:
    cache = RadixCache(20)
    assert cache.take(4)
    cache.insert(pages("ab"), 2, None)
    cache.insert(pages("abcd"), 4, None)

    check(cache)
    assert cache.evict(1) == 2
    assert segments(cache) == {("", "ab")}


@pytest.mark.parametrize(("need", "evicted"), [(4, 0), (5, 3), (7, 3), (8, 5)])
def test_the_shortfall_is_evicted_in_whole_leaves(need: int, evicted: int) -> None:
    """4 of 9 pages are free; the leaves in order of age have 3 and 2 pages."""
    cache = RadixCache(9)
    keep(cache, "abc", "xy")

    assert cache.take(need)
    assert cache.evicted_pages == evicted
    check(cache)


@pytest.mark.parametrize(
    ("words", "order"),
    [
        (("ab", "abcd", "xy"), ["cd", "ab", "xy"]),
        (("ab", "abcd", "xy", "ab"), ["cd", "xy", "ab"]),  # "ab" was used once more
        (("abcd", "xy", "abef"), ["xy", "cd", "ef", "ab"]),  # the split made "cd" recent
    ],
)
def test_a_parent_that_lost_its_last_child_goes_in_its_own_turn(
    words: tuple[str, ...], order: list[str]
) -> None:
    cache = RadixCache(20)
    keep(cache, *words)

    gone, before = [], segments(cache)
    while cache.evict(1):
        gone += [own for _, own in before - segments(cache)]
        before = segments(cache)

    assert gone == order


def test_a_chain_loses_its_tail_first_every_time() -> None:
    """llm-d-inference-sim#704: of blocks of one time any went, the head of a chain too."""
    for _ in range(20):
        cache = RadixCache(3)
        keep(cache, "a", "ab", "abc")
        left = []
        while cache.evict(1):
            left.append(found(cache, "abc"))

        assert left == [2, 1, 0]


def test_what_a_running_request_uses_stays_with_all_above_it() -> None:
    cache = RadixCache(8)
    keep(cache, "ab", "abcd", "xy")
    running = Holding(cache, pages("abcd"), 4, None)

    assert cache.evictable_pages == 2
    assert cache.evict(100) == 2
    assert segments(cache) == {("", "ab"), ("ab", "cd")}
    assert not cache.take(5)
    running.release()
    assert cache.take(5)


def test_a_node_split_under_a_lock_is_locked_in_both_halves() -> None:
    cache = RadixCache(8)
    keep(cache, "abcd")
    first = Holding(cache, pages("abcd"), 4, None)
    second = Holding(cache, pages("abxy"), 4, None)
    check(cache)

    assert (second.tree_pages, cache.evictable_pages) == (2, 0)
    first.release()
    assert cache.evictable_pages == 2
    second.release()
    assert cache.evictable_pages == 4
    check(cache)


def test_all_that_counts_as_evictable_can_be_evicted() -> None:
    """LLMServingSim#60: inner nodes counted, but could not go."""
    cache = RadixCache(20)
    keep(cache, "abcd", "abef", "abcdgh")
    lock = Holding(cache, pages("ab"), 2, None)

    assert cache.evictable_pages == 6
    assert cache.evict(6) == 6
    assert (cache.evictable_pages, cache.tree_pages) == (0, 2)
    lock.release()


def test_an_eviction_looks_at_the_leaf_it_takes_and_not_at_the_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """sglang#14339, #20125: each eviction walked the whole tree or built the heap anew."""
    cache = RadixCache(2000)
    words = [chr(33 + number // 30) + chr(33 + number % 30) for number in range(900)]
    for word in words:
        holding = start(cache, word)
        holding.checkpoint(2, 2)
        holding.release()
    work: Counter[str] = Counter()
    for name in ("heappop", "heapreplace", "heappush"):
        monkeypatch.setattr(leaf_queue, name, _counting(work, name))

    # A leaf was used once more after it was entered, so its entry is put right once.
    assert cache.evict(1) == 1
    assert work == {"heapreplace": 1, "heappop": 1}
    assert cache.evict(100) == 100
    assert sum(work.values()) <= 3 * 101


def _counting(work: Counter[str], name: str) -> Callable[..., object]:
    real: Callable[..., object] = getattr(leaf_queue, name)

    def counted(*arguments: object) -> object:
        work[name] += 1
        return real(*arguments)

    return counted
