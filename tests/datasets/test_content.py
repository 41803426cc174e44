"""Content as hashes: what counts as equal, reordered or volatile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachecast_datasets.content import hashes_of, masked, share_out


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It is 2026-11-29 10:15:02 now.", "It is 2026-11-30 09:01:44 now."),
        ("Today is Sunday, November 29, 2026.", "Today is Monday, November 30, 2026."),
        ("8c1f0d2e-1111-4222-8333-0123456789ab", "9c1f0d2e-1111-4222-8333-0123456789ac"),
        ("cch=a1b2c3;", "cch=f00ba4;"),
        ("turn 17 of 40", "turn 18 of 40"),
        ("session_id: sess_9f8e7d6c5b", "session_id: sess_1a2b3c4d5e"),
    ],
)  # fmt: skip
def test_a_clock_an_id_and_a_counter_are_equal_once_masked(one: str, other: str) -> None:
    """But not before."""
    assert hashes_of(one).raw != hashes_of(other).raw
    assert hashes_of(one).masked == hashes_of(other).masked


@pytest.mark.parametrize("text", ["deadbeef", "facade", "a coffee at the cafe", "May we go?"])
def test_words_are_not_masked(text: str) -> None:
    """A word of the letters a to f is not a hex string unless a digit is in it."""
    assert masked(text) == text


def test_another_text_differs_even_when_masked() -> None:
    assert hashes_of("Be brief.").masked != hashes_of("Be thorough.").masked


def test_keys_in_another_order_are_canonically_equal() -> None:
    one, other = {"name": "f", "type": "object"}, {"type": "object", "name": "f"}
    assert hashes_of(one).raw != hashes_of(other).raw
    assert hashes_of(one).canonical == hashes_of(other).canonical


def test_a_string_has_one_hash_as_it_is_and_key_sorted() -> None:
    found = hashes_of("text")
    assert found.raw == found.canonical


def test_tokens_are_shared_out_by_weight_with_the_rest_to_the_largest_remainders() -> None:
    # 10 x 1/3, 10 x 1/3, 10 x 1/3 -> 3.33 each: the first gets the one that is left
    assert share_out(10, [1, 1, 1]) == [4, 3, 3]
    assert share_out(7, [0, 0]) == [4, 3]
    assert share_out(5, []) == []


@given(st.integers(0, 10**7), st.lists(st.integers(0, 10**6), min_size=1, max_size=30))
def test_shares_are_whole_and_sum_to_the_total(total: int, weights: list[int]) -> None:
    parts = share_out(total, weights)
    assert sum(parts) == total
    assert min(parts) >= 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-29T10:15:02.5Z and 2026-11-29 10:15:02+01:00", "<time> and <time>"),
        ("at 10:15 pm, 3.5 s", "at <time>, <n> s"),
        ("on Sunday, 29 November, 2026; on May 3, 1999.", "on <date>; on <date>."),
        ("29.11.2026 2026/1/2", "<date> <date>"),
        ("  1999→day = 2", "  <n>→day = <n>"),  # a line number is no year
        ("cch=00f1e; cch=b2a4", "cch=<hex>; cch=b<n>a<n>"),
        ("call_9f8e7d6c5b(x1, 'deadbeef01')", "<id>(x<n>, '<hex>')"),
        ("naïve 7 café2 ", "naïve <n> café<n> "),
        ("", ""),
    ],
)
def test_each_volatile_part_is_replaced_by_what_it_is(text: str, expected: str) -> None:
    assert masked(text) == expected


@given(st.text(alphabet="a1-:/. \n→é_,TZ", max_size=60))
def test_masking_leaves_no_digit_and_is_done_after_one_pass(text: str) -> None:
    once = masked(text)
    assert not any(character.isdigit() for character in once)
    assert masked(once) == once
