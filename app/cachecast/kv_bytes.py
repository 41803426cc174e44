"""Bytes that a token takes in a model's KV cache."""

from pathlib import Path

from cachecast.fleet_file import FilesBeside
from cachecast_sim.latency.catalog import model_shape
from cachecast_sim.latency.kv_memory import kv_bytes_per_token


def kv_bytes_of(model: str) -> int:
    """The bytes of a token over all layers, in the model's own dtype.

    `model` is a name of the catalogue or the path of a config.json, from where the command runs.
    BadInput for a model that is not known, with those that are.
    """
    return kv_bytes_per_token(model_shape(model, FilesBeside(Path())))
