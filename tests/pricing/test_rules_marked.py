"""Marked boundaries (Anthropic): lifetimes, minimum, look-back, positions, availability, scopes."""

from typing import Any

import pytest
from rule_sketches import Item, last, line, play, reads

from cachecast_pricing.rules.facts import all_facts

OPUS = "claude-opus-5"
S5 = ("system", "S", 6000, "5m")
S1H = ("system", "S", 6000, "1h")
S = ("system", "S", 6000)
Q = ("user", "Q", 300)


def filler(count: int, first: int = 1) -> list[Item]:
    return [("user", f"F{n}", 50) for n in range(first, first + count)]


def test_without_any_marker_nothing_is_read_or_written() -> None:
    for result in play(OPUS, line(0, S, Q), line(10, S, Q)):
        assert result.split == (0, 0, 6300)
        assert result.reason == "not_requested"


def test_an_entry_is_written_at_the_marker_and_at_no_earlier_block() -> None:
    prompt = [("system", "S", 2000), ("system", "S2", 2000), ("user", "Q", 2000, "5m")]
    results = play(
        OPUS, line(0, *prompt), line(10, ("system", "S", 2000), ("system", "S2", 2000, "5m"))
    )
    assert [result.split for result in results] == [(0, 6000, 0), (0, 4000, 0)]


def test_the_marker_itself_is_not_part_of_the_key() -> None:
    # the block carried a marker, then no longer does: it is found by looking back, and refreshed
    lines = [
        line(0, S5, Q),
        line(200, S, ("user", "Q", 300, "5m")),
        line(500, S5, ("user", "other", 40)),
    ]
    assert reads(OPUS, *lines) == [0, 6000, 6000]


@pytest.mark.parametrize(
    ("ttl", "seconds", "read"),
    [
        ("5m", 300, 6000), ("5m", 300.000001, 0),
        ("1h", 3600, 6000), ("1h", 3600.000001, 0),
    ],
)  # fmt: skip
def test_a_life_includes_its_last_moment_and_counts_from_the_request_s_start(
    ttl: str, seconds: float, read: int
) -> None:
    prompt = [("system", "S", 6000, ttl)]
    lines = [line(0, *prompt, ttft=100, took=200), line(seconds, *prompt)]
    assert reads(OPUS, *lines) == [0, read]


@pytest.mark.parametrize(("at", "read"), [(540, 6000), (540.000001, 0)])
def test_a_read_starts_the_life_again_at_the_reader_s_own_start(at: float, read: int) -> None:
    # BR-72: the reader at 240 s keeps the entry alive until 240 + 300
    lines = [line(0, S5), line(240, S5, ttft=30), line(at, S5)]
    assert reads(OPUS, *lines) == [0, 6000, read]


def test_without_the_read_in_between_the_entry_is_gone() -> None:
    assert reads(OPUS, line(0, S5), line(482, S5)) == [0, 0]


@pytest.mark.parametrize(("at", "read"), [(310, 6000), (310.000001, 0)])
def test_grace_adds_to_the_minimum_life(at: float, read: int) -> None:
    assert reads(f"{OPUS},grace=10", line(0, S5), line(at, S5)) == [0, read]


def test_ttl_sets_the_lifetime_of_every_marker() -> None:
    (first, second) = play(f"{OPUS},ttl=1h", line(0, S5, Q), line(3600, S5, Q))
    assert (first.usage.cache_write_1h, first.usage.cache_write_5m) == (6000, 0)
    assert second.read == 6000


