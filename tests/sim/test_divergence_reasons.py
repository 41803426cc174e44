"""Why a prompt was not read: the first divergence from an earlier prompt (design §5, item 7).

Tokens up to the last block that the earlier prompt also had, as raw, canonical or masked content,
carry the divergence's reason; what follows is new content.
"""

from typing import Any

import pytest
from rule_sketches import Item, Line, Result, last, line

OPUS, SOL = "claude-opus-5", "gpt-6-sol"


def end(name: str, tokens: int = 200) -> Item:
    """A user message with a marker."""
    return ("user", name, tokens, "5m")


def told(result: Result) -> tuple[str | None, dict[str, int]]:
    """(the request's own reason, unread tokens by reason)."""
    return result.reason, dict(result.misses)


T1: Item = ("tools", "T1", 1000)
T2: Item = ("tools", "T2", 500)
SYS: Item = ("system", "sys", 3000)


def diverged(before: list[Item], now: list[Item], **keys: Any) -> tuple[str | None, dict[str, int]]:
    """What is said of `now`, ten seconds after `before` in the same session."""
    first: Line = line(0, *before)
    return told(last(OPUS, first, line(10, *now, **keys)))


def test_the_same_tools_in_another_order() -> None:
    # BR-78
    found = diverged([T1, T2, SYS, end("Q")], [T2, T1, SYS, end("Q")])
    assert found == ("tools_reordered", {"tools_reordered": 4700})


def test_another_tool_definition_loses_even_an_equal_system_text() -> None:
    # BR-77
    found = diverged([T1, T2, SYS, end("Q")], [T1, ("tools", "T3", 700), SYS, end("Q")])
    assert found == ("tools_changed", {"tools_changed": 1000 + 700 + 3000 + 200})


def test_an_added_tool() -> None:
    found = diverged([T1, SYS, end("Q")], [T1, T2, SYS, end("Q")])
    assert found == ("tools_changed", {"tools_changed": 4700})


def test_the_same_json_with_its_keys_in_another_order() -> None:
    before = ("tools", "raw 1", 1000, None, {"canonical": "C"})
    now = ("tools", "raw 2", 1000, None, {"canonical": "C"})
    found = diverged([before, SYS, end("Q")], [now, SYS, end("Q")])
    assert found == ("json_key_order", {"json_key_order": 4200})


def test_a_message_with_its_keys_in_another_order() -> None:
    before = ("assistant", "raw 1", 80, None, {"kind": "tool_use", "canonical": "C"})
    now = ("assistant", "raw 2", 80, None, {"kind": "tool_use", "canonical": "C"})
    found = diverged([SYS, before, end("Q")], [SYS, now, ("user", "Q", 200), end("Q2", 60)])
    assert found == ("json_key_order", {"json_key_order": 3280, "new_content": 60})


@pytest.mark.parametrize("section", ["tools", "system", "user"])
def test_a_volatile_value(section: str) -> None:
    # BR-61: a clock in front, two requests 14 s apart
    before = (section, "12:00:00", 100, None, {"masked": "##:##:##"})
    now = (section, "12:00:14", 100, None, {"masked": "##:##:##"})
    rest = ("user", "text", 2000)
    found = diverged([before, rest, end("Q")], [now, rest, end("Q")])
    assert found == ("volatile_value", {"volatile_value": 2300})


def test_the_system_text_changed() -> None:
    found = diverged([T1, SYS, end("Q")], [T1, ("system", "sys 2", 3100), end("Q")])
    assert found == ("system_changed", {"system_changed": 1000 + 3100 + 200})


def test_a_setting_changed() -> None:
    prompt = [("system", "sys", 3000, "5m"), end("Q")]
    found = diverged(prompt, prompt, settings={"tool_choice": "any"})
    assert found == ("settings_changed", {"settings_changed": 200})


def test_a_setting_changed_and_a_new_question_follows() -> None:
    before = [("system", "sys", 3000, "5m"), end("Q")]
    now = [("system", "sys", 3000, "5m"), ("user", "Q", 200), end("Q2", 60)]
    found = diverged(before, now, settings={"output_config.effort": "low"})
    assert found == ("settings_changed", {"settings_changed": 200, "new_content": 60})


