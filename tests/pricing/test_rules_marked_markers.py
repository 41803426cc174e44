"""Marked boundaries: markers taken, refused or added, and how their lifetimes are billed."""

from typing import Any

import pytest
from rule_sketches import Item, Result, last, line, play, reads

OPUS = "claude-opus-5"
THINKING = {"kind": "thinking"}


def only(*prompt: Item, scenario: str = OPUS, **keys: Any) -> Result:
    (result,) = play(scenario, line(0, *prompt, **keys))
    return result


def marked(*ttls: str | None) -> list[Item]:
    return [("user", f"U{n}", 1000, ttl) for n, ttl in enumerate(ttls)]


def writes(result: Result) -> tuple[int, int, int, int]:
    """(read, 1h write, 5m write, fresh): A, B - A, C - B and the rest."""
    usage = result.usage
    return usage.cache_read, usage.cache_write_1h, usage.cache_write_5m, usage.fresh


def test_four_markers_are_accepted_and_cost_nothing_by_themselves() -> None:
    assert writes(only(*marked("5m", "5m", "5m", "5m"))) == (0, 0, 4000, 0)


@pytest.mark.parametrize(
    "prompt",
    [marked("5m", "5m", "5m", "5m", "5m"), marked("5m", "1h"), marked("1h", "5m", "1h")],
    ids=["five markers", "1h after 5m", "1h after 5m after 1h"],
)
def test_markers_that_the_provider_refuses(prompt: list[Item]) -> None:
    result = only(*prompt)
    assert (result.status, result.reason in ("rejected", "too_many_markers")) == ("rejected", True)
    assert result.usage.prompt_tokens == 0
    assert result.charge == 0
    assert list(result.misses.values()) == [0]


def test_a_refused_request_writes_and_refreshes_nothing() -> None:
    lines = [
        line(0, *marked("5m")),
        line(200, *marked("5m", "5m", "5m", "5m", "5m")),
        line(301, *marked("5m")),
    ]
    assert reads(OPUS, *lines) == [0, 0, 0]


def test_1h_before_5m_is_accepted() -> None:
    assert writes(only(*marked("1h", None, "5m", None))) == (0, 1000, 2000, 1000)


def test_ttl_for_all_markers_also_settles_their_order() -> None:
    assert writes(only(*marked("5m", "1h"), scenario=f"{OPUS},ttl=1h")) == (0, 2000, 0, 0)


SPLIT = [
    # earlier request, this one, (read A, 1h write B - A, 5m write C - B, fresh)
    pytest.param(("1h",), ("1h", "1h", "5m", None), (1000, 1000, 1000, 1000), id="A < B < C"),
    pytest.param(("1h", "1h"), ("1h", "1h", "5m", None), (2000, 0, 1000, 1000), id="A = B"),
    pytest.param(("1h", "1h", "5m"), ("1h", None, "5m", "5m"), (3000, 0, 1000, 0), id="B < A"),
    pytest.param(("1h", "5m"), ("1h", "5m", None), (2000, 0, 0, 1000), id="A = C"),
    pytest.param((), ("1h", None, "1h"), (0, 3000, 0, 0), id="no 5m marker"),
]


@pytest.mark.parametrize(("earlier", "now", "expected"), SPLIT)
def test_the_split_between_reads_and_writes_of_both_lifetimes(
    earlier: tuple[str | None, ...], now: tuple[str | None, ...], expected: tuple[int, ...]
) -> None:
    lines = [line(10, *marked(*now))]
    if earlier:
        lines.insert(0, line(0, *marked(*earlier)))
    assert writes(last(OPUS, *lines)) == expected


@pytest.mark.parametrize(("upgrade", "read"), [("", 0), (",upgrade=off", 0), (",upgrade=on", 1000)])
def test_a_1h_marker_that_reads_a_5m_entry_upgrades_it_only_if_asked(
    upgrade: str, read: int
) -> None:
    lines = [line(0, *marked("5m")), line(10, *marked("1h")), line(10 + 301, *marked("1h"))]
    assert reads(OPUS + upgrade, *lines) == [0, 1000, read]