MINIMUM = {
    512: ["claude-fable-5.1", "claude-mythos-5.1", "claude-opus-5.5", "claude-opus-5",
          "claude-sonnet-5.5", "claude-fable-5", "claude-mythos-5", "claude-haiku-5.5"],
    1024: ["claude-opus-4.8", "claude-sonnet-5", "claude-sonnet-4.6", "claude-sonnet-4.5",
           "claude-opus-4.1", "claude-sonnet-4"],
    2048: ["claude-opus-4.7", "claude-haiku-3.5"],
    4096: ["claude-opus-4.6", "claude-opus-4.5", "claude-haiku-4.5"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("model", "minimum"), [(model, least) for least, models in MINIMUM.items() for model in models]
)
def test_a_prefix_one_token_below_the_minimum_is_not_cached(model: str, minimum: int) -> None:
    for prefix, written in ((minimum - 1, 0), (minimum, minimum)):
        prompt = [("system", "S", prefix, "5m"), ("user", "Q", 10)]
        (only,) = play(f"{model},on=2026-11-01", line(0, *prompt))
        assert only.split == (0, written, prefix + 10 - written)


@pytest.mark.parametrize(
    ("model", "minimum"), [("claude-opus-4", 1024), ("claude-mythos-preview", 2048)]
)
def test_models_that_no_price_list_names_have_their_minimum_too(model: str, minimum: int) -> None:
    assert all_facts()["anthropic"].minimum_for(model) == minimum


def test_a_marker_below_the_minimum_does_not_stop_a_later_one() -> None:
    prompt = [("system", "S", 400, "5m"), ("user", "Q", 600, "5m")]
    short = [("system", "S", 400, "5m"), ("user", "other", 300)]
    results = play(OPUS, line(0, *prompt), line(10, *short), line(20, *prompt))
    assert [result.split for result in results] == [(0, 1000, 0), (0, 0, 700), (1000, 0, 0)]


@pytest.mark.parametrize(("added", "read"), [(19, 6000), (20, 0)])
def test_the_marker_s_own_position_is_the_first_of_twenty(added: int, read: int) -> None:
    turn = [S, *filler(added - 1), ("user", "last", 50, "5m")]
    assert last(OPUS, line(0, S5), line(10, *turn)).read == read


@pytest.mark.parametrize(("lookback", "read"), [(6, 6000), (5, 0), (1, 0)])
def test_lookback_sets_how_many_positions_are_checked(lookback: int, read: int) -> None:
    turn = [S, *filler(4), ("user", "last", 50, "5m")]
    assert last(f"{OPUS},lookback={lookback}", line(0, S5), line(10, *turn)).read == read


def test_a_lagging_second_marker_continues_the_search() -> None:
    turn = [S, *filler(18), ("user", "lag", 50, "5m"), *filler(20, 50), ("user", "last", 50, "5m")]
    assert last(OPUS, line(0, S5), line(10, *turn)).read == 6000


def test_the_nearest_of_two_entries_is_read() -> None:
    lines = [
        line(0, S5),
        line(1, S5, ("user", "A", 100, "5m")),
        line(2, S5, ("user", "A", 100, "5m")),
    ]
    assert reads(OPUS, *lines) == [0, 6000, 6100]


def tool_turn(kind: str, section: str, count: int) -> list[Item]:
    return [(section, f"{kind}{n}", 40, None, {"kind": kind, "join": n > 0}) for n in range(count)]


@pytest.mark.parametrize(
    ("grouping", "read"), [("", 6000), (",group_tools=on", 6000), (",group_tools=off", 0)]
)
def test_a_run_of_tool_blocks_is_one_position_unless_grouping_is_off(
    grouping: str, read: int
) -> None:
    # BR-83: 11 tool_use + 11 tool_result + the marker: 3 positions grouped, 23 single ones
    turn = [
        S, *tool_turn("tool_use", "assistant", 11), *tool_turn("tool_result", "user", 11),
        ("user", "last", 50, "5m"),
    ]  # fmt: skip
    assert last(OPUS + grouping, line(0, S5), line(10, *turn)).read == read


def test_a_run_of_tool_blocks_counts_over_messages_but_not_over_other_blocks() -> None:
    apart: list[Item] = []
    for n in range(10):  # 10 x (tool_use, text): 20 positions, however they are grouped
        apart += [
            ("assistant", f"use{n}", 40, None, {"kind": "tool_use"}),
            ("assistant", f"text{n}", 40),
        ]
    together = [("assistant", f"use{n}", 40, None, {"kind": "tool_use"}) for n in range(30)]
    end = ("user", "last", 50, "5m")
    assert last(OPUS, line(0, S5), line(10, S, *apart, end)).read == 0
    assert last(OPUS, line(0, S5), line(10, S, *together, end)).read == 6000


@pytest.mark.parametrize(("at", "read"), [(1.999999, 0), (2, 6000)])
def test_an_entry_is_readable_from_its_writer_s_first_token_on(at: float, read: int) -> None:
    first, second = play(OPUS, line(0, S5, ttft=2), line(at, S5, ttft=2))
    assert first.split == (0, 6000, 0)
    assert second.split == (read, 6000 - read, 0)


def test_twins_sent_before_the_first_token_each_pay_a_write() -> None:
    results = play(OPUS, *(line(n / 10, S5, ttft=2) for n in range(4)))
    assert [result.split for result in results] == [(0, 6000, 0)] * 4


@pytest.mark.parametrize(("at", "read"), [(305, 6000), (305.000001, 0)])
def test_a_second_writer_refreshes_the_entry_that_is_already_there(at: float, read: int) -> None:
    lines = [line(0, S5, ttft=10), line(5, S5, ttft=10), line(at, S5)]
    assert reads(OPUS, *lines) == [0, 0, read]


@pytest.mark.parametrize(("at", "read"), [(12, 6000), (350, 6000), (350.000001, 0)])
def test_an_entry_stays_readable_and_its_life_is_not_shortened_by_a_slower_earlier_writer(
    at: float, read: int
) -> None:
    lines = [line(0, S5, ttft=100), line(50 - 40, S5, ttft=1), line(at, S5)]
    if at > 300:  # the second writer starts at 50
        lines[1] = line(50, S5, ttft=1)
    assert reads(OPUS, *lines) == [0, 0, read]


def test_a_request_that_never_started_writes_nothing() -> None:
    lines = [line(0, S5, ttft=None), line(10, S5), line(20, S5)]
    results = play(OPUS, *lines)
    assert [result.read for result in results] == [0, 0, 6000]
    assert (results[0].status, results[1].reason) == ("aborted", "aborted_writer")


SCOPES: list[dict[str, Any]] = [{"account": "b"}, {"model": "other"}, {"host": "bedrock"}]


@pytest.mark.parametrize("other", SCOPES, ids=["account", "model", "platform"])
def test_accounts_models_and_platforms_do_not_share(other: dict[str, Any]) -> None:
    lines = [line(0, S5), line(10, S5, **other), line(20, S5), line(30, S5, **other)]
    assert reads(OPUS, *lines) == [0, 0, 6000, 6000]


def test_sessions_of_one_account_share() -> None:
    assert reads(OPUS, line(0, S5, session="one"), line(10, S5, session="two")) == [0, 6000]


def test_equal_text_in_another_section_is_another_prefix() -> None:
    lines = [line(0, ("system", "X", 6000, "5m")), line(10, ("user", "X", 6000, "5m"))]
    assert reads(OPUS, *lines) == [0, 0]


def test_no_rounding_counts_are_exact_block_boundaries() -> None:
    prompt = [("system", "S", 6007, "5m"), ("user", "Q", 13)]
    assert last(OPUS, line(0, *prompt), line(10, *prompt)).split == (6007, 0, 13)
