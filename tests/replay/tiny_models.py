"""Small models whose attention matters, and ways to look at every logit that an engine computes."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from cachecast_replay.engine.attention import attention_of
from cachecast_replay.engine.attention.rows import Attention
from cachecast_replay.engine.engine import Engine
from cachecast_replay.engine.errors import EngineError
from cachecast_replay.engine.kv_cache import KVCache
from cachecast_replay.engine.model import Model, StepInputs
from cachecast_replay.engine.scheduler import Schedule, Scheduler
from cachecast_replay.engine.sequence import Sequence as EngineSequence
from cachecast_replay.engine.shape import ModelShape, shape_of
from cachecast_replay.engine.step_inputs import step_inputs
from cachecast_replay.engine.weights import Weights, expected_shapes, weights_of

CONFIG = {
    "model_type": "llama", "hidden_size": 48, "intermediate_size": 40, "num_hidden_layers": 2,
    "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 50,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
}  # fmt: skip
Place = tuple[str, str, torch.dtype]  # device, name of the attention, what it computes in

ON_A_CPU: tuple[Place, ...] = (
    ("cpu", "native", torch.float32),
    ("cpu", "sdpa", torch.float32),
    ("cpu", "sdpa", torch.bfloat16),
    ("cpu", "plain", torch.float32),
)
ON_A_GPU: tuple[Place, ...] = (
    ("cuda", "varlen", torch.bfloat16),
    ("cuda", "sdpa", torch.bfloat16),
    ("cuda", "sdpa", torch.float32),
    ("cuda", "plain", torch.float32),
)
# every way to compute attention that this machine may have
PLACES = ON_A_CPU + (ON_A_GPU if torch.cuda.is_available() else ())


def attention_or_skip(place: Place, head_dim: int, threads: int = 1) -> Attention:
    """The attention of one of PLACES; the test is skipped, with the reason, where it lacks."""
    device, name, dtype = place
    try:
        return attention_of(name, torch.device(device), dtype, head_dim, threads)
    except EngineError as problem:
        pytest.skip(str(problem))


def name_of(place: Place) -> str:
    return f"{place[0]}-{place[1]}-{str(place[2]).removeprefix('torch.')}"


def tiny_shape(**changes: object) -> ModelShape:
    return shape_of(CONFIG | changes, "the test's config")


def strong_weights(
    shape: ModelShape, device: str = "cpu", dtype: torch.dtype = torch.float32, seed: int = 1
) -> Weights:
    """Weights so large that attention is far from uniform and logits are around 10."""
    generator = torch.Generator().manual_seed(seed)

    def draw(size: tuple[int, ...]) -> Tensor:
        spread = 1.0 if len(size) == 1 else size[1] ** -0.5 * 2
        return torch.randn(size, generator=generator) * spread

    sizes = expected_shapes(shape)
    return weights_of(shape, ((name, draw(size)) for name, size in sizes.items()), device, dtype)


class Watched(Model):
    """A model that keeps the logits of all tokens of the latest forward pass."""

    latest: Tensor

    def hidden(self, inputs: StepInputs, cache: KVCache) -> Tensor:
        found = super().hidden(replace(inputs, wanted=None), cache)
        self.latest = self.logits(found)
        assert inputs.wanted is not None
        return found[inputs.wanted]


Logits = dict[tuple[str, int], Tensor]  # (request id, position) -> (vocab,)


def watch(engine: Engine, weights: Weights) -> Watched:
    """Make `engine` compute with a Watched model, same weights and attention."""
    attention = attention_of(
        engine.attention_name, engine.device, weights.dtype, engine.shape.head_dim, 1
    )
    engine.model = watched = Watched(engine.shape, weights, attention)
    return watched


def run_watched(engine: Engine, weights: Weights) -> Logits:
    """Run until no request is left; the logits of every token that was computed, the last time."""
    watched = watch(engine, weights)
    seen: Logits = {}
    while (record := engine.step()) is not None:
        row = 0
        for part in record.parts:
            for number in range(part.new_tokens):
                seen[part.request_id, part.context_tokens + number] = watched.latest[row]
                row += 1
    return seen


def logits_without_cache(shape: ModelShape, weights: Weights, tokens: Sequence[int]) -> Tensor:
    """(tokens, vocab): all of `tokens` in one pass through an empty cache, by plain attention."""
    engine = Engine(
        shape, weights, blocks=2, block_tokens=len(tokens), max_batch_tokens=len(tokens),
        max_seqs=1, device=weights.device.type, attention="plain",
    )  # fmt: skip
    scheduler: Scheduler = engine.scheduler
    scheduler.add(EngineSequence("whole", tokens, 1))
    schedule: Schedule = scheduler.schedule()
    inputs = replace(step_inputs(schedule, len(tokens), engine.device), wanted=None)
    return engine.model.logits(engine.model.hidden(inputs, engine.cache))
