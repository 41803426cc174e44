"""The same weights in Hugging Face's LlamaForCausalLM and in our model give the same logits."""

from pathlib import Path
from typing import Any

import pytest
import torch
from replay.tiny_models import CONFIG, logits_without_cache

from cachecast_replay.engine.engine import Engine
from cachecast_replay.engine.shape import read_shape
from cachecast_replay.engine.weights import INDEX, SINGLE, load_weights

transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: no other Llama to compare with"
)

TOLERANCE = 2e-4  # float32 sums in another order, logits of several units
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
}  # fmt: skip
TOKENS = [(7 * at * at + 3 * at) % 50 for at in range(60)]


def saved_llama(folder: Path, max_shard_size: str = "1GB", **changes: Any) -> Any:
    """A Llama of Hugging Face's with large random weights, written to `folder`."""
    transformers.set_seed(3)
    fields = {key: value for key, value in CONFIG.items() if key != "model_type"}
    config = transformers.LlamaConfig(
        **(fields | {"max_position_embeddings": 128, "eos_token_id": None} | changes)
    )
    model = transformers.LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(6.0 if weight.dim() == 2 else 1.3)
    model.save_pretrained(folder, max_shard_size=max_shard_size)
    return model


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tie_word_embeddings": True},
        {"num_key_value_heads": 6},
        {"num_key_value_heads": 1},
        {"head_dim": 8, "num_attention_heads": 4},
        {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}},
        {"rope_parameters": LLAMA3},
    ],
    ids=["untied", "tied", "one head each", "one K/V head", "small heads", "linear", "llama3"],
)
def test_logits_equal_those_of_transformers(tmp_path: Path, changes: dict[str, Any]) -> None:
    model = saved_llama(tmp_path, **changes)
    shape = read_shape(tmp_path)
    assert (tmp_path / SINGLE).is_file()
    ours = logits_without_cache(shape, load_weights(tmp_path, shape), TOKENS)
    with torch.no_grad():
        theirs = model(torch.tensor([TOKENS])).logits[0]

    assert theirs.abs().max() > 1
    torch.testing.assert_close(ours, theirs, atol=TOLERANCE, rtol=0)


def test_greedy_tokens_equal_those_of_transformers_generate(tmp_path: Path) -> None:
    """With chunks, blocks and decoding on our side; b comes in when a fills 7 blocks."""
    model = saved_llama(tmp_path, max_shard_size="20KB")
    assert (tmp_path / INDEX).is_file()
    shape = read_shape(tmp_path)
    engine = Engine(
        shape, load_weights(tmp_path, shape), blocks=40, block_tokens=4, max_batch_tokens=16,
        max_seqs=4,
    )  # fmt: skip
    for name, prompt in {"a": TOKENS[:30], "b": TOKENS[:45]}.items():
        engine.add(name, prompt, 12)
    while engine.step() is not None:
        pass

    assert engine.results["b"].hit_tokens == 28
    for name, prompt in {"a": TOKENS[:30], "b": TOKENS[:45]}.items():
        generated = model.generate(
            torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)), max_new_tokens=12,
            do_sample=False, pad_token_id=0,
        )  # fmt: skip
        assert list(engine.results[name].output_token_ids) == generated[0, len(prompt) :].tolist()
