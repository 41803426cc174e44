"""Marked boundaries: which changed setting or content loses which level of the prefix."""

from typing import Any

import pytest
from rule_sketches import Item, Line, line, play, reads

OPUS = "claude-opus-5"
TOOLS, SYSTEM, MESSAGES = 1000, 2000, 3000
WHOLE = TOOLS + SYSTEM + MESSAGES


def prompt(tool: str = "T", system: str = "S", user: str = "U") -> list[Item]:
    """A marker at the end of each level."""
    return [
        ("tools", tool, TOOLS, "5m"),
        ("system", system, SYSTEM, "5m"),
        ("user", user, MESSAGES, "5m"),
    ]


def after(first: Line, second: Line, scenario: str = OPUS) -> int:
    """What the second reads."""
    return reads(scenario, first, second)[1]


def with_settings(at: float, **settings: Any) -> Line:
    return line(at, *prompt(), settings=settings)


@pytest.mark.parametrize(
    ("changed", "read"),
    [
        ({"tool": "T2"}, 0),
        ({"system": "S2"}, TOOLS),
        ({"user": "U2"}, TOOLS + SYSTEM),
        ({}, WHOLE),
    ],
    ids=["tools", "system", "messages", "nothing"],
)
def test_changed_text_loses_its_level_and_every_later_one(
    changed: dict[str, str], read: int
) -> None:
    assert after(line(0, *prompt()), line(10, *prompt(**changed))) == read


LEVELS = [
    ("tool_choice", {"type": "any"}, TOOLS + SYSTEM),
    ("tool_choice", "any", TOOLS + SYSTEM),
    ("disable_parallel_tool_use", True, TOOLS + SYSTEM),
    ("tool_choice.disable_parallel_tool_use", True, TOOLS + SYSTEM),
    ("thinking", {"type": "enabled", "budget_tokens": 4000}, TOOLS + SYSTEM),
    ("output_config.effort", "medium", TOOLS + SYSTEM),
    ("speed", "fast", TOOLS),
    ("web_search", "on", TOOLS),
    ("web_fetch", "on", TOOLS),
    ("citations", "on", TOOLS),
    ("max_tokens", 5, WHOLE),
    ("temperature", 0.5, WHOLE),
    ("stream", True, WHOLE),
]


@pytest.mark.parametrize(("name", "value", "read"), LEVELS)
def test_a_changed_setting_loses_its_level_and_every_later_one(
    name: str, value: Any, read: int
) -> None:
    assert after(with_settings(0), with_settings(10, **{name: value})) == read


@pytest.mark.parametrize(("name", "value", "read"), LEVELS)
def test_the_same_setting_twice_loses_nothing(name: str, value: Any, read: int) -> None:
    assert after(with_settings(0, **{name: value}), with_settings(10, **{name: value})) == WHOLE


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("tool_choice", "auto"),
        ("tool_choice", {"type": "auto"}),
        ("thinking", "disabled"),
        ("thinking", {"type": "disabled"}),
        ("output_config.effort", "high"),
        ("speed", "standard"),
    ],
)
def test_an_explicit_default_equals_leaving_the_setting_out(name: str, default: Any) -> None:
    assert after(with_settings(0), with_settings(10, **{name: default})) == WHOLE
    assert after(with_settings(0, **{name: default}), with_settings(10)) == WHOLE


def test_br_112_tool_choice_is_in_the_key_and_can_be_left_out() -> None:
    second = with_settings(10, tool_choice="any")
    assert after(with_settings(0), second, f"{OPUS},tool_choice=off") == WHOLE
    assert after(with_settings(0), second, f"{OPUS},tool_choice=on") == TOOLS + SYSTEM


@pytest.mark.parametrize(("ttl", "read"), [("5m", TOOLS), (None, 0)])
def test_a_marker_in_front_of_what_was_read_prolongs_its_own_entry(
    ttl: str | None, read: int
) -> None:
    """Open in the documents. The tools' entry of second 0 is used at 200 only if it is marked."""
    tools, system = ("tools", "T", TOOLS, "5m"), ("system", "S", SYSTEM, "5m")
    lines = [
        line(0, tools, system),
        line(200, ("tools", "T", TOOLS, ttl), system),
        line(400, tools, ("system", "S2", SYSTEM, "5m")),
    ]
    assert reads(OPUS, *lines) == [0, TOOLS + SYSTEM, read]


def test_going_back_to_an_earlier_setting_finds_its_entries_again() -> None:
    lines = [with_settings(0), with_settings(10, tool_choice="any"), with_settings(20)]
    assert reads(OPUS, *lines) == [0, TOOLS + SYSTEM, WHOLE]


IMAGE = ("user", "image", 500, "5m", {"kind": "image"})


def test_adding_an_image_anywhere_loses_the_messages() -> None:
    assert after(line(0, *prompt()), line(10, *prompt(), IMAGE)) == TOOLS + SYSTEM


def test_removing_the_image_loses_the_messages_too() -> None:
    with_image = [*prompt()[:2], ("user", "U", MESSAGES, "5m"), IMAGE]
    assert after(line(0, *with_image), line(10, *prompt())) == TOOLS + SYSTEM


def test_an_image_that_stays_loses_nothing() -> None:
    lines = [line(0, *prompt()[:2], IMAGE), line(10, *prompt()[:2], IMAGE, ("user", "Q", 50))]
    assert reads(OPUS, *lines) == [0, TOOLS + SYSTEM + 500]


def test_a_system_marker_survives_what_only_the_messages_lose() -> None:
    second = play(OPUS, with_settings(0), with_settings(10, thinking={"type": "adaptive"}))[1]
    assert second.split == (TOOLS + SYSTEM, MESSAGES, 0)
    assert second.reason == "settings_changed"


@pytest.mark.parametrize("section", ["system", "tools"])
def test_a_later_block_never_falls_back_to_an_earlier_level(section: str) -> None:
    # a system message in mid-conversation, or an added tool, stands behind the messages
    whole = [("system", "S", SYSTEM, "5m"), ("user", "U", MESSAGES), (section, "late", 100, "5m")]
    changed = line(10, *whole, settings={"tool_choice": "any"})
    assert reads(OPUS, line(0, *whole), changed) == [0, SYSTEM]
    assert reads(OPUS, line(0, *whole), line(10, *whole)) == [0, SYSTEM + MESSAGES + 100]
