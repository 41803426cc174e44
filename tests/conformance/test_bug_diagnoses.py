"""What `why` says of the sequences with a known cause (bug-cases.md, group 3), by their ids.

`test_bug_sequences.py` holds what the rules read and write of them; here it is the diagnosis, in
`test_bug_diagnoses_observed.py` what a log's own usage and its money say.
"""

from collections.abc import Callable
from typing import Any

import pytest
from api_calls import claude, message, pair, said, text
from rule_sketches import Item, line
from why_sketches import asked, cause_of, why

RunCli = Callable[..., tuple[int, str, str]]
OPUS, SONNET, FABLE, FLASH = (
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-fable-5.1",
    "deepseek-flash",
)


def marked(section: str, name: str, tokens: int) -> Item:
    return (section, name, tokens, "5m")


def unknown_usage() -> dict[str, Any]:
    classes = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return dict.fromkeys(classes) | {"output_tokens": 5}


def call(n: int, at: str, body: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A pair whose usage nobody knows, as an agent's proxy would keep it."""
    reply = message(unknown_usage(), id=f"m{n}")
    fields = {"id": f"r{n}", "session": "s", "account": "a", "first_token_s": 0.5, **more}
    return {**pair(body, reply), **fields, "start_time": at}


def test_br_60_thinking_that_the_client_deletes_and_a_later_expiry_are_two_causes() -> None:
    system = marked("system", "S", 31_073)
    thoughts = [("assistant", f"T{n}", 400, None, {"kind": "thinking"}) for n in range(2)]
    steps = [("user", f"Q{n}", 1000) for n in range(3)]
    before = [system, steps[0], thoughts[0], steps[1], thoughts[1], ("user", "end", 10, "5m")]
    now = [system, steps[0], steps[1], ("user", "end", 10), marked("user", "next", 20)]
    assert cause_of(OPUS, line(0, *before), line(30, *now)) == "thinking_stripped"
    late = why(OPUS, line(0, *before), line(331, *now))["2"][1]
    assert late.cause == "ttl_expired"
    assert [d.cause for d in late.also] == ["thinking_stripped"]


def test_br_61_a_clock_at_offset_0_is_shown_to_the_character() -> None:
    def turn(n: int, clock: str) -> dict[str, Any]:
        body = claude(
            system=[text(f"It is {clock}. " + "You run a home. " * 200, "5m")],
            messages=[said("user", f"Question {n}")],
        )
        return call(n, f"2026-11-20T{clock}Z", body)

    found = why(OPUS, turn(0, "12:00:00"), turn(1, "12:00:14"), turn(2, "12:00:28"))
    for name, before, after in (("r1", "12:00:00", "12:00:14"), ("r2", "12:00:14", "12:00:28")):
        row, finding = found[name]
        assert row.usage.cache_read == 0
        assert (finding.cause, finding.candidates, finding.also) == ("clock", (), ())
        place = finding.place
        assert place is not None
        assert (place.section, place.block, place.offset) == ("system", 0, 6)
        assert (place.before, place.after) == (before, after)


def test_br_63_a_unit_that_is_still_being_built_is_no_change_of_the_prefix() -> None:
    prompt = [("system", "stable", 12_806), ("user", "Q", 234)]
    assert cause_of(FLASH, line(0, *prompt), line(1, *prompt)) == "concurrent_with_writer"


def test_br_64_a_marker_before_a_large_stable_block_and_the_next_behind_what_varies() -> None:
    def agent(at: float, word: str) -> Any:
        varying = marked("user", word, 33)
        prompt = [marked("system", "S", 6076), ("user", "stable", 5270), varying]
        return line(at, *prompt, session=f"agent {at}")

    found = why(OPUS, agent(0, "word"), agent(60, "Word"))["2"]
    assert found[1].cause == "marker_misplaced"
    assert found[0].outcome.explanation.reason == "not_requested"


@pytest.mark.parametrize("model", [OPUS, FABLE])
def test_br_66_a_string_and_the_one_block_array_of_it_are_named_on_every_model(model: str) -> None:
    """Which models treat them as equal is theirs to say; what changed is the same."""
    system = [text("Rules. " * 2000, "5m")]

    def turn(n: int, first: Any, *more: Any) -> dict[str, Any]:
        messages = [said("user", first), said("assistant", "Yes."), *more]
        return call(n, f"2026-11-20T10:00:{10 * n:02}Z",
                    claude(model=model, system=system, messages=messages))  # fmt: skip

    last = said("user", [text("Go on.", "5m")])
    again = said("user", [text("And on.", "5m")])
    found = why(
        model, turn(0, "Please begin.", last), turn(1, [text("Please begin.")], last, again)
    )
    assert found["r1"][1].cause == "string_or_block"
    assert found["r1"][1].evidence["was"] == "string"


@pytest.mark.parametrize("model", [OPUS, SONNET])
def test_br_67_a_changed_effort_is_named_with_both_values(model: str) -> None:
    prompt = [marked("system", "S", 51_300), marked("user", "Q", 26_500)]
    found = why(
        model,
        line(0, *prompt, settings={"output_config.effort": "high"}),
        line(60, *prompt, settings={"output_config.effort": "low"}),
    )["2"][1]
    assert found.cause == "settings_changed"
    # high is the documented default, which equals leaving it out
    assert found.evidence["changed"]["output_config.effort"][1] == "low"


def test_br_71_rotating_accounts_is_the_cause_and_tool_choice_stands_beside_it() -> None:
    prompt = [marked("system", "S", 100_000), marked("user", "Q", 50)]
    found = why(
        OPUS,
        line(0, *prompt, account="one"),
        line(60, *prompt, account="two", settings={"tool_choice": "none"}),
    )["2"][1]
    assert found.cause == "account_changed"
    assert [d.cause for d in found.also] == ["settings_changed"]


@pytest.mark.parametrize(("between", "cause"), [([240], None), ([], "ttl_expired")])
def test_br_72_a_read_in_between_keeps_the_entry_alive(
    between: list[float], cause: str | None
) -> None:
    lines = [line(at, marked("system", "S", 5861), ttft=3) for at in (0, *between, 482)]
    assert cause_of(OPUS, *lines) == cause


def test_br_77_one_changed_tool_is_the_cause_though_the_system_text_is_equal() -> None:
    system = marked("system", "S", 1000)
    lines = line(0, ("tools", "T", 220), system), line(60, ("tools", "T2", 259), system)
    found = why("claude-sonnet-4.5", *lines)["2"][1]
    assert found.cause == "tools_changed"
    assert found.place is not None
    assert (found.place.section, found.place.block) == ("tools", 0)


def test_br_78_a_shuffled_tool_list_is_reordered() -> None:
    tools = [("tools", f"T{n}", 100 + n) for n in range(6)]
    system = marked("system", "S", 2000)
    lines = line(0, *tools, system), line(60, *reversed(tools), system)
    assert cause_of(OPUS, *lines) == "tools_reordered"


def test_br_80_an_image_replaced_by_a_text_marker() -> None:
    image: Item = ("user", "photo", 1500, None, {"kind": "image"})
    system, q = marked("system", "S", 4000), ("user", "Q", 100)
    before = line(0, system, image, marked("user", "Q", 100))
    now = line(60, system, ("user", "[image omitted]", 5), q, marked("user", "next", 30))
    assert cause_of(OPUS, before, now) == "image_replaced"


def test_br_82_a_summary_put_before_what_did_not_change_says_how_much_stands_behind_it() -> None:
    system, kept = marked("system", "S", 12_000), ("user", "97k that stay", 97_000)
    old = [("user", "Q1", 500), ("assistant", "A1", 700), ("user", "Q2", 400)]
    before = line(0, system, *old, kept, marked("user", "end", 20))
    now = line(60, system, ("user", "summary", 900), kept, ("user", "end", 20),
               marked("user", "next", 30))  # fmt: skip
    found = why(OPUS, before, now)["2"][1]
    assert found.cause == "history_summarised"
    assert found.evidence["unchanged_behind_tokens"] == 97_020


def test_br_83_a_turn_of_more_than_twenty_blocks_is_beyond_the_look_back() -> None:
    uses: list[Item] = []
    for n in range(11):
        uses.append(("assistant", f"use{n}", 30, None, {"kind": "tool_use"}))
        uses.append(("user", f"result{n}", 40, None, {"kind": "tool_result"}))
    turn = [("system", "S", 4000), *uses, marked("user", "next", 30)]
    lines = line(0, marked("system", "S", 4000)), line(60, *turn)
    assert cause_of(OPUS, *lines) == "lookback_exceeded"


def test_br_85_five_markers_are_refused_which_is_no_miss() -> None:
    prompt = [marked("user", f"U{n}", 1000) for n in range(5)]
    found = asked(OPUS, [line(0, *prompt)])
    reason = found.rollup.totals.misses["too_many_markers"]
    assert (reason.tokens, reason.cost) == (0, 0)


def test_br_86_the_order_of_judgement_is_tools_system_parameters_messages() -> None:
    system, q = marked("system", "S", 2000), marked("user", "Q", 500)
    before = line(0, ("tools", "T", 600), system, q)
    now = line(60, ("tools", "T2", 610), ("system", "S2", 2100, "5m"), marked("user", "Q2", 510),
               settings={"tool_choice": "any"})  # fmt: skip
    row, found = why("claude-sonnet-4.5", before, now)["2"]
    assert row.outcome.explanation.reason == "tools_changed"
    # nothing at all is the same: it can be a call of another kind as well
    assert (found.cause, found.candidates) == (None, ("auxiliary_call", "tools_changed"))


@pytest.mark.parametrize(
    ("model", "tokens"),
    [(OPUS, 511), ("claude-opus-4.8", 1023), ("claude-opus-4.7", 2047), ("claude-opus-4.6", 4095)],
)
def test_br_88_a_prefix_just_below_the_models_minimum(model: str, tokens: int) -> None:
    assert cause_of(model, line(0, marked("system", "S", tokens))) == "below_minimum"
    assert cause_of(model, line(0, marked("system", "S", tokens + 1))) == "cold_start"


def test_br_89_requests_that_start_before_the_writers_first_token() -> None:
    lines = [line(n, marked("system", "S", 4000), ttft=2.5, session=f"w{n}") for n in range(3)]
    assert cause_of(OPUS, *lines) == "concurrent_with_writer"


def test_br_90_no_marker_at_all_means_that_caching_was_never_asked_for() -> None:
    lines = [line(60 * n, ("system", "S", 5047)) for n in range(2)]
    assert cause_of(OPUS, *lines) == "not_requested"


def test_br_91_another_upstream_host_is_named_with_both() -> None:
    lines = [
        line(60 * n, marked("system", "S", 16_384), host=f"openrouter:{host}")
        for n, host in enumerate(["one", "one", "two"])
    ]
    found = why(OPUS, *lines)["3"][1]
    assert found.cause == "host_changed"
    assert found.evidence["host"] == ["openrouter:one", "openrouter:two"]


def test_br_93_an_implicit_cache_that_promises_nothing_is_never_certain() -> None:
    lines = [line(60 * n, ("system", "S", 18_497), model="gemini-3-flash") for n in range(2)]
    rows = asked("log", lines).rows
    assert len(rows) == 2
    for row, finding in rows:
        assert row.outcome.explanation.reason == "unknown"
        assert finding.cause is None
        assert finding.candidates[0] == "provider_miss"


def test_br_94_a_billing_line_with_five_hex_digits_first_in_the_system_text() -> None:
    def turn(n: int, token: str) -> dict[str, Any]:
        lead = f"x-anthropic-billing-header: cc_version=2.1.36; cch={token};"
        body = claude(
            model="claude-opus-5",
            system=[text(lead), text("Rules of the house. " * 400, "5m")],
            messages=[said("user", [text(f"Question {n}", "5m")])],
        )
        return call(n, f"2026-11-20T10:00:{10 * n:02}Z", body)

    found = why(OPUS, turn(0, "a1b2c"), turn(1, "0ff1c"), turn(2, "d3ad1"))
    for name in ("r1", "r2"):
        finding = found[name][1]
        assert (finding.cause, finding.also) == ("identifier", ())
        assert finding.place is not None
        assert (finding.place.section, finding.place.block) == ("system", 0)


def test_an_aborted_writer_is_the_cause_of_the_miss_behind_it() -> None:
    prompt = [marked("system", "S", 5000)]
    lines = line(0, *prompt, ttft=None), line(20, *prompt)
    assert cause_of(OPUS, *lines) == "aborted_writer"
