"""Sequences with a known cause from public bug reports (bug-cases.md, group 3), by their ids.

The sizes are the reports' own where they are given.
"""

import pytest
from rule_sketches import Item, Result, last, line, play, reads

OPUS, FLASH = "claude-opus-5", "deepseek-flash"


def marked(section: str, name: str, tokens: int) -> Item:
    return (section, name, tokens, "5m")


def told(result: Result) -> tuple[str | None, dict[str, int]]:
    return result.reason, dict(result.misses)


def test_br_60_a_client_that_deletes_old_thinking_rewrites_its_history() -> None:
    system = marked("system", "S", 31_073)
    thoughts = [("assistant", f"T{n}", 400, None, {"kind": "thinking"}) for n in range(2)]
    steps = [("user", f"Q{n}", 1000) for n in range(3)]
    before = [system, steps[0], thoughts[0], steps[1], thoughts[1], ("user", "end", 10, "5m")]
    now = [system, steps[0], steps[1], ("user", "end", 10), marked("user", "next", 20)]
    found = last(OPUS, line(0, *before), line(30, *now))
    assert found.read == 31_073
    assert told(found) == ("history_rewritten", {"history_rewritten": 2010, "new_content": 20})
    later = last(OPUS, line(0, *before), line(331, *now))
    assert (later.read, later.reason) == (0, "ttl_expired")  # its step 44


def test_br_61_a_clock_at_offset_0_writes_every_turn_and_reads_never() -> None:
    def turn(n: int, tokens: int) -> list[Item]:
        clock = ("system", f"12:00:{14 * n}", 20, None, {"masked": "clock"})
        return [clock, marked("system", f"home {tokens}", tokens - 20), ("user", f"Q{n}", 3)]

    lines = [line(14 * n, *turn(n, tokens)) for n, tokens in enumerate((2504, 2192, 2192))]
    results = play(OPUS, *lines)
    assert [result.split for result in results] == [(0, 2504, 3), (0, 2192, 3), (0, 2192, 3)]
    assert results[2].reason == "volatile_value"
    off = play(f"{OPUS},mark=none", *lines)  # caching costs 1.25 times, off is cheaper
    assert sum(r.charge or 0 for r in off) < sum(r.charge or 0 for r in results)


def test_br_63_a_stable_prefix_that_is_still_being_built_is_not_a_changed_one() -> None:
    prompt = [("system", "stable", 12_806), ("user", "Q", 234)]
    assert sum(item[2] for item in prompt) == 13_040
    first, second, third = play(FLASH, line(0, *prompt), line(1, *prompt), line(30, *prompt))
    assert (first.read, second.read, third.read) == (0, 0, 13_040)
    assert second.reason == "concurrent_with_writer"


@pytest.mark.parametrize(("marker", "written"), [(None, 5303), ("5m", 3)])
def test_br_64_a_marker_before_the_varying_text_saves_the_stable_block(
    marker: str | None, written: int
) -> None:
    def agent(at: float, name: str, tokens: int) -> object:
        stable: Item = ("user", "stable block", 5300, marker)
        return line(at, marked("system", "S", 6076), stable, marked("user", name, tokens))

    second = last(OPUS, agent(0, "word", 3), agent(60, "Word", 3))  # type: ignore[arg-type]
    assert (second.read + second.written, second.written) == (11_379, written)


def test_br_67_a_changed_effort_is_named_as_a_changed_setting() -> None:
    prompt = [marked("system", "S", 51_300), marked("user", "Q", 26_500)]
    found = last(
        "claude-sonnet-5",
        line(0, *prompt, settings={"output_config.effort": "high"}),
        line(60, *prompt, settings={"output_config.effort": "low"}),
    )
    assert found.split == (51_300, 26_500, 0)
    assert told(found) == ("settings_changed", {"settings_changed": 26_500})


def test_br_71_rotating_accounts_is_not_a_changed_tool_choice() -> None:
    prompt = [marked("system", "S", 100_000)]
    found = last(
        OPUS,
        line(0, *prompt, account="one"),
        line(60, *prompt, account="two", settings={"tool_choice": "none"}),
    )
    assert told(found) == ("account_changed", {"account_changed": 100_000})


@pytest.mark.parametrize(("between", "split"), [([240], (5861, 0, 0)), ([], (0, 5861, 0))])
def test_br_72_a_read_in_between_keeps_the_entry_alive(
    between: list[float], split: tuple[int, int, int]
) -> None:
    lines = [line(at, marked("system", "S", 5861), ttft=3) for at in (0, *between, 482)]
    assert last(OPUS, *lines).split == split


