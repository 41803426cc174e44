"""The same causes under every family of rules: the reason does not depend on who bills."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rule_sketches import Item, Line, Result, last, line

OPUS, SOL, OLD, FLASH = "claude-opus-5", "gpt-6-sol", "gpt-5.4", "deepseek-flash"
FAMILIES = [OPUS, SOL, OLD, FLASH]
T1: Item = ("tools", "T1", 1280)
T2: Item = ("tools", "T2", 640)
SYS: Item = ("system", "sys", 2560)


def question(name: str) -> Item:
    """A user message with a marker, 256 = 2 x 128 tokens."""
    return ("user", name, 256, "5m")


WHOLE = 1280 + 640 + 2560 + 256


def told(result: Result) -> tuple[str | None, dict[str, int]]:
    return result.reason, dict(result.misses)


@pytest.mark.parametrize("scenario", FAMILIES)
@pytest.mark.parametrize(
    ("keys", "at", "reason"),
    [
        pytest.param({"ttft": 20}, 10, "concurrent_with_writer", id="no answer yet"),
        pytest.param({"ttft": None}, 10, "aborted_writer", id="never answered"),
        pytest.param({"ttft": 1}, 30 * 86_400, "ttl_expired", id="a month ago"),
    ],
)
def test_an_entry_for_this_very_prefix_was_there(
    keys: dict[str, Any], at: float, reason: str, scenario: str
) -> None:
    prompt = [T1, T2, SYS, question("Q")]
    found = last(scenario, line(0, *prompt, **keys), line(at, *prompt))
    assert told(found) == (reason, {reason: WHOLE})


def test_a_unit_that_is_still_being_built_is_concurrent_with_its_writer() -> None:
    prompt = [SYS, question("Q")]
    found = last(FLASH, line(0, *prompt, ttft=1), line(2, *prompt))
    assert told(found) == ("concurrent_with_writer", {"concurrent_with_writer": 2816})


CHANGES: list[tuple[list[Item], str]] = [
    ([T2, T1, SYS, question("Q")], "tools_reordered"),
    ([("tools", "T3", 1300), T2, SYS, question("Q")], "tools_changed"),
]


@pytest.mark.parametrize("scenario", FAMILIES)
@pytest.mark.parametrize(("now", "reason"), CHANGES)
def test_changed_tools_in_front(now: list[Item], reason: str, scenario: str) -> None:
    found = last(scenario, line(0, T1, T2, SYS, question("Q")), line(60, *now))
    assert told(found) == (reason, {reason: sum(item[2] for item in now)})


@pytest.mark.parametrize("scenario", FAMILIES)
def test_a_volatile_value_in_front(scenario: str) -> None:
    def clock(text: str) -> Item:
        return ("system", text, 128, None, {"masked": "clock"})

    found = last(
        scenario,
        line(0, clock("12:00"), SYS, question("Q")),
        line(60, clock("12:01"), SYS, question("Q")),
    )
    assert told(found) == ("volatile_value", {"volatile_value": 128 + 2560 + 256})


@pytest.mark.parametrize("scenario", FAMILIES)
def test_a_cold_start(scenario: str) -> None:
    found = last(scenario, line(0, SYS, question("Q")), line(60, T1, question("else")))
    first = last(scenario, line(0, SYS, question("Q")))
    assert told(first) == ("cold_start", {"cold_start": 2816})
    assert found.reason in ("tools_changed", "cold_start")  # the session had other tools


@pytest.mark.parametrize("scenario", FAMILIES)
def test_appending_to_what_was_read_is_new_content(scenario: str) -> None:
    before: list[Item] = [SYS, ("user", "Q", 256, "5m")]
    found = last(scenario, line(0, *before), line(60, *before, question("more")))
    assert (found.read, found.reason, found.misses) == (2816, None, {"new_content": 256})


@pytest.mark.parametrize(("requests", "named"), [(15, False), (16, True)])
def test_minutes_above_fifteen_requests_are_counted_and_named(
    requests: int, named: bool, run_cli: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    # design §6: overflow is off by default; such minutes are named as candidates
    log = tmp_path / "log.jsonl"
    lines: list[Line] = [line(n, SYS, question("Q")) for n in range(requests)]
    log.write_text("".join(json.dumps(entry) + "\n" for entry in lines))
    _, out, _ = run_cli("bill", log, "--as", SOL, "--json")
    (found,) = json.loads(out)["scenarios"]
    assert found["usage"]["cache_read"] == (requests - 1) * 2816
    assert any("overflow" in text for text in found["assumptions"]) is named


@pytest.mark.parametrize(("scenario", "step"), [("gpt-5.5", 2048), (OLD, 128)])
@pytest.mark.parametrize(
    ("keys", "at", "reason"),
    [({"ttft": 50}, 2, "concurrent_with_writer"), ({"ttft": None}, 2, "aborted_writer")],
)
def test_a_pending_longer_prompt_explains_exactly_what_it_would_have_given(
    keys: dict[str, Any], at: float, reason: str, scenario: str, step: int
) -> None:
    short: list[Item] = [("user", "a", 5000)]
    whole: list[Item] = [*short, ("user", "b", 5000)]
    found = last(scenario, line(0, *short), line(1, *whole, **keys), line(at, *whole))
    read, possible = 5000 // step * step, 10_000 // step * step
    assert found.read == read
    assert told(found) == (reason, {reason: possible - read, "block_rounding": 10_000 - possible})
