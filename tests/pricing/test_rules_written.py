"""Written boundaries (OpenAI 5.6 and later): what is written, looked up, and for how long."""

from typing import Any

import pytest
from rule_sketches import Item, Line, last, line, play, reads

SOL = "gpt-6-sol"
D = ("developer", "D", 4000)
U = ("user", "U", 1000)


def user(name: str, tokens: int = 100, marker: str | None = None) -> Item:
    return ("user", name, tokens, marker)


def points(count: int, first: int = 1) -> list[Item]:
    """User messages with an explicit breakpoint each: P1, P2, …"""
    return [user(f"P{n}", 2000, "breakpoint") for n in range(first, first + count)]


def explicit(at: float, *prompt: Item) -> Line:
    return line(at, *prompt, cache="explicit")


def test_the_default_mode_is_implicit() -> None:
    for keys in ({}, {"cache": "implicit"}):
        (only,) = play(SOL, line(0, D, U, **keys))
        assert only.split == (0, 5000, 0)


def test_text_after_the_latest_eligible_message_is_neither_read_nor_written() -> None:
    prompt = [D, U, ("assistant", "A", 70)]
    first, second = play(SOL, line(0, *prompt), line(10, *prompt))
    assert (first.split, second.split) == ((0, 5000, 70), (5000, 0, 70))