def test_br_77_one_changed_tool_loses_an_identical_system_text() -> None:
    system = marked("system", "S", 1000)
    found = last("claude-sonnet-4.5", line(0, ("tools", "T", 220), system),
                 line(60, ("tools", "T2", 259), system))  # fmt: skip
    assert found.split == (0, 1259, 0)
    assert told(found) == ("tools_changed", {"tools_changed": 1259})


def test_br_78_a_shuffled_tool_list_is_reordered_not_changed() -> None:
    tools = [("tools", f"T{n}", 100 + n) for n in range(6)]
    system = marked("system", "S", 2000)
    found = last(OPUS, line(0, *tools, system), line(60, *reversed(tools), system))
    assert told(found) == ("tools_reordered", {"tools_reordered": 615 + 2000})


def test_br_80_an_image_replaced_by_a_text_marker() -> None:
    image: Item = ("user", "photo", 1500, None, {"kind": "image"})
    system, q = marked("system", "S", 4000), ("user", "Q", 100)
    found = last(
        OPUS,
        line(0, system, image, marked("user", "Q", 100)),
        line(60, system, ("user", "[image omitted]", 5), q, marked("user", "next", 30)),
    )
    assert (found.read, found.reason) == (4000, "media_changed")


@pytest.mark.parametrize(("lagging", "read"), [(False, 0), (True, 4000)])
def test_br_83_one_turn_beyond_the_look_back_needs_a_second_marker(
    lagging: bool, read: int
) -> None:
    uses: list[Item] = []
    for n in range(11):  # results answer each call at once: 22 positions
        uses.append(("assistant", f"use{n}", 30, None, {"kind": "tool_use"}))
        uses.append(("user", f"result{n}", 40, None, {"kind": "tool_result"}))
    if lagging:
        uses[10] = ("assistant", "use5", 30, "5m", {"kind": "tool_use"})
    turn = [("system", "S", 4000), *uses, marked("user", "next", 30)]
    found = last(OPUS, line(0, marked("system", "S", 4000)), line(60, *turn))
    assert found.read == read
    assert lagging or found.reason == "lookback_exceeded"


def test_br_85_five_markers_are_refused_and_no_miss() -> None:
    prompt = [marked("user", f"U{n}", 1000) for n in range(5)]
    found = last(OPUS, line(0, *prompt))
    assert (found.status, found.usage.prompt_tokens, found.charge) == ("rejected", 0, 0)


def test_br_89_requests_that_start_before_the_writer_s_first_token() -> None:
    lines = [line(n, marked("system", "S", 4000), ttft=2.5) for n in range(4)]
    results = play(OPUS, *lines)
    assert [result.read for result in results] == [0, 0, 0, 4000]
    assert [r.reason for r in results[1:3]] == ["concurrent_with_writer"] * 2


def test_br_90_no_cache_control_is_not_requested_and_no_miss_of_the_cache() -> None:
    found = last(OPUS, line(0, ("system", "S", 5047)), line(60, ("system", "S", 5047)))
    assert (found.split, found.reason) == ((0, 0, 5047), "not_requested")


def test_br_91_another_upstream_host() -> None:
    lines = [
        line(60 * n, marked("system", "S", 16_384), host=f"openrouter:{host}")
        for n, host in enumerate(["one", "one", "two"])
    ]
    results = play(OPUS, *lines)
    assert [result.read for result in results] == [0, 16_384, 0]
    assert results[2].reason == "host_changed"


def test_br_94_a_billing_line_first_in_the_system_text_spoils_everything_behind_it() -> None:
    def turn(token: str) -> list[Item]:
        first: Item = ("system", f"cch={token}", 30, None, {"masked": "cch=hex"})
        return [first, ("system", "rules", 15_000)]

    results = play(
        FLASH, *(line(60 * n, *turn(t)) for n, t in enumerate(("a1b2c", "0ff1c", "dead1")))
    )
    assert [result.read for result in results] == [0, 0, 0]
    assert [result.reason for result in results[1:]] == ["volatile_value"] * 2


def test_br_86_the_public_simulator_s_simplified_rules_agree_where_they_overlap() -> None:
    prompt = [marked("system", "S", 2000), marked("user", "Q", 500)]
    assert reads("claude-sonnet-4.5", line(0, *prompt), line(300, *prompt)) == [0, 2500]
