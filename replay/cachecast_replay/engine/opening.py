"""A model folder opened for the engine; the one module that may be imported without torch."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachecast_replay.engine.errors import EngineError
from cachecast_replay.engine.shape import read_shape

if TYPE_CHECKING:
    from cachecast_replay.engine.engine import Engine


def open_engine(
    folder: Path,
    *,
    blocks: int,
    block_tokens: int,
    max_batch_tokens: int,
    max_seqs: int,
    device: str = "cpu",
    threads: int = 1,
    seed: int = 0,
) -> "Engine":
    """An engine for the config.json in `folder`, with its safetensors or weights from `seed`.

    Raises EngineError, which says what to do: no torch, no GPU, a model that does not fit, weights
    that are not the config's.
    """
    shape = read_shape(folder)
    try:
        from cachecast_replay.engine.engine import Engine, usable_device
        from cachecast_replay.engine.room import check_weights
        from cachecast_replay.engine.weights import has_weights, load_weights, random_weights
    except ModuleNotFoundError as problem:
        if problem.name != "torch":
            raise
        raise EngineError("the engine needs torch: pip install 'cachecast[engine]'") from None
    check_weights(shape, usable_device(device))
    if has_weights(folder):
        weights = load_weights(folder, shape, device)
    else:
        weights = random_weights(shape, seed, device)
    return Engine(
        shape,
        weights,
        blocks=blocks,
        block_tokens=block_tokens,
        max_batch_tokens=max_batch_tokens,
        max_seqs=max_seqs,
        device=device,
        threads=threads,
    )
