"""The words that an anonymised log keeps as they are: enumerations, never somebody's own text.

Everything else that is a string is hashed, dropped or called `other`. Model names are kept too
(without the private part of fine-tuned models and resource names), because prices need them.
"""

from cachecast_datasets.request import KINDS, SECTIONS

KEPT: dict[str, frozenset[str]] = {
    "kind": frozenset(KINDS),
    "role": frozenset({*SECTIONS, "model", "function"}),
    "boundary": frozenset({*SECTIONS, "turn", "shared", "end"}),
    "provider": frozenset(
        {
            "alibaba", "anthropic", "aws", "azure", "bedrock", "cerebras", "cohere", "deepinfra",
            "deepseek", "fireworks", "gemini", "google", "groq", "minimax", "mistral", "moonshot",
            "moonshotai", "novita", "openai", "openrouter", "parasail", "qwen", "sglang",
            "siliconflow", "together", "vertex", "vllm", "xai", "zai",
        }
    ),
    "platform": frozenset({"first-party", "bedrock", "vertex", "azure", "openrouter"}),
    "region": frozenset(
        {
            "us", "eu", "apac", "global", "us-east-1", "us-east-2", "us-west-1", "us-west-2",
            "eu-west-1", "eu-west-2", "eu-west-3", "eu-central-1", "eu-north-1", "ap-northeast-1",
            "ap-southeast-1", "ap-southeast-2", "ap-south-1", "us-central1", "us-east5",
            "europe-west1", "europe-west4", "asia-southeast1",
        }
    ),
    "service_tier": frozenset(
        {"auto", "default", "standard", "standard_only", "batch", "flex", "priority", "fast"}
    ),
    "speed": frozenset({"standard", "fast"}),
    "cache_mode": frozenset({"auto", "auto:5m", "auto:1h", "implicit", "explicit", "none"}),
    "currency": frozenset({"USD", "CNY", "EUR"}),
    "cost_kind": frozenset({"invoice", "provider", "estimate"}),
}  # fmt: skip

# names of settings, by the request path of the provider
SETTING_NAMES: frozenset[str] = frozenset(
    {
        "citations", "context_management", "disable_parallel_tool_use", "max_tokens",
        "output_config.effort", "output_config.format", "parallel_tool_calls", "prewarm",
        "prompt_cache_key", "prompt_cache_options.mode", "prompt_cache_options.ttl",
        "prompt_cache_retention", "reasoning.effort", "reasoning_effort", "response_format",
        "speed", "stream", "text.format", "text.verbosity", "thinking", "tool_choice",
        "tool_choice.disable_parallel_tool_use", "verbosity", "web_fetch", "web_search",
    }
)  # fmt: skip

# values that are one of a provider's own choices
SETTING_VALUES: frozenset[str] = frozenset(
    {
        "true", "false", "on", "off", "null", "0", "1",
        "auto", "none", "any", "required", "default", "standard", "fast",
        "enabled", "disabled", "adaptive",
        "minimal", "low", "medium", "high", "xhigh", "max",
        "text", "json_object", "json_schema", "concise", "detailed",
        "implicit", "explicit", "5m", "30m", "1h", "12h", "24h", "in_memory", "in-memory",
    }
)  # fmt: skip
