"""A model of a few thousand weights and a fleet of 100 tokens, for replays in tests."""

CONFIG = {
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