def test_an_openai_setting_changed_from_the_first_token_on() -> None:
    prompt = [SYS, ("user", "Q", 200)]
    lines = [line(0, *prompt), line(10, *prompt, settings={"reasoning.effort": "high"})]
    assert told(last(SOL, *lines)) == ("settings_changed", {"settings_changed": 3200})


def test_an_image_replaced_by_text() -> None:
    # BR-80
    image = ("user", "image", 900, None, {"kind": "image"})
    before = [SYS, image, end("Q")]
    now = [SYS, ("user", "[image]", 10), ("user", "Q", 200), end("Q2", 60)]
    assert diverged(before, now) == ("media_changed", {"media_changed": 3210, "new_content": 60})


EDITS = [
    pytest.param(("A", "b", "C", "D"), ("A", "X", "C", "D", "E"), 3400, id="replaced"),
    pytest.param(("A", "b", "C", "D"), ("A", "C", "D", "E"), 3300, id="removed"),
    pytest.param(("A", "b", "C", "D"), ("A", "X", "b", "C", "D", "E"), 3500, id="inserted"),
]


def blocks(names: tuple[str, ...]) -> list[Item]:
    return [SYS, *(("user", name, 100) for name in names[:-1]), ("user", names[-1], 100, "5m")]


@pytest.mark.parametrize(("before", "now", "tokens"), EDITS)
def test_exactly_one_earlier_block_edited(
    before: tuple[str, ...], now: tuple[str, ...], tokens: int
) -> None:
    # up to the last block that the earlier prompt also had: D; E is new
    found = diverged(blocks(before), blocks(now))
    assert found == ("message_edited", {"message_edited": tokens, "new_content": 100})


REWRITES = [
    pytest.param(("A", "b", "C", "D"), ("A", "X", "Y", "D", "E"), 3400, id="two replaced"),
    pytest.param(("A", "b", "c", "D"), ("A", "D", "E"), 3200, id="two removed"),
    pytest.param(("A", "b", "C", "d", "F"), ("A", "X", "C", "Y", "F", "E"), 3500, id="two apart"),
]


@pytest.mark.parametrize(("before", "now", "tokens"), REWRITES)
def test_more_than_one_earlier_block_gone_or_replaced(
    before: tuple[str, ...], now: tuple[str, ...], tokens: int
) -> None:
    found = diverged(blocks(before), blocks(now))
    assert found == ("history_rewritten", {"history_rewritten": tokens, "new_content": 100})


def test_the_prefix_that_is_still_read_carries_no_reason() -> None:
    before = [("system", "sys", 3000, "5m"), ("user", "b", 100), end("Q")]
    now = [("system", "sys", 3000, "5m"), ("user", "X", 110), ("user", "Q", 200), end("Q2", 60)]
    assert diverged(before, now) == ("message_edited", {"message_edited": 310, "new_content": 60})


def test_tools_are_judged_before_the_system_and_the_messages() -> None:
    before = [T1, SYS, ("user", "b", 100), end("Q")]
    now = [T2, ("system", "sys 2", 3100), ("user", "c", 100), end("Q")]
    assert diverged(before, now)[0] == "tools_changed"


def test_another_scope_is_judged_before_a_divergence() -> None:
    lines = [
        line(0, SYS, end("Q")),
        line(10, SYS, end("Q3", 210), account="b", session="t"),
        line(20, SYS, end("Q"), account="b", session="t"),
    ]
    assert last(OPUS, *lines).reason == "account_changed"


def test_the_nearest_earlier_request_of_the_session_is_compared_first() -> None:
    lines = [
        line(0, ("system", "other", 3300), end("Q"), session="t"),
        line(10, ("system", "sys 1", 3100), end("Q"), session="s"),
        line(20, ("system", "other 2", 3300), end("Q"), session="t"),
    ]
    assert told(last(OPUS, *lines)) == ("system_changed", {"system_changed": 3500})


def test_without_a_session_the_longest_common_prefix_is_compared() -> None:
    lines = [
        line(0, SYS, ("user", "b", 100), end("Q"), session=None),
        line(10, ("system", "far", 3100), end("Q"), session=None),
        line(20, SYS, ("user", "X", 110), ("user", "Q", 200, "5m"), session=None),
    ]
    assert last(OPUS, *lines).reason == "message_edited"
