"""A Llama of a few thousand weights in a folder, for servers that want a model and a tokenizer.

No weights: servers make their own at random (vLLM: --load-format dummy). The tokenizer has a word
for each id, so that answers are text and prompts may be.
"""

import json
from pathlib import Path
from typing import Any

VOCABULARY = 4096
_SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
_CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 2, "head_dim": 32, "vocab_size": VOCABULARY, "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0, "max_position_embeddings": 131_072, "tie_word_embeddings": True,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "dtype": "float32",
}  # fmt: skip


def write_tiny_llama(folder: Path) -> None:
    """config.json, tokenizer.json and tokenizer_config.json into `folder`, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    words = [*_SPECIAL, *(f"w{number}" for number in range(len(_SPECIAL), VOCABULARY))]
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
               "special": True}  # fmt: skip
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None,
        "post_processor": None, "decoder": None,
        "added_tokens": [{"id": n, "content": word, **special} for n, word in enumerate(_SPECIAL)],
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "vocab": {word: n for n, word in enumerate(words)},
                  "unk_token": "<unk>"},
    }  # fmt: skip
    about = {
        "tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>", "bos_token": "<s>",
        "eos_token": "</s>", "unk_token": "<unk>", "model_max_length": 131_072,
    }  # fmt: skip
    files = {"config": _CONFIG, "tokenizer": tokenizer, "tokenizer_config": about}
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
