"""From a schedule to the tensors of one forward pass."""

import numpy as np
import torch

from cachecast_replay.engine.attention.rows import Rows
from cachecast_replay.engine.blocks import NULL_BLOCK
from cachecast_replay.engine.model import StepInputs
from cachecast_replay.engine.scheduler import Part, Schedule


def step_inputs(schedule: Schedule, block_tokens: int, device: str | torch.device) -> StepInputs:
    """Inputs for all parts; `wanted` is the last token of each part that yields one."""
    parts = schedule.parts
    token_ids = np.concatenate([_new_tokens(part) for part in parts])
    positions = np.concatenate(
        [np.arange(part.start_tokens, part.end_tokens, dtype=np.int64) for part in parts]
    )
    tables = np.full((len(parts), max(len(part.sequence.blocks) for part in parts)), NULL_BLOCK)
    for row, part in zip(tables, parts, strict=True):
        row[: len(part.sequence.blocks)] = part.sequence.blocks
    news = [part.new_tokens for part in parts]
    blocks = tables[np.repeat(np.arange(len(parts)), news), positions // block_tokens]
    ends = np.cumsum(news) - 1
    wanted = ends[[part.yields for part in parts]]
    tensors = (
        torch.from_numpy(each).to(device)
        for each in (token_ids, positions, blocks * block_tokens + positions % block_tokens, wanted)
    )
    ids, at, slots, last = tensors
    rows = Rows(
        [part.start_tokens for part in parts],
        news,
        torch.from_numpy(tables.astype(np.int32)).to(device),
    )
    return StepInputs(ids, at, slots, rows, last)


def _new_tokens(part: Part) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    tokens = part.sequence.tokens[part.start_tokens : part.end_tokens]
    return np.asarray(tokens, dtype=np.int64)
