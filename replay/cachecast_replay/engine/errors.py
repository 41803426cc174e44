"""What the engine refuses, said in one sentence."""

from cachecast_datasets.errors import BadInput


class EngineError(BadInput):
    """A model, a setting or a request that the engine cannot run; the message names the value."""
