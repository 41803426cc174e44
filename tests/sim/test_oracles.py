"""The real rules against slow, obvious ones written from the fact sheet's pseudo-code."""

from hypothesis import given, settings
from hypothesis import strategies as st
from rule_sketches import Line, Result, play
from sim.sketch_strategies import sketches
from sim.slow_anthropic import SlowAnthropic
from sim.slow_deepseek import SlowDeepSeek
from sim.slow_interval import interval_reads
from sim.slow_openai import SlowOpenAI


def classes(result: Result) -> tuple[int, ...] | None:
    usage = result.usage
    if result.status == "rejected":
        return None
    return usage.cache_read, usage.cache_write_1h, usage.cache_write_5m, usage.fresh


@settings(max_examples=80)
@given(sketches(markers=("5m",)))
def test_anthropic_with_one_lifetime_and_overlapping_requests(lines: list[Line]) -> None:
    found = [classes(result) for result in play("claude-opus-5", *lines)]
    assert found == SlowAnthropic().usages(lines)


@settings(max_examples=80)
@given(sketches(gaps=(1, 1, 2, 20, 299, 300, 300.000001, 3600, 3600.000001), first_tokens=(0, 1)))
def test_anthropic_with_both_lifetimes_one_after_the_other(lines: list[Line]) -> None:
    found = [classes(result) for result in play("claude-opus-5", *lines)]
    assert found == SlowAnthropic().usages(lines)


@settings(max_examples=60)
@given(sketches(markers=("1h",), first_tokens=(0, 1, 20, None)))
def test_anthropic_with_a_short_look_back(lines: list[Line]) -> None:
    found = [classes(result) for result in play("claude-opus-5,lookback=3", *lines)]
    assert found == SlowAnthropic(lookback=3).usages(lines)


@settings(max_examples=80)
@given(
    sketches(markers=("breakpoint",), gaps=(0, 1, 1, 20, 1800, 1800.000001)),
    st.sampled_from([None, None, "explicit"]),
)
def test_openai_5_6_in_both_modes(lines: list[Line], mode: str | None) -> None:
    if mode is not None:
        lines = [entry | {"cache": mode} for entry in lines]
    found = [result.split for result in play("gpt-6-sol", *lines)]
    assert found == SlowOpenAI().usages(lines)


ANSWERS = {None: {}, "A0": {"answer": "A0", "output": 300}, "A1": {"answer": "A1", "output": 80}}


@settings(max_examples=80)
@given(
    sketches(markers=("5m", "breakpoint"), gaps=(5, 60, 300), first_tokens=(0, 1, None)),
    st.lists(st.sampled_from(list(ANSWERS)), min_size=10, max_size=10),
)
def test_deepseek_one_request_after_the_other(lines: list[Line], answers: list[str | None]) -> None:
    told = [entry | {"took": 2} | ANSWERS[a] for entry, a in zip(lines, answers, strict=False)]
    found = [result.read for result in play("deepseek-flash", *told)]
    assert found == SlowDeepSeek().reads(told)


@settings(max_examples=80)
@given(
    sketches(markers=("5m",), gaps=(0, 1, 1, 20, 100)),
    st.sampled_from([("gpt-5.4", 128, 0), ("gpt-5.5", 2048, 0), ("gpt-5.5", 2048, 700)]),
)
def test_openai_before_5_6(lines: list[Line], generation: tuple[str, int, int]) -> None:
    model, step, hidden = generation
    found = [result.read for result in play(f"{model},hidden={hidden}", *lines)]
    assert found == interval_reads(lines, step, hidden)
