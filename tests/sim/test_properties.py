"""What must hold for every log: conservation, classes, causality, lifetimes, determinism, work."""

from typing import Any

import pytest
import simpy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rule_sketches import Line, line, play
from sim.sketch_strategies import FIRST_TOKENS, UNKNOWN, sketches

SCENARIOS = [
    "claude-opus-5",
    "claude-opus-5,mark=system+last,ttl=1h",
    "claude-opus-5,lookback=3,group_tools=off,upgrade=on,grace=5",
    "gpt-6-sol",
    "gpt-6-sol,mark=translate,overflow=2,tail=20,hidden=30",
    "gpt-5.5,hidden=100",
    "gpt-5.4",
    "deepseek-flash",
    "deepseek-flash,unit=64,build_delay=0",
    "deepseek-flash,interval=100,output_units=off",
    "log",
]
logs = sketches(first_tokens=(*FIRST_TOKENS, None, UNKNOWN))
few = settings(max_examples=25)  # each one writes and reads a file
scenarios = st.sampled_from(SCENARIOS)


def prompt_tokens(entry: Line) -> int:
    return sum(item[2] for item in entry["prompt"])


@few
@given(scenarios, logs)
def test_every_request_ends_exactly_once_and_in_log_order(scenario: str, lines: list[Line]) -> None:
    ids = [result.request_id for result in play(scenario, *lines)]
    assert ids == [str(n) for n in range(1, len(lines) + 1)]


@few
@given(scenarios, logs)
def test_the_classes_sum_to_the_prompt_and_the_misses_to_what_was_not_read(
    scenario: str, lines: list[Line]
) -> None:
    for entry, result in zip(lines, play(scenario, *lines), strict=True):
        expected = 0 if result.status == "rejected" else prompt_tokens(entry)
        assert result.usage.prompt_tokens == expected
        assert sum(result.misses.values()) == expected - result.read
        assert min(result.usage.as_dict().values()) >= 0
        assert result.read <= result.hit_tokens <= expected


@few
@given(scenarios, logs)
def test_a_reason_is_given_exactly_where_something_but_new_text_was_not_read(
    scenario: str, lines: list[Line]
) -> None:
    harmless = {"new_content", "block_rounding", "uncached_tail"}
    for result in play(scenario, *lines):
        assert (result.reason is None) == (set(result.misses) <= harmless)
        assert result.reason is None or result.reason in result.misses


@few
@given(scenarios, logs, st.data())
def test_a_result_does_not_depend_on_later_requests(
    scenario: str, lines: list[Line], data: st.DataObject
) -> None:
    kept = data.draw(st.integers(1, len(lines)))
    assert play(scenario, *lines)[:kept] == play(scenario, *lines[:kept])


@few
@given(scenarios, logs)
def test_the_same_log_gives_the_same_results(scenario: str, lines: list[Line]) -> None:
    assert play(scenario, *lines) == play(scenario, *lines)


@few
@given(st.sampled_from(["", ",mark=last", ",mark=system+last", ",lookback=3"]), logs)
def test_a_longer_life_never_lowers_what_a_request_reads(keys: str, lines: list[Line]) -> None:
    short = play(f"claude-opus-5,ttl=5m{keys}", *lines)
    long = play(f"claude-opus-5,ttl=1h{keys}", *lines)
    for less, more in zip(short, long, strict=True):
        assert less.read <= more.read


@few
@given(st.sampled_from([s for s in SCENARIOS if s != "log"]), logs, st.integers(0, 4000))
def test_grace_never_lowers_what_a_request_reads(
    scenario: str, lines: list[Line], grace: int
) -> None:
    without = play(scenario.replace(",grace=5", ""), *lines)
    granted = play(f"{scenario.replace(',grace=5', '')},grace={grace}", *lines)
    for less, more in zip(without, granted, strict=True):
        assert less.read <= more.read


@few
@given(scenarios, logs)
def test_accounts_do_not_see_each_other(scenario: str, lines: list[Line]) -> None:
    own = [entry for entry in lines if entry["account"] == "a"]
    assume(own)
    pairs = zip(lines, play(scenario, *lines), strict=True)
    together = [result for entry, result in pairs if entry["account"] == "a"]
    alone = play(scenario, *own)
    assert [r.usage for r in together] == [r.usage for r in alone]


@few
@given(scenarios, logs)
def test_times_may_be_moved_as_a_whole(scenario: str, lines: list[Line]) -> None:
    # by whole minutes: OpenAI's overflow counts the requests of a calendar minute
    later = [entry | {"at": round(entry["at"] + 12_360, 6)} for entry in lines]
    assert play(scenario, *later) == play(scenario, *lines)


@settings(max_examples=20)
@given(scenarios, sketches(most=20))
def test_the_world_needs_at_most_two_events_a_request(scenario: str, lines: list[Line]) -> None:
    scheduled = 0
    original = simpy.Environment.schedule

    def counting(self: simpy.Environment, event: simpy.Event, *args: Any, **keys: Any) -> None:
        nonlocal scheduled
        scheduled += 1
        original(self, event, *args, **keys)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simpy.Environment, "schedule", counting)
        play(scenario, *lines)
    assert scheduled <= 2 * len(lines) + 2  # and the arrivals' own start and end


def test_the_second_of_two_simultaneous_requests_reads_an_entry_that_starts_at_once() -> None:
    prompt = [("system", "S", 6000, "5m")]
    first, second = play("claude-opus-5", line(5, *prompt, ttft=0), line(5, *prompt, ttft=0))
    assert (first.read, second.read) == (0, 6000)
