"""Single values that changed between two texts: what is certain, and what is left open."""

from datetime import UTC, datetime

import pytest

from cachecast_sim.why.dates import Moments
from cachecast_sim.why.text_changes import TextChange, text_changes

LATER = datetime(2026, 11, 2, 9, 0, 47, tzinfo=UTC)
AFTER_47_S = Moments(47_000_000, LATER)


def only(before: str, after: str, moments: Moments = AFTER_47_S) -> TextChange:
    (change,) = text_changes(before, after, moments)
    return change


# texts that somebody edited: a release, a price, a rule, a name
EDITED = [
    ("Use version 10.2.1 of it", "Use version 10.2.2 of it"),
    ("see John 3:16 there", "see John 3:17 there"),
    ("we may 3 items", "we may 4 items"),
    ("as in chapter 7 of", "as in chapter 8 of"),
    ("It costs $12.50 now", "It costs $13.75 now"),
    ("There are 17 open tickets", "There are 21 open tickets"),
    ("temperature 0.7", "temperature 0.9"),
    ("max_tokens: 4096", "max_tokens: 8192"),
    ("a screen of 16:10 please", "a screen of 16:20 please"),
    ("Use GPT4 here", "Use GPT5 here"),
    ("write in python3", "write in python2"),
    ("only utf8 is read", "only utf16 is read"),
    ("HTTP 404 means", "HTTP 500 means"),
    ("Model: claude-opus-5", "Model: claude-opus-6"),
    ("on branch feature-12345", "on branch feature-12346"),
    ("the host 192.168.1.10", "the host 192.168.1.11"),
    ("in the fiscal year 2025", "in the fiscal year 2026"),
    ("Dear Monday team", "Dear Friday team"),
    ("a helpful march bot", "a helpful june bot"),
    ("the deadbeef cafe", "the feedface cafe"),
    ("a sum of 1,234 in all", "a sum of 1,235 in all"),
    ("page 3 of 10", "page 4 of 10"),
    ("lines 120-140 of it", "lines 130-150 of it"),
    ("it ships on 2026-11-02", "it ships on 2026-12-24"),
    ("in region us-east-1", "in region us-west-2"),
    ("a level 5 rule", "a level 6 rule"),
    ("be brief and kind", "be thorough and kind"),
]


@pytest.mark.parametrize(("before", "after"), EDITED)
def test_what_a_person_may_have_edited_is_never_certain_to_be_volatile(
    before: str, after: str
) -> None:
    for change in text_changes(before, after, AFTER_47_S):
        assert change.cause is None


@pytest.mark.parametrize(("seconds", "cause"), [(47, "clock"), (45, None), (900, None)])
def test_a_plain_number_is_a_clock_only_if_it_moves_as_far_as_the_requests(
    seconds: int, cause: str | None
) -> None:
    assert only("uptime 5000", f"uptime {5000 + seconds}").cause == cause


@pytest.mark.parametrize(("day", "cause"), [(2, "clock"), (4, None)])
def test_a_date_is_a_clock_only_if_it_is_no_more_than_a_day_ahead(
    day: int, cause: str | None
) -> None:
    assert only("Today: 2026-11-01.", f"Today: 2026-11-0{day}.").cause == cause


def test_between_two_files_of_unknown_age_a_date_is_a_clock() -> None:
    assert only("Now 2026-11-01 10:00", "Now 2026-12-24 18:30", Moments(None)).cause == "clock"


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        ("attempt 3", "attempt 4", "counter_or_nonce"),
        ("nonce: 9f3e1c", "nonce: 0b77aa", "counter_or_nonce"),
        ("request id 9f3e1c", "request id 0b77aa", "identifier"),
        ("user: alice", "user: bob", "identifier"),
    ],
)
def test_the_word_before_a_value_tells_a_nonce_from_an_id(
    before: str, after: str, cause: str
) -> None:
    assert only(before, after).cause == cause


def test_an_id_that_counts_up_by_one_can_be_a_counter() -> None:
    change = only("user_id=41", "user_id=42")
    assert (change.cause, change.candidates) == (None, ("identifier", "counter_or_nonce"))


def test_the_exact_characters_and_their_place_are_given() -> None:
    change = only(
        "Rules first.\nIt is 09:00:00.\nThen more.", "Rules first.\nIt is 09:00:47.\nThen more."
    )
    assert (change.offset, change.before, change.after) == (19, "09:00:00", "09:00:47")


def test_a_clock_and_an_id_in_one_text_are_two_changes() -> None:
    before = "t=2026-11-02T09:00:00Z run 7f3a9c01b2 go"
    after = "t=2026-11-02T09:00:47Z run c4418de09a go"
    assert [c.cause for c in text_changes(before, after, AFTER_47_S)] == ["clock", "identifier"]


def test_equal_texts_have_no_change() -> None:
    assert text_changes("a 1 b", "a 1 b", AFTER_47_S) == []


def test_the_same_lines_in_another_order_are_not_called_examples_or_passages_without_a_sign() -> (
    None
):
    before = "alpha beta\ngamma delta\nepsilon zeta\neta theta"
    after = "gamma delta\nalpha beta\neta theta\nepsilon zeta"
    change = only(before, after)
    assert change.cause is None
    assert change.candidates == ("examples_shuffled", "passages_reordered")


def test_json_with_turned_keys_inside_a_text_is_a_key_order() -> None:
    before = 'Config: {"a": 1, "b": {"c": 2, "d": 3}} end'
    after = 'Config: {"b": {"d": 3, "c": 2}, "a": 1} end'
    assert only(before, after).cause == "json_key_order"


@pytest.mark.parametrize("texts", [("x" * 200_000, "y" * 200_000), ("a " * 90_000, "b " * 90_000)])
def test_large_texts_with_nothing_in_common_are_one_rewrite(texts: tuple[str, str]) -> None:
    changes = text_changes(*texts, AFTER_47_S)
    assert [(c.cause, c.candidates) for c in changes] == [(None, ())]
