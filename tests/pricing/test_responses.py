"""A whole response is read by the usage inside it; a usage object is never taken for one."""

from typing import Any

import pytest
from priced import anthropic, chat, price, total

from cachecast_pricing.counts import UsageError
from cachecast_pricing.responses import Found, usage_of

USAGE = anthropic(fresh=50, read=1_000, out=5)


@pytest.mark.parametrize(
    "raw",
    [
        {"id": "msg_1", "type": "message", "model": "claude-opus-5", "usage": USAGE},
        {"type": "message_start", "message": {"id": "msg_1", "usage": USAGE}},
        {"custom_id": "a", "response": {"status_code": 200, "body": {"id": "x", "usage": USAGE}}},
        {"type": "response.completed", "response": {"id": "x", "usage": USAGE}},
        {"modelVersion": "x", "usageMetadata": USAGE},
        {"id": "trace", "usage": None, "usageDetails": USAGE},
        {"id": "x", "input_tokens": 7, "usage": USAGE},
    ],
)
def test_the_usage_inside_a_response_is_what_counts(raw: dict[str, Any]) -> None:
    inner, how, *_ = usage_of(raw)

    assert inner == USAGE
    assert how is not None
    assert how.startswith("a whole response: its 'usage")


@pytest.mark.parametrize(
    "raw", [USAGE, chat(10, 5, 1), {"input": 3, "output": 4}, {}, {"message": "hello"}]
)
def test_a_usage_object_is_taken_as_it_is(raw: dict[str, Any]) -> None:
    assert usage_of(raw) == Found(raw)


def test_a_response_costs_what_its_usage_costs_and_a_note_says_how_it_was_read() -> None:
    response = {"id": "msg_1", "model": "claude-opus-5-20260724", "usage": USAGE}
    result = price("claude-opus-5", response)

    assert result.charge == price("claude-opus-5", USAGE).charge
    assert "a whole response: its 'usage' is what was read" in result.notes
    assert not any("the response names" in note for note in result.notes)


def test_a_response_of_another_model_than_the_one_priced_is_said() -> None:
    result = price("claude-opus-5", {"model": "claude-haiku-4-5", "usage": USAGE})

    assert (
        "the response names claude-haiku-4-5, but the prices are those of claude-opus-5"
        in result.notes
    )


def test_the_service_tier_of_an_openai_response_stands_outside_its_usage() -> None:
    usage = chat(1_000, 0, 0)

    plain = total("gpt-6-sol", usage)
    assert total("gpt-6-sol", {"id": "x", "service_tier": "flex", "usage": usage}) == plain / 2
    assert total("gpt-6-sol", {"id": "x", "service_tier": "default", "usage": usage}) == plain


def test_a_response_without_counts_is_refused() -> None:
    with pytest.raises(UsageError, match="usage of this response is null, expected an object"):
        price("gpt-6-sol", {"id": "x", "object": "chat.completion.chunk", "usage": None})
