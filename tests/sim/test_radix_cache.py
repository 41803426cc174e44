"""SGLang's radix cache in numbers by hand: serving-semantics §1b, and faults that others had.

Pages are letters; a prompt is a word.
"""

from collections import Counter
from collections.abc import Callable, Iterable

import pytest
from sim.sglang_jobs import check, nodes_of, pages_of

from cachecast_sim.fleet.prefixes import Path, PrefixTree, Segment
from cachecast_sim.fleet.sglang import leaf_queue
from cachecast_sim.fleet.sglang.holding import Holding
from cachecast_sim.fleet.sglang.radix_cache import RadixCache


class Words:
    """Words as paths of one prefix tree, and back. The same word before is the same pages."""

    def __init__(self) -> None:
        self._tree = PrefixTree()
        self._ids: dict[str, int] = {}
        self._letters: dict[tuple[Segment, int], str] = {}

    def path(self, word: str) -> Path:
        prefixes = [word[: end + 1] for end in range(len(word))]
        path, _ = self._tree.enter([self._ids.setdefault(p, len(self._ids)) for p in prefixes])
        self._letters |= dict(zip(pages_of(path, len(word)), word, strict=True))
        return path

    def spell(self, pages: Iterable[tuple[Segment, int]]) -> str:
        return "".join(self._letters[page] for page in pages)


WORDS = Words()
pages = WORDS.path


def start(cache: RadixCache, word: str, namespace: str | None = None) -> Holding:
    """A request that looks all of `word` up and gets pages for the rest of it."""
    holding = Holding(cache, pages(word), len(word), namespace)
    assert cache.take(len(word) - holding.pages)
    holding.grow(len(word))
    return holding


def keep(cache: RadixCache, *words: str) -> None:
    """Requests that are computed whole and end, one after the other."""
    for word in words:
        holding = start(cache, word)
        holding.checkpoint(len(word), len(word))
        holding.release()
        check(cache)


def found(cache: RadixCache, word: str, namespace: str | None = None) -> int:
    return cache.peek(pages(word), len(word), namespace)


def segments(cache: RadixCache) -> set[tuple[str, str]]:
    """Each node as (prefix, its own pages)."""
    nodes = ((WORDS.spell(prefix), node.low) for prefix, node in nodes_of(cache))
    return {(word[:low], word[low:]) for word, low in nodes}


def test_a_prompt_that_leaves_a_node_half_way_splits_it_there() -> None:
    cache = RadixCache(20)
    keep(cache, "abcd", "abxy")

    assert segments(cache) == {("", "ab"), ("ab", "cd"), ("ab", "xy")}
    assert (cache.tree_pages, cache.free_pages) == (6, 14)


def test_both_halves_of_a_split_node_are_recent() -> None:
    """A look-up of "ab" makes "cd" younger than "xy", which came after "abcd"."""
    cache = RadixCache(20)
    keep(cache, "abcd", "xy")

    assert cache.match(pages("ab"), 2, None)[0] == 2
    assert cache.evict(1) == 2
    assert segments(cache) == {("", "ab"), ("ab", "cd")}


def test_a_look_up_refreshes_what_it_passes() -> None:
    cache = RadixCache(20)
    keep(cache, "ab", "xy")

    cache.match(pages("ab"), 2, None)
    cache.evict(1)

    assert segments(cache) == {("", "ab")}


def test_a_glance_refreshes_and_splits_nothing() -> None:
    cache = RadixCache(20)
    keep(cache, "abcd", "xy")

    assert found(cache, "abz") == 2
    assert segments(cache) == {("", "abcd"), ("", "xy")}
    cache.evict(1)
    assert segments(cache) == {("", "xy")}


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


def test_pages_computed_twice_are_freed_once_they_meet_in_the_tree() -> None:
    """Unlike vLLM, two requests that compute the same prompt at a time keep one copy (row 7)."""
    cache = RadixCache(10)
    first, second = start(cache, "abcd"), start(cache, "abcd")
    assert (cache.held_pages, cache.free_pages) == (8, 2)

    first.checkpoint(4, 4)
    assert (cache.held_pages, cache.tree_pages, cache.free_pages) == (4, 4, 2)
    second.checkpoint(4, 4)
    assert (cache.held_pages, cache.tree_pages, cache.free_pages) == (0, 4, 6)
    first.release()
    assert cache.evictable_pages == 0
    second.release()
    assert cache.evictable_pages == 4


def test_namespaces_share_no_node() -> None:
    """vllm#23301: a LoRA or a salt is a part of the key."""
    cache = RadixCache(10)
    holding = start(cache, "abcd", namespace="lora-1")
    holding.checkpoint(4, 4)
    holding.release()

    assert found(cache, "abcd", "lora-1") == 4
    assert found(cache, "abcd", "lora-2") == found(cache, "abcd") == 0
    assert cache.match(pages("abcd"), 4, None)[0] == 0
    assert cache.evict(1) == 4


def test_nothing_counts_behind_a_page_that_is_not_there() -> None:
    """llm-d-inference-sim#705: of the chain 1, 2, 3 without 1 two hits were counted."""
    cache = RadixCache(10)
    keep(cache, "abc")

    assert found(cache, "xbc") == 0
    assert found(cache, "axc") == 1


def test_equal_pages_after_different_prefixes_do_not_meet() -> None:
    """LLMServingSim: a hash without its parent's took the same 16 tokens for the same page."""
    cache = RadixCache(10)
    keep(cache, "abc", "xbc")

    assert cache.tree_pages == 6
    assert found(cache, "bc") == 0


def test_all_that_counts_as_evictable_can_be_evicted() -> None:
    """LLMServingSim#60: inner nodes counted, but could not go."""
    cache = RadixCache(20)
    keep(cache, "abcd", "abef", "abcdgh")
    lock = Holding(cache, pages("ab"), 2, None)

    assert cache.evictable_pages == 6
    assert cache.evict(6) == 6
    assert (cache.evictable_pages, cache.tree_pages) == (0, 2)
    lock.release()


def test_a_request_cannot_end_twice() -> None:
    """LLMServingSim#62: a request finished twice."""
    holding = start(RadixCache(4), "ab")
    holding.release()

    with pytest.raises(AssertionError, match="released twice"):
        holding.release()


def test_output_computed_together_with_its_prompt_can_go_without_it() -> None:
    """Row 8: after a readmission one leaf would hold both; it is split at the prompt's end."""
    cache = RadixCache(10)
    readmitted = start(cache, "abcd")

    readmitted.checkpoint(4, 2)
    readmitted.release()

    assert segments(cache) == {("", "ab"), ("ab", "cd")}
    assert cache.evict(1) == 2
    assert found(cache, "abcd") == 2


def test_what_was_not_checkpointed_is_lost_at_a_release() -> None:
    cache = RadixCache(10)
    holding = start(cache, "abcd")
    holding.checkpoint(2, 2)
    holding.release()

    assert (cache.tree_pages, cache.free_pages, cache.held_pages) == (2, 8, 0)


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
