"""What a usage object bills beside text tokens is named in one note, and never priced."""

from typing import Any

import pytest
from priced import anthropic, price, total

from cachecast_pricing.responses import Found
from cachecast_pricing.unpriced import unpriced, unpriced_note

CHAT = {"prompt_tokens": 1_000, "completion_tokens": 10}


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        ({**CHAT, "prompt_tokens_details": {"audio_tokens": 120}},
         ["120 audio tokens (prompt_tokens_details)"]),
        ({**CHAT, "completion_tokens_details": {"audio_tokens": 7, "reasoning_tokens": 3}},
         ["7 audio tokens (completion_tokens_details)"]),
        ({"input_tokens": 900, "output_tokens": 1, "input_token_details": {
            "image_tokens": 800, "text_tokens": 100,
            "cached_tokens_details": {"image_tokens": 500}}},
         ["800 image tokens (input_token_details)"]),
        ({"promptTokenCount": 300, "candidatesTokenCount": 1, "promptTokensDetails": [
            {"modality": "TEXT", "tokenCount": 42}, {"modality": "IMAGE", "tokenCount": 258}],
          "cacheTokensDetails": [{"modality": "IMAGE", "tokenCount": 258}]},
         ["258 image tokens (promptTokensDetails)"]),
        ({"usage_metadata": {"prompt_token_count": 30, "candidates_tokens_details": [
            {"modality": "MediaModality.AUDIO", "token_count": 30}]}},
         ["30 audio tokens (candidates_tokens_details)"]),
        ({**anthropic(fresh=1), "server_tool_use": {
            "web_search_requests": 3, "web_fetch_requests": 1}},
         ["3 web search requests", "1 web fetch requests"]),
        ({**CHAT, "num_sources_used": 4}, ["4 sources used"]),
        ({"gen_ai.usage.input_tokens": 1, "gen_ai.usage.details.web_search_requests": 2},
         ["2 web search requests"]),
        ({**CHAT, "server_tool_use": {"web_search_requests": 2},  # LiteLLM states it twice
          "prompt_tokens_details": {"web_search_requests": 2}}, ["2 web search requests"]),
        ({"input_audio_tokens": 5, "input": 9}, ["5 audio tokens (input_audio_tokens)"]),
        ({**CHAT, "prompt_tokens_details": {"audio_tokens": 0, "image_tokens": None}}, []),
        ({**anthropic(fresh=1), "server_tool_use": {"web_search_requests": 0}}, []),
        ({**anthropic(fresh=1), "server_tool_use": None}, []),
        ({**CHAT, "audio_tokens": "n/a"}, []),
    ],
)  # fmt: skip
def test_each_billable_part_beside_text_is_counted_once(
    raw: dict[str, Any], found: list[str]
) -> None:
    assert unpriced(Found(raw)) == found


def test_all_parts_stand_in_one_note_and_the_total_stays_that_of_the_tokens() -> None:
    raw = anthropic(fresh=1_000, out=10)
    searched = {**raw, "server_tool_use": {"web_search_requests": 3, "web_fetch_requests": 1}}

    assert total("claude-opus-5", searched) == total("claude-opus-5", raw)
    notes = [note for note in price("claude-opus-5", searched).notes if "not priced" in note]
    assert notes == [
        "3 web search requests, 1 web fetch requests not priced: cachecast knows prices of text "
        "tokens only (such tokens count as text, tool fees come on top)"
    ]


def test_a_usage_of_text_alone_has_no_such_note() -> None:
    assert unpriced_note(Found(anthropic(fresh=1, read=2, m5=3))) == ()
    assert not any("not priced" in note for note in price("claude-opus-5", anthropic(1)).notes)


def test_tool_calls_in_the_output_of_a_response_are_named_as_well() -> None:
    output = [{"type": "web_search_call"}, {"type": "web_search_call"}, {"type": "message"},
              {"type": "code_interpreter_call"}, {"type": "function_call"}]  # fmt: skip
    usage = {"input_tokens": 100, "output_tokens": 1}
    result = price("gpt-6-sol", {"id": "resp_1", "output": output, "usage": usage})

    assert any(
        note.startswith("2 web search calls, 1 code interpreter call not priced")
        for note in result.notes
    )
