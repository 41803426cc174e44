"""A model of a few thousand weights and a fleet of 100 tokens, for replays in tests."""

import json
from collections.abc import Callable
from pathlib import Path

CONFIG: dict[str, object] = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32,
    "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 128, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "max_position_embeddings": 4096, "tie_word_embeddings": True,
}  # fmt: skip
FLEET = """
[engine]
block_tokens = 4
blocks = 26
max_batch_tokens = 32
max_seqs = 4
[latency]
kind = "linear"
step_base_s = 0.001
per_token_s = 0.0001
"""


def write_model_and_fleet(folder: Path, config: dict[str, object], fleet: str) -> None:
    """What `--engine torch:model` and `--fleet fleet.toml` name."""
    (folder / "model").mkdir(parents=True, exist_ok=True)
    (folder / "model/config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "fleet.toml").write_text(fleet, encoding="utf-8")


def write_small_replay(folder: Path) -> None:
    """The model, the fleet file and a log of eight requests that share a beginning."""
    write_model_and_fleet(folder, CONFIG, FLEET)
    rows = [
        {"id": f"r{n}", "arrival": 0.0, "prompt_token_ids": [*range(16), *range(n, n + 5 + n)],
         "output_len": 6, "output_token_ids": [n + t for t in range(6)]}
        for n in range(8)
    ]  # fmt: skip
    (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def make_small_runs(cachecast: Callable[..., object]) -> None:
    """In the working folder: two replays, the prediction that the first one's durations drive, and
    one of another cache. `cachecast(*words)` runs a command and fails where it does."""
    replay = ("replay", "log.jsonl", "--engine", "torch:model", "--fleet", "fleet.toml")
    simulate = ("simulate", "log.jsonl", "--fleet", "fleet.toml")
    recorded = ("--set", "latency.kind=recorded", "--set", "latency.file=measured")
    cachecast(*replay, "-o", "measured")
    cachecast(*replay, "-o", "measured2")
    cachecast(*simulate, *recorded, "-o", "exact")
    cachecast(*simulate, "--set", "engine.block_tokens=32", "-o", "other")
