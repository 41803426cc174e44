"""Whole prefix units (DeepSeek): which units there are, when they can be read, what they need."""

from typing import Any

import pytest
from rule_sketches import Item, last, line, play, reads

FLASH = "deepseek-flash"
S: Item = ("system", "S", 3000)
Q: Item = ("user", "Q", 500)
A: Item = ("assistant", "A", 200)
NEXT: Item = ("user", "next", 70)


def test_the_end_of_the_input_is_a_unit() -> None:
    assert reads(FLASH, line(0, S, Q), line(60, S, Q, NEXT)) == [0, 3500]


def test_the_end_of_the_output_is_a_unit() -> None:
    lines = [line(0, S, Q, answer="A", output=200, took=5), line(60, S, Q, A, NEXT)]
    assert reads(FLASH, *lines) == [0, 3700]
    assert reads(f"{FLASH},output_units=on", *lines) == [0, 3700]
    assert reads(f"{FLASH},output_units=off", *lines) == [0, 3500]


def test_part_of_a_unit_gives_nothing() -> None:
    assert reads(FLASH, line(0, S, Q), line(60, S)) == [0, 0]


def test_the_longest_unit_that_is_contained_whole_is_read() -> None:
    lines = [line(0, S), line(60, S, Q), line(120, S, Q, NEXT), line(180, S, Q, A)]
    assert reads(FLASH, *lines) == [0, 3000, 3500, 3500]


def test_a_common_prefix_becomes_a_unit_with_the_second_request_and_is_read_by_the_third() -> None:
    questions = [("user", f"Q{n}", 400 + n) for n in range(4)]
    lines = [line(60 * n, S, question) for n, question in enumerate(questions)]
    assert reads(FLASH, *lines) == [0, 0, 3000, 3000]


def test_the_common_prefix_needs_no_unit_where_a_longer_one_is_shared_already() -> None:
    lines = [line(0, S), line(60, S, Q), line(120, S, NEXT)]
    assert reads(FLASH, *lines) == [0, 3000, 3000]


@pytest.mark.parametrize(("at", "read"), [(2.999999, 0), (3, 3500)])
def test_building_a_unit_takes_two_seconds_from_the_first_token(at: float, read: int) -> None:
    # BR-63: the second call at 0 % with a stable prefix
    assert reads(FLASH, line(0, S, Q, ttft=1, took=1), line(at, S, Q)) == [0, read]


@pytest.mark.parametrize(("delay", "at", "read"), [(0, 1, 3500), (5, 5.9, 0), (5, 6, 3500)])
def test_the_build_delay_is_a_setting(delay: int, at: float, read: int) -> None:
    lines = [line(0, S, Q, ttft=1, took=1), line(at, S, Q)]
    assert reads(f"{FLASH},build_delay={delay}", *lines) == [0, read]


def test_an_output_cannot_be_read_before_it_was_written() -> None:
    lines = [
        line(0, S, Q, answer="A", output=200, ttft=1, took=30),
        line(20, S, Q, A, NEXT),
        line(32, S, Q, A, ("user", "other", 80)),
    ]
    assert reads(FLASH, *lines) == [0, 3500, 3700]


@pytest.mark.parametrize(("common", "read"), [(999, 0), (1000, 1000), (2999, 2000), (3000, 3000)])
def test_interval_units_lie_at_multiples_of_the_setting(common: int, read: int) -> None:
    lines = [
        line(0, ("system", "X", common), ("user", "Q1", 5000)),
        line(60, ("system", "X", common), ("user", "Q2", 5001)),
    ]
    assert reads(f"{FLASH},interval=1000", *lines) == [0, read]
    assert reads(f"{FLASH},interval=off", *lines) == [0, 0]
    assert reads(FLASH, *lines) == [0, 0]


@pytest.mark.parametrize(("common", "read"), [(63, 0), (64, 64), (127, 64), (128, 128), (130, 128)])
def test_the_2024_rule_reads_units_of_64_tokens_at_once(common: int, read: int) -> None:
    lines = [
        line(0, ("system", "X", common), ("user", "Q1", 100)),
        line(60, ("system", "X", common), ("user", "Q2", 101)),
    ]
    assert reads(f"{FLASH},unit=64", *lines) == [0, read]
    assert reads(f"{FLASH},unit=off", *lines) == [0, 0]


def test_no_minimum_is_stated() -> None:
    assert reads(FLASH, line(0, ("user", "Q", 1)), line(60, ("user", "Q", 1))) == [0, 1]


def test_nothing_is_ever_written_for_money() -> None:
    results = play(FLASH, line(0, S, Q), line(60, S, Q, NEXT))
    assert [result.split for result in results] == [(0, 0, 3500), (3500, 0, 70)]
    assert results[1].charge == 3500 * 3_000 + 70 * 150_000  # 0.003 and 0.15 USD a million


@pytest.mark.parametrize("marker", ["5m", "1h", "breakpoint"])
def test_markers_are_accepted_and_ignored(marker: str) -> None:
    marked = ("system", "S", 3000, marker)
    for mode in (None, "auto", "explicit", "none"):
        keys = {} if mode is None else {"cache": mode}
        assert reads(FLASH, line(0, marked, Q, **keys), line(60, marked, Q, NEXT)) == [0, 3500]


def test_five_markers_are_not_refused() -> None:
    prompt = [("user", f"U{n}", 100, "5m") for n in range(5)]
    assert last(FLASH, line(0, *prompt), line(60, *prompt)).split == (500, 0, 0)


@pytest.mark.parametrize(
    "other",
    [{"account": "b"}, {"model": "other"}, {"host": "somewhere"}],
    ids=["account", "model", "platform"],
)
def test_scopes_do_not_share(other: dict[str, Any]) -> None:
    assert reads(FLASH, line(0, S, Q), line(60, S, Q, **other)) == [0, 0]


def test_settings_are_not_in_the_key() -> None:
    lines = [line(0, S, Q), line(60, S, Q, settings={"temperature": 1.5, "tool_choice": "none"})]
    assert reads(FLASH, *lines) == [0, 3500]


@pytest.mark.parametrize(("hours", "read"), [(3, 3500), (24 * 15, 0)])
def test_units_live_for_hours_but_not_for_weeks_without_use(hours: int, read: int) -> None:
    assert reads(FLASH, line(0, S, Q), line(hours * 3600, S, Q)) == [0, read]


def test_use_keeps_a_unit_alive() -> None:
    lines = [line(12 * 3600 * n, S, Q) for n in range(8)]
    assert reads(FLASH, *lines) == [0] + [3500] * 7


def test_a_request_that_never_started_makes_no_units() -> None:
    lines = [line(0, S, Q, ttft=None), line(60, S, Q), line(120, S, Q)]
    assert reads(FLASH, *lines) == [0, 0, 3500]
