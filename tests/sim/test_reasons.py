"""Why a prompt token was not read: each reason in its smallest sketch, with tokens (design §5)."""

from typing import Any

import pytest
from rule_sketches import Item, Result, last, line, play

OPUS, SOL, FLASH = "claude-opus-5", "gpt-6-sol", "deepseek-flash"
S5: Item = ("system", "S", 6000, "5m")
S: Item = ("system", "S", 6000)


def end(name: str, tokens: int = 200) -> Item:
    """A user message with a marker."""
    return ("user", name, tokens, "5m")


def told(result: Result) -> tuple[str | None, dict[str, int]]:
    """(the request's own reason, unread tokens by reason)."""
    return result.reason, dict(result.misses)


def test_nothing_shared_with_anything_earlier_is_a_cold_start() -> None:
    assert told(last(OPUS, line(0, S, end("Q")))) == ("cold_start", {"cold_start": 6200})


def test_everything_read_has_no_reason_and_no_misses() -> None:
    assert told(last(OPUS, line(0, S5), line(10, S5))) == (None, {})


def test_new_text_after_a_prefix_that_was_read_is_no_reason() -> None:
    found = last(OPUS, line(0, S, end("Q")), line(10, S, ("user", "Q", 200), end("Q2", 90)))
    assert told(found) == (None, {"new_content": 90})


def test_another_question_after_a_prefix_that_was_read_whole_is_new_content() -> None:
    found = last(OPUS, line(0, S5, end("Q")), line(10, S5, end("other", 90)))
    assert told(found) == (None, {"new_content": 90})


def test_text_behind_the_last_marker_is_the_uncached_tail() -> None:
    found = last(OPUS, line(0, S5), line(10, S5, ("user", "Q", 200)))
    assert told(found) == (None, {"uncached_tail": 200})


def test_without_a_marker_caching_was_not_requested() -> None:
    assert told(last(OPUS, line(0, S))) == ("not_requested", {"not_requested": 6000})


@pytest.mark.parametrize("scenario", [OPUS, f"{OPUS},mark=none"])
def test_not_requested_goes_before_every_other_reason(scenario: str) -> None:
    found = last(scenario, line(0, S, ("user", "Q", 9)), line(10, S, ("user", "Q", 9)))
    assert told(found) == ("not_requested", {"not_requested": 6009})


def test_a_prefix_below_the_minimum() -> None:
    found = last(OPUS, line(0, ("system", "S", 511, "5m"), ("user", "Q", 89)))
    assert told(found) == ("below_minimum", {"below_minimum": 511, "uncached_tail": 89})


FIVE = [("user", f"U{n}", 1000, "5m") for n in range(5)]


@pytest.mark.parametrize(
    ("prompt", "keys"),
    [
        (FIVE, {}),
        ([("user", "U", 1000, "5m"), ("user", "V", 1000, "1h")], {}),
        ([S5], {"status": "rejected"}),
    ],
    ids=["five markers", "1h after 5m", "the log says so"],
)
def test_a_rejected_request_has_no_tokens_no_charge_and_one_row_of_misses(
    prompt: list[Item], keys: dict[str, Any]
) -> None:
    found = last(OPUS, line(0, *prompt, output=50, **keys))
    assert found.status == "rejected"
    assert (found.usage.prompt_tokens, found.usage.output, found.hit_tokens) == (0, 0, 0)
    assert (found.charge, found.low, found.high) == (0, 0, 0)
    assert list(found.misses.values()) == [0]


def test_five_markers_are_named_too_many_markers() -> None:
    assert told(last(OPUS, line(0, *FIVE))) == ("too_many_markers", {"too_many_markers": 0})


def test_an_aborted_request_costs_anything_between_nothing_and_everything() -> None:
    found = last(OPUS, line(0, S5, ttft=None))
    assert found.status == "aborted"
    assert (found.low, found.high) == (0, 6000 * 6_250_000)


