"""SGLang's radix cache in numbers by hand: serving-semantics §1b, and faults that others had.

Pages are letters; a prompt is a word.
"""

import pytest
from sim.radix_words import found, keep, pages, segments, start

from cachecast_sim.fleet.sglang.radix_cache import RadixCache


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
