"""Marked boundaries: what Anthropic's API itself adds or refuses."""

from typing import Any

import pytest
from rule_sketches import Item, Result, line, play


def only(*prompt: Item, **keys: Any) -> Result:
    (result,) = play("claude-opus-5", line(0, *prompt, **keys))
    return result


def writes(result: Result) -> tuple[int, int, int, int]:
    """(read, 1h write, 5m write, fresh)."""
    usage = result.usage
    return usage.cache_read, usage.cache_write_1h, usage.cache_write_5m, usage.fresh


def test_the_api_itself_puts_a_5m_marker_on_a_server_tool_result() -> None:
    prompt = [
        ("system", "S", 6000, "1h"),
        ("assistant", "found", 500, None, {"kind": "server_tool_result"}),
        ("user", "Q", 100),
    ]
    assert writes(only(*prompt)) == (0, 6000, 500, 100)


def test_it_does_so_only_with_caching_on() -> None:
    prompt = [
        ("system", "S", 6000),
        ("assistant", "found", 500, None, {"kind": "server_tool_result"}),
    ]
    assert writes(only(*prompt)) == (0, 0, 0, 6500)


@pytest.mark.parametrize(
    "keys",
    [
        {"batch": True},
        {"settings": {"tool_choice": {"type": "any"}}},
        {"settings": {"tool_choice": {"type": "tool", "name": "x"}}},
        {"settings": {"thinking": {"type": "enabled", "budget_tokens": 4000}}},
        {"settings": {"stream": True}},
        {"settings": {"output_config.format": {"type": "json_schema"}}},
    ],
    ids=lambda keys: str(keys),
)
def test_a_prewarm_is_refused_beside_what_needs_an_answer(keys: dict[str, Any]) -> None:
    refused = only(("system", "S", 5120, "5m"), prewarm=True, output=0, **keys)
    assert refused.status == "rejected"