EARLIER = [
    pytest.param({"ttft": 20}, 10, "concurrent_with_writer", id="its writer has not answered"),
    pytest.param({"ttft": None}, 10, "aborted_writer", id="its writer never answered"),
    pytest.param({"ttft": 1}, 301, "ttl_expired", id="it lived too short"),
]


@pytest.mark.parametrize(("keys", "at", "reason"), EARLIER)
def test_the_entry_for_this_very_prefix_was_there(
    keys: dict[str, Any], at: float, reason: str
) -> None:
    found = last(OPUS, line(0, S, end("Q"), **keys), line(at, S, end("Q")))
    assert told(found) == (reason, {reason: 6200})


@pytest.mark.parametrize(("keys", "at", "reason"), EARLIER)
def test_what_follows_such_an_entry_is_new_content(
    keys: dict[str, Any], at: float, reason: str
) -> None:
    found = last(OPUS, line(0, S, end("Q"), **keys), line(at, S, ("user", "Q", 200), end("Q2", 70)))
    assert told(found) == (reason, {reason: 6200, "new_content": 70})


def test_an_entry_too_many_positions_back() -> None:
    between = [("user", f"F{n}", 10) for n in range(19)]
    found = last(OPUS, line(0, S5), line(10, S, *between, end("Q")))
    assert told(found) == ("lookback_exceeded", {"lookback_exceeded": 6000, "new_content": 390})


def test_an_entry_that_is_both_too_old_and_too_far_back_expired() -> None:
    # no marker could have saved it: the lifetime is judged first
    between = [("user", f"F{n}", 10) for n in range(19)]
    found = last(OPUS, line(0, S5), line(301, S, *between, end("Q")))
    assert found.reason == "ttl_expired"


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"model": "other"}, "model_changed"),
        ({"account": "b"}, "account_changed"),
        ({"host": "bedrock"}, "host_changed"),
    ],
)
@pytest.mark.parametrize("scenario", [OPUS, SOL, "gpt-5.4", FLASH])
def test_the_same_prefix_in_another_scope(
    scenario: str, other: dict[str, Any], reason: str
) -> None:
    prompt = [S, ("user", "Q", 2192, "5m")]  # 8,192 = 64 x 128
    found = last(scenario, line(0, *prompt), line(10, *prompt, **other))
    assert told(found) == (reason, {reason: 8192})


def test_a_request_routed_to_another_machine() -> None:
    found = last(f"{SOL},overflow=1", line(0, S, ("user", "Q", 9)), line(10, S, ("user", "Q", 9)))
    assert told(found) == ("routed_elsewhere", {"routed_elsewhere": 6009})


def test_a_unit_that_is_not_contained_whole() -> None:
    found = last(FLASH, line(0, S, ("user", "Q1", 50)), line(60, S, ("user", "Q2", 60)))
    assert told(found) == ("unit_incomplete", {"unit_incomplete": 6000, "new_content": 60})


def test_block_rounding_of_a_whole_read_is_no_reason() -> None:
    prompt = [("user", "Q", 6000)]
    found = last("gpt-5.4", line(0, *prompt), line(10, *prompt))
    assert told(found) == (None, {"block_rounding": 6000 - 46 * 128})


def test_results_come_in_log_order_whatever_the_order_of_first_tokens() -> None:
    lines = [line(n, S5, ttft=30 - 10 * n) for n in range(3)]
    assert [result.request_id for result in play(OPUS, *lines)] == ["1", "2", "3"]


def test_a_pending_shorter_entry_is_told_apart_from_an_expired_longer_one() -> None:
    # had the second already answered, the third would have read S: only Q1 is too old
    lines = [
        line(0, S5, end("Q1")),
        line(301, S5, end("other"), ttft=20),
        line(310, S5, end("Q1")),
    ]
    expected = {"concurrent_with_writer": 6000, "ttl_expired": 200}
    assert told(last(OPUS, *lines)) == ("concurrent_with_writer", expected)
    answered = [lines[0], lines[1] | {"ttft": 1}, lines[2]]
    assert told(last(OPUS, *answered)) == ("ttl_expired", {"ttl_expired": 200})