def test_a_5m_marker_that_reads_a_1h_entry_leaves_it_its_hour() -> None:
    lines = [line(0, *marked("1h")), line(10, *marked("5m")), line(10 + 3600, *marked("5m"))]
    assert reads(OPUS, *lines) == [0, 1000, 1000]


def test_automatic_mode_marks_the_last_block() -> None:
    assert writes(only(*marked(None, None), cache="auto")) == (0, 0, 2000, 0)
    assert writes(only(*marked(None, None), cache="auto:1h")) == (0, 2000, 0, 0)


def test_automatic_mode_changes_nothing_where_the_last_block_has_that_marker() -> None:
    assert writes(only(*marked(None, "5m"), cache="auto")) == (0, 0, 2000, 0)


def test_automatic_mode_uses_one_of_the_four_slots() -> None:
    assert writes(only(*marked("5m", "5m", "5m", None), cache="auto")) == (0, 0, 4000, 0)


@pytest.mark.parametrize(
    ("prompt", "mode"),
    [
        pytest.param(marked(None, "1h"), "auto", id="another lifetime on that block"),
        pytest.param(marked(None, "5m"), "auto:1h", id="the other way round"),
        pytest.param(marked("5m", "5m", "5m", "5m", None), "auto", id="four explicit ones"),
        pytest.param(marked("5m", None), "auto:1h", id="1h at the end after 5m"),
    ],
)
def test_automatic_mode_is_refused(prompt: list[Item], mode: str) -> None:
    assert only(*prompt, cache=mode).status == "rejected"


def test_automatic_mode_walks_back_to_a_block_that_can_hold_a_marker() -> None:
    result = only(*marked(None, None), ("assistant", "thought", 500, None, THINKING), cache="auto")
    assert writes(result) == (0, 0, 2000, 500)


def test_automatic_mode_without_such_a_block_skips_caching() -> None:
    result = only(("assistant", "thought", 5000, None, THINKING), cache="auto")
    assert (result.status, *result.split) == ("ok", 0, 0, 5000)


def test_a_marker_on_a_thinking_block_is_refused() -> None:
    assert only(("assistant", "thought", 5000, "5m", THINKING)).status == "rejected"


def test_thinking_blocks_inside_the_prefix_are_cached_with_it() -> None:
    prompt = [("assistant", "thought", 500, None, THINKING), *marked("5m")]
    assert reads(OPUS, line(0, *prompt), line(10, *prompt)) == [0, 1500]


SKETCH = [("tools", "T", 600), ("system", "S", 900), ("user", "Q", 1000), ("assistant", "A", 50)]


@pytest.mark.parametrize(
    ("policy", "written", "second_read"),
    [
        ("log", 0, 0),
        ("none", 0, 0),
        ("last", 2550, 0),
        ("system+last", 2550, 1500),
        ("auto", 2550, 1500),
    ],
)
def test_a_policy_stands_in_for_the_log_s_markers(
    policy: str, written: int, second_read: int
) -> None:
    other = [*SKETCH[:2], ("user", "another", 1100)]
    first, second = play(f"{OPUS},mark={policy}", line(0, *SKETCH), line(10, *other))
    assert (first.written, second.read) == (written, second_read)


def test_openai_breakpoints_are_no_markers_unless_translated() -> None:
    prompt = marked("breakpoint", None)
    assert only(*prompt).split == (0, 0, 2000)
    assert writes(only(*prompt, scenario=f"{OPUS},mark=translate")) == (0, 0, 1000, 1000)


def test_a_prewarm_writes_at_its_marker_and_puts_nothing_out() -> None:
    first, second = play(
        OPUS,
        line(0, ("system", "S", 5120, "5m"), ("user", "hi", 8), prewarm=True, output=0),
        line(10, ("system", "S", 5120, "5m"), ("user", "Q", 100), output=40),
    )
    assert writes(first) == (0, 0, 5120, 8)
    assert writes(second) == (5120, 0, 0, 100)
    assert (first.usage.output, second.usage.output) == (0, 40)