ELIGIBLE = [
    pytest.param([D], 4000, id="the initial developer group alone"),
    pytest.param([D, ("developer", "D2", 300)], 4300, id="its last developer message"),
    pytest.param([D, U, ("developer", "late", 300)], 5000, id="not a later developer message"),
    pytest.param([D, U, ("assistant", "A", 50)], 5000, id="not an assistant message"),
    pytest.param(
        [D, U, ("assistant", "call", 50), ("tool", "R1", 60), ("tool", "R2", 70)],
        5000 + 50 + 60 + 70, id="the last tool response of a group",
    ),
    pytest.param(
        [D, ("user", "part one", 500), ("user", "part two", 600, None, {"join": True})],
        4000 + 500 + 600, id="the end of a message, not of its first block",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("prompt", "written"), ELIGIBLE)
def test_which_message_ends_the_implicit_prefix(prompt: list[Item], written: int) -> None:
    (only,) = play(SOL, line(0, *prompt))
    assert only.written == written


def test_inside_a_group_of_tool_responses_nothing_is_looked_up() -> None:
    call = ("assistant", "call", 50)
    lines = [
        line(0, D, U, call, ("tool", "R1", 60)),
        line(10, D, U, call, ("tool", "R1", 60), ("tool", "R2", 70)),
    ]
    # R1 was the last of its group when written; now R2 is, and nothing was written at U
    assert reads(SOL, *lines) == [0, 0]


@pytest.mark.parametrize(("visible", "written"), [(1023, 0), (1024, 1024)])
def test_the_minimum_is_1024_visible_tokens(visible: int, written: int) -> None:
    for scenario in (SOL, f"{SOL},hidden=3000"):
        (only,) = play(scenario, line(0, user("Q", visible)))
        assert only.split == (0, written, visible - written)


def test_counts_are_exact_and_not_rounded_to_128() -> None:
    lines = [line(0, user("Q", 3207)), line(10, user("Q", 3207))]  # BR-26
    assert [result.split for result in play(SOL, *lines)] == [(0, 3207, 0), (3207, 0, 0)]


def test_each_token_is_charged_once_as_read_or_written_or_fresh() -> None:
    # BR-27: a longer prefix is written beyond what was read only
    lines = [
        line(0, user("old", 2000)),
        line(10, user("old", 2000), user("new", 400), ("assistant", "tail", 200)),
    ]
    second = last(SOL, *lines)
    assert second.split == (2000, 400, 200)
    assert second.charge == 2000 * 200_000 + 400 * 2_500_000 + 200 * 2_000_000


@pytest.mark.parametrize(("later", "read"), [(20, 1100), (21, 0)])
def test_twenty_earlier_message_endings_are_looked_up(later: int, read: int) -> None:
    first = user("first", 1100)
    turn = [first, *(user(f"M{n}") for n in range(later))]  # the last of them is the implicit one
    assert last(SOL, line(0, first), line(10, *turn)).read == read


def test_the_end_of_the_initial_developer_block_is_looked_up_at_any_distance() -> None:
    turn = [D, *(user(f"M{n}") for n in range(30))]
    assert last(SOL, line(0, D, prewarm=True), line(10, *turn)).read == 4000


LOOKUPS = [
    # breakpoints in the prompt, `lookup`, what is read of the entries at 1, 2 and 3
    (52, "2+50", 3), (53, "2+50", 2), (102, "2+50", 2),
    (52, "50", 3), (53, "50", 0),
    (82, "80", 3), (83, "80", 0),
]  # fmt: skip


@pytest.mark.parametrize(("count", "lookup", "found"), LOOKUPS)
def test_which_explicit_breakpoints_are_looked_up(count: int, lookup: str, found: int) -> None:
    turn = explicit(10, *points(count))
    scenario = f"{SOL},lookup={lookup}"
    assert last(scenario, explicit(0, *points(3)), turn).read == found * 2000


def test_2_plus_50_is_the_default() -> None:
    assert last(SOL, explicit(0, *points(3)), explicit(10, *points(53))).read == 4000


@pytest.mark.parametrize(("mode", "kept"), [("explicit", [3, 4, 5, 6]), ("implicit", [4, 5, 6])])
def test_the_latest_four_or_beside_the_implicit_one_the_latest_three_are_written(
    mode: str, kept: list[int]
) -> None:
    found = []
    for n in range(1, 7):
        first = line(0, *points(6), user("end"), cache=mode)
        if explicit_read := last(SOL, first, explicit(10, *points(n))).read:
            assert explicit_read == n * 2000
            found.append(n)
    assert found == kept


def test_breakpoints_of_earlier_turns_only_serve_reads() -> None:
    # five breakpoints, the first is not among the latest four: read, and not written again
    first = explicit(0, *points(1))
    results = play(SOL, first, explicit(10, *points(5)))
    assert results[1].split == (2000, 8000, 0)


def test_explicit_mode_without_a_breakpoint_does_not_even_read() -> None:
    lines = [line(0, D, U), explicit(10, D, U)]
    second = last(SOL, *lines)
    assert (second.split, second.reason) == ((0, 0, 5000), "not_requested")


def test_the_mode_may_also_stand_among_the_settings() -> None:
    (only,) = play(SOL, line(0, D, U, settings={"prompt_cache_options.mode": "explicit"}))
    assert (only.split, only.reason) == ((0, 0, 5000), "not_requested")


@pytest.mark.parametrize(
    ("at", "keys"),
    [(43_200, {"settings": {"prompt_cache_options.ttl": "12h"}}), (1800, {})],
    ids=["12h", "none"],
)
def test_the_lifetime_may_stand_among_the_settings(at: float, keys: dict[str, Any]) -> None:
    lines = [line(0, D, U, **keys), line(at, D, U, **keys), line(2 * at + 1, D, U, **keys)]
    assert reads("gpt-6.1-terra", *lines) == [0, 5000, 0]


def test_a_breakpoint_on_a_tool_definition_is_refused() -> None:
    assert last(SOL, line(0, ("tools", "T", 2000, "breakpoint"), U)).status == "rejected"


@pytest.mark.parametrize(("at", "read"), [(1800, 5000), (1800.000001, 0)])
def test_an_entry_lives_thirty_minutes(at: float, read: int) -> None:
    assert reads(SOL, line(0, D, U), line(at, D, U)) == [0, read]


@pytest.mark.parametrize(("at", "read"), [(3300, 5000), (3300.000001, 0)])
def test_reuse_starts_the_thirty_minutes_again(at: float, read: int) -> None:
    lines = [line(0, D, U), line(1500, D, U), line(at, D, U)]
    assert reads(SOL, *lines) == [0, 5000, read]


@pytest.mark.parametrize(("at", "read"), [(43_200, 5000), (43_200.000001, 0)])
def test_a_model_with_the_twelve_hour_tier_keeps_it_twelve_hours(at: float, read: int) -> None:
    first, second = play("gpt-6.1-terra,ttl=12h", line(0, D, U), line(at, D, U))
    assert (first.usage.cache_write_12h, first.usage.cache_write_30m) == (5000, 0)
    assert first.charge == 5000 * 2_500_000
    assert second.read == read


@pytest.mark.parametrize(("at", "read"), [(0.999999, 0), (1, 5000)])
def test_an_entry_is_readable_when_its_writer_s_response_starts(at: float, read: int) -> None:
    assert reads(SOL, line(0, D, U, ttft=1), line(at, D, U, ttft=1)) == [0, read]


KEYED: list[tuple[str, Any]] = [
    ("prompt_cache_key", "k"),
    ("parallel_tool_calls", False),
    ("text.format", {"type": "json_schema", "name": "x"}),
    ("reasoning.effort", "high"),
    ("text.verbosity", "low"),
    ("context_management", [{"type": "compaction"}]),
]
UNKEYED: list[tuple[str, Any]] = [
    ("tool_choice", "none"),
    ("tool_choice", {"type": "allowed_tools", "tools": []}),
    ("max_output_tokens", 5),
    ("temperature", 0),
    ("store", False),
]


@pytest.mark.parametrize(("name", "value"), KEYED)
def test_settings_that_change_the_key(name: str, value: Any) -> None:
    lines = [line(0, D, U), line(10, D, U, settings={name: value})]
    assert reads(SOL, *lines, lines[1] | {"at": 20}) == [0, 0, 5000]


@pytest.mark.parametrize(("name", "value"), UNKEYED)
def test_settings_that_do_not(name: str, value: Any) -> None:
    assert reads(SOL, line(0, D, U), line(10, D, U, settings={name: value})) == [0, 5000]


@pytest.mark.parametrize(
    "other",
    [{"account": "b"}, {"model": "other"}, {"host": "azure"}],
    ids=["organization", "model", "platform"],
)
def test_scopes_do_not_share(other: dict[str, str]) -> None:
    assert reads(SOL, line(0, D, U), line(10, D, U, **other)) == [0, 0]


def test_changed_tools_lose_everything() -> None:
    lines = [line(0, ("tools", "T", 900), D, U), line(10, ("tools", "T2", 901), D, U)]
    assert reads(SOL, *lines) == [0, 0]


def test_no_partial_match_of_a_longest_common_prefix() -> None:
    assert reads(SOL, line(0, D, U), line(10, D, user("V", 1000))) == [0, 0]


def test_a_prewarm_writes_at_the_write_price_and_puts_nothing_out() -> None:
    first, second = play(SOL, line(0, D, prewarm=True, output=0), line(10, D, U, output=10))
    assert (first.split, first.usage.output) == ((0, 4000, 0), 0)
    assert first.charge == 4000 * 2_500_000
    assert second.split == (4000, 1000, 0)


@pytest.mark.parametrize(("limit", "read"), [("off", 5000), (1, 0), (2, 5000)])
def test_traffic_above_the_overflow_setting_meets_another_machine(limit: object, read: int) -> None:
    lines = [line(0, D, U), line(30, D, U)]
    second = last(f"{SOL},overflow={limit}", *lines)
    assert second.read == read
    assert read or second.reason == "routed_elsewhere"


def test_overflow_is_off_by_default() -> None:
    results = play(SOL, *(line(n, D, U) for n in range(20)))
    assert [result.read for result in results] == [0] + [5000] * 19


def test_anthropic_markers_are_no_breakpoints_unless_translated() -> None:
    lines = [
        line(n, ("system", "D", 4000, "5m"), user(f"Q{n}", 1000), cache="explicit")
        for n in range(2)
    ]
    assert reads(SOL, *lines) == [0, 0]
    assert reads(f"{SOL},mark=translate", *lines) == [0, 4000]
