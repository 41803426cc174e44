"""Interval boundaries (OpenAI 5.5 and older): steps, rounding, hidden tokens, minimum, lifetime."""

from typing import Any

import pytest
from rule_sketches import Item, last, line, play, reads

NEW, OLD = "gpt-5.5", "gpt-5.4"


def shared(tokens: int, scenario: str, tail: int = 777) -> int:
    """What is read of a common prefix of so many tokens by a prompt with another ending."""
    lines = [
        line(0, ("developer", "D", tokens), ("user", "Q1", tail)),
        line(10, ("developer", "D", tokens), ("user", "Q2", tail)),
    ]
    return last(scenario, *lines).read


@pytest.mark.parametrize(
    ("tokens", "read"), [(2047, 0), (2048, 2048), (4095, 2048), (4096, 4096), (6143, 4096)]
)
def test_gpt_5_5_has_a_breakpoint_every_2048_tokens(tokens: int, read: int) -> None:
    assert shared(tokens, NEW) == read
    assert shared(tokens, "gpt-5.5-pro") == read


@pytest.mark.parametrize(
    ("hidden", "read"),
    [(0, 4096), (1, 3968), (128, 3968), (129, 3840), (1023, 3072), (1024, 6144 - 1024)],
)
def test_breakpoints_count_from_the_hidden_text_which_is_taken_off_before_rounding(
    hidden: int, read: int
) -> None:
    # 5,120 visible: floor((5120 + hidden) / 2048) * 2048 - hidden, floored to 128
    assert shared(5120, f"{NEW},hidden={hidden}") == read


@pytest.mark.parametrize(
    ("tokens", "read"), [(1023, 0), (1024, 1024), (1151, 1024), (1152, 1152), (5000, 39 * 128)]
)
def test_older_models_read_multiples_of_128_from_1024_on(tokens: int, read: int) -> None:
    assert shared(tokens, OLD) == read


def test_a_whole_repeat_is_rounded_down_too() -> None:
    prompt = [("user", "Q", 5000)]
    second = last(OLD, line(0, *prompt), line(10, *prompt))
    assert second.split == (4992, 0, 8)
    assert (second.reason, second.misses) == (None, {"block_rounding": 8})


def test_nothing_is_ever_billed_as_written() -> None:
    for result in play(OLD, line(0, ("user", "Q", 5000)), line(10, ("user", "Q", 5000))):
        assert result.written == 0


def test_any_earlier_prompt_of_the_scope_serves_not_only_the_last() -> None:
    d: Item = ("developer", "D", 2000)
    lines = [
        line(0, d, ("user", "long", 3000)),
        line(10, ("developer", "else", 2500)),
        line(20, d, ("user", "long", 3000), ("user", "more", 100)),
    ]
    assert reads(OLD, *lines) == [0, 0, 4992]


def test_a_prompt_without_any_common_block_reads_nothing() -> None:
    assert reads(OLD, line(0, ("user", "A", 3000)), line(10, ("user", "B", 3000))) == [0, 0]


@pytest.mark.parametrize(("at", "read"), [(0.999999, 0), (1, 2944)])
def test_a_prompt_is_stored_when_its_response_starts(at: float, read: int) -> None:
    prompt = [("user", "Q", 3000)]
    assert reads(OLD, line(0, *prompt, ttft=1), line(at, *prompt)) == [0, read]


@pytest.mark.parametrize(
    ("scenario", "idle"), [("gpt-4o", 300), ("gpt-5.4", 1800), ("gpt-5.5", 1800)]
)
def test_the_lower_end_of_the_stated_idle_life_always_hits(scenario: str, idle: int) -> None:
    # in_memory: 5 to 10 minutes idle; 24h: typically about 30 minutes
    prompt = [("user", "Q", 4096)]
    lines = [line(0, *prompt), line(idle, *prompt), line(2 * idle, *prompt)]
    assert reads(scenario, *lines) == [0, 4096, 4096]


def test_grace_prolongs_it() -> None:
    prompt = [("user", "Q", 4096)]
    lines = [line(0, *prompt), line(600, *prompt)]
    assert reads("gpt-4o", *lines) == [0, 0]
    assert reads("gpt-4o,grace=300", *lines) == [0, 4096]


@pytest.mark.parametrize(
    "other",
    [
        {"account": "b"}, {"model": "other"}, {"host": "azure"},
        {"settings": {"reasoning.effort": "high"}},
        {"settings": {"text.verbosity": "low"}}, {"settings": {"parallel_tool_calls": False}},
    ],
    ids=lambda other: str(other),
)  # fmt: skip
def test_scopes_and_settings_do_not_share(other: dict[str, Any]) -> None:
    prompt = [("user", "Q", 4096)]
    assert reads(OLD, line(0, *prompt), line(10, *prompt, **other)) == [0, 0]


def test_the_cache_key_influences_routing_only() -> None:
    prompt = [("user", "Q", 4096)]
    keyed = {"settings": {"prompt_cache_key": "k"}}
    assert reads(OLD, line(0, *prompt), line(10, *prompt, **keyed)) == [0, 4096]


def test_modes_and_anthropic_markers_change_nothing() -> None:
    prompt = [("user", "Q", 4096, "5m")]
    assert reads(OLD, line(0, *prompt), line(10, *prompt)) == [0, 4096]


def test_an_explicit_breakpoint_is_refused_by_a_model_before_5_6() -> None:
    assert last(OLD, line(0, ("user", "Q", 4096, "breakpoint"))).status == "rejected"


def test_the_reads_of_each_generation_are_priced_at_its_own_discount() -> None:
    prompt = [("user", "Q", 1024)]
    second = last("gpt-4o", line(0, *prompt), line(10, *prompt))
    assert second.charge == 1024 * 1_250_000  # 1.25 USD a million, half of 2.50
