"""An object of another API, or with a misspelt field, is refused: it would be priced as nothing."""

from typing import Any

import pytest
from priced import price

from cachecast_datasets.errors import BadInput

ANTHROPIC = "of the API anthropic (input_tokens or uncached_input_tokens)"


@pytest.mark.parametrize(
    ("api", "raw", "message"),
    [
        ("anthropic", {"promptTokenCount": 100, "candidatesTokenCount": 5},
         f"usage has no input or output tokens {ANTHROPIC}, only candidatesTokenCount, "
         "promptTokenCount; these fit: gemini"),
        ("openai-chat", {"inputTokens": 8, "outputTokens": 8},
         "usage has no input or output tokens of the API openai-chat (prompt_tokens or "
         "input_tokens), only inputTokens, outputTokens; these fit: bedrock-converse"),
        ("gemini", {"prompt_cache_miss_tokens": 8},
         "usage has no input or output tokens of the API gemini (promptTokenCount or "
         "prompt_token_count or total_input_tokens or input), only prompt_cache_miss_tokens; "
         "these fit: deepseek"),
        (None, {"input_token": 50, "output_tokens": 5},
         f"usage has no input tokens {ANTHROPIC}, only input_token, output_tokens; did you mean "
         "input_tokens?"),
        (None, {"input_tokens": 50, "output_token": 5},
         "usage has no output tokens of the API anthropic, but output_token; did you mean "
         "output_tokens?"),
        (None, {"output_tokens": 5}, f"usage has no input tokens {ANTHROPIC}, only output_tokens"),
        ("gemini", {"usageMetadata": {"promptTokenCount": 8, "candidateTokenCount": 7}},
         "usage has no output tokens of the API gemini, but candidateTokenCount; did you mean "
         "candidatesTokenCount?"),
        ("kimi", {"cached_tokens": 80},
         "usage has no input tokens of the API kimi (prompt_tokens or input_tokens), only "
         "cached_tokens"),
        ("anthropic", {},
         f"usage has no input or output tokens {ANTHROPIC}, only nothing"),
        ("anthropic", {"in\nput": 1, "x" * 90: 1},
         f"usage has no input or output tokens {ANTHROPIC}, only 'in\\nput', '{'x' * 56}..."),
        (None, {"input_tokens": 1, "iterations": [{"input_token": 5, "output_tokens": 1}]},
         "iterations[0].input_tokens is missing, there is only input_token, output_tokens"),
    ],
)  # fmt: skip
def test_an_object_without_the_input_of_its_api_is_refused_with_what_it_has_and_what_fits(
    api: str | None, raw: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput) as caught:
        price("claude-opus-5", raw, api=api)
    assert str(caught.value) == message


def test_two_misspelt_fields_are_answered_with_the_fields_that_were_meant() -> None:
    with pytest.raises(BadInput) as caught:
        price("claude-opus-5", {"input_token": 50, "output_token": 5})
    assert str(caught.value).startswith(
        "usage has none of the known fields, only input_token, output_token; did you mean "
        "input_tokens, output_tokens? name its API with --api: anthropic, openai-chat"
    )


@pytest.mark.parametrize(
    ("raw", "prompt"),
    [
        ({"prompt_tokens": 8, "total_tokens": 8}, 8),  # an embedding has no output
        ({"promptTokenCount": 8, "totalTokenCount": 8}, 8),  # a blocked answer, too
        ({"input_tokens": None, "output_tokens": 5}, 0),  # unknown, and a note says so
        ({"cache_read_input_tokens": 9, "output_tokens": 5}, 9),
        ({"prompt_cache_hit_tokens": 9, "prompt_cache_miss_tokens": 1, "completion_tokens": 1}, 10),
        ({"input_tokens": 8, "output_tokens_details": {"thinking_tokens": 0}}, 8),
    ],
)
def test_a_part_that_an_api_leaves_out_is_still_zero(raw: dict[str, Any], prompt: int) -> None:
    assert price("claude-opus-5", raw).reading.usage.prompt_tokens == prompt
