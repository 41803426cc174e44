"""Which names mean which model: whole ids with known prefixes and suffixes, never a beginning."""

import pytest

from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog import load_catalog
from cachecast_pricing.model_ids import ModelRef, UnknownModel, is_regional

CATALOG = load_catalog()


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("claude-opus-5", "anthropic", "claude-opus-5"),
        ("claude-opus-5-5", "anthropic", "claude-opus-5.5"),
        ("Claude-Opus-5.5", "anthropic", "claude-opus-5.5"),
        ("claude-opus-4-5-20251101", "anthropic", "claude-opus-4.5"),
        ("claude-opus-4-5@20251101", "anthropic", "claude-opus-4.5"),
        ("claude-opus-5[1m]", "anthropic", "claude-opus-5"),
        ("claude-sonnet-4-5-20250929[1m]", "anthropic", "claude-sonnet-4.5"),
        ("claude-haiku-5-5-latest", "anthropic", "claude-haiku-5.5"),
        ("claude-3-7-sonnet-20250219", "anthropic", "claude-sonnet-3.7"),
        ("claude-3-5-haiku-20241022", "anthropic", "claude-haiku-3.5"),
        ("anthropic/claude-sonnet-5", "anthropic", "claude-sonnet-5"),
        ("openrouter/anthropic/claude-opus-5", "anthropic", "claude-opus-5"),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "anthropic", "claude-opus-4.5"),
        ("eu.anthropic.claude-opus-5-v1:0", "bedrock", "anthropic.claude-opus-5"),
        ("us.amazon.nova-pro-v1:0", "bedrock", "amazon.nova-pro-v1"),
        ("gpt-5-5", "openai", "gpt-5.5"),
        ("gpt-4o-2024-08-06", "openai", "gpt-4o"),
        ("azure/gpt-5.4-mini", "openai", "gpt-5.4-mini"),
        ("x-ai/grok-4.20", "xai", "grok-4.20"),
        ("models/gemini-2.5-pro", "google", "gemini-2.5-pro"),
        ("moonshotai/kimi-k3", "moonshot", "kimi-k3"),
        ("groq/openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"),
        ("glm-5p2", "fireworks", "glm-5p2"),
        ("glm-5-2", "zai", "glm-5.2"),
        ("minimax-m3", "minimax", "MiniMax-M3"),
    ],
)
def test_a_known_id_is_found_behind_its_accepted_spellings(
    name: str, provider: str, model: str
) -> None:
    assert CATALOG.resolve(name) == ModelRef(provider, model)


@pytest.mark.parametrize(
    "name",
    [
        "claude-opus-5-turbo",
        "claude-opus-5.5-preview",
        "claude-opus-4-20250514",
        "claude-opus-5-20251399",
        "gpt-5.5-high",
        "openai/kimi-k3",
        "someone/claude-opus-5",
        "claude-opus",
        "gpt",
        "",
    ],
)
def test_anything_else_after_or_before_a_known_id_is_an_unknown_model(name: str) -> None:
    with pytest.raises(UnknownModel, match="unknown model"):
        CATALOG.resolve(name)
    assert CATALOG.find(name) is None


def test_an_unknown_model_is_answered_with_close_names() -> None:
    with pytest.raises(UnknownModel, match=r"claude-opus-5"):
        CATALOG.resolve("claude-opos-5")


@pytest.mark.parametrize(
    ("name", "maker"),
    [("kimi-k3", "moonshot"), ("deepseek-v4-flash", "deepseek"), ("claude-opus-5", "anthropic")],
)
def test_an_id_that_several_providers_list_is_its_makers(name: str, maker: str) -> None:
    assert CATALOG.resolve(name).provider == maker


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("kimi-k3", "fireworks", "kimi-k3"),
        ("deepseek-v4-flash", "fireworks", "deepseek-v4-flash"),
        ("claude-opus-5", "bedrock", "anthropic.claude-opus-5"),
        ("gpt-oss-120b", "groq", "openai/gpt-oss-120b"),
        ("openai/gpt-oss-120b", "fireworks", "gpt-oss-120b"),
        ("claude-opus-5", "vertex", "claude-opus-5"),
    ],
)
def test_another_provider_of_the_model_has_to_be_asked_for(
    name: str, provider: str, model: str
) -> None:
    assert CATALOG.resolve(name, provider).model == model


def test_a_provider_without_the_model_says_who_has_it() -> None:
    with pytest.raises(UnknownModel, match=r"bedrock lists no price for .*; anthropic does"):
        CATALOG.resolve("claude-sonnet-4-5", "bedrock")


def test_an_unknown_provider_is_answered_with_the_known_ones() -> None:
    with pytest.raises(BadInput, match="known: alibaba, anthropic, bedrock"):
        CATALOG.resolve("claude-opus-5", "acme")
    assert CATALOG.find("claude-opus-5", "acme") is None


def test_a_log_without_a_model_has_no_price() -> None:
    assert CATALOG.find(None) is None
    assert CATALOG.find("  ") is None


@pytest.mark.parametrize(
    ("name", "regional"),
    [
        ("eu.anthropic.claude-opus-5", True),
        ("global.anthropic.claude-opus-5", False),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-5", True),
        ("claude-opus-5", False),
    ],
)
def test_only_an_id_with_a_region_of_its_own_is_regional(name: str, regional: bool) -> None:
    assert is_regional(name) is regional
