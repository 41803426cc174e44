"""Bytes that a token takes in a model's KV cache."""

from cachecast_datasets.errors import BadInput


def kv_bytes_of(model: str) -> int:
    """The bytes of a token over all layers; BadInput for a model whose shape is not known."""
    raise BadInput(
        f"--model {model}: no model's shape is known yet; give the bytes of a token with "
        "--kv-bytes-per-token N (2 x layers x KV heads x head dimension x bytes of a number)"
    )
