"""Reused K and V change nothing: logits equal those of a pass without any reuse, at every token."""

from collections.abc import Sequence
from functools import cache

import pytest
import torch
from replay.tiny_models import (
    PLACES,
    Logits,
    Place,
    attention_or_skip,
    logits_without_cache,
    name_of,
    run_watched,
    strong_weights,
    tiny_shape,
)
from torch import Tensor

from cachecast_replay.engine.blocks import BlockManager
from cachecast_replay.engine.engine import Engine
from cachecast_replay.engine.weights import Weights

SHAPE = tiny_shape()
# float32 sums in another order; logits here are around 10 (test_the_logits_differ_between_tokens)
TOLERANCE = 2e-4
# 8 bits of mantissa leave no fixed distance, but the direction: 1 - cosine of the logits
BFLOAT16_TOLERANCE = 5e-3
FALLBACK: Place = ("cpu", "sdpa", torch.float32)  # what every machine has

START = [7, 3, 9, 9, 4, 1, 30, 12, 8, 2, 49, 17]
# (id, prompt, forced output): a shared start of 12, one repeated prompt, a later turn of it
REQUESTS: list[tuple[str, list[int], list[int]]] = [
    ("first", [*START, *[5] * 9], [11, 12, 13, 14, 15, 16]),
    ("second", [*START, 6, 7, 8], [21, 22, 23, 24, 25, 26, 27, 28]),
    ("alone", [40, 41, 42, 43, 44], [31, 32]),
    ("repeated", [*START, *[5] * 9], [33, 34, 35]),
    ("turn", [*START, *[5] * 9, 11, 12, 13, 14, 15, 16, 45, 46], [36, 37]),
    ("one", [48], [1]),
]


@cache
def weights_at(device: str, dtype: torch.dtype) -> Weights:
    return strong_weights(SHAPE, device, dtype)


@cache
def expected_logits(device: str, dtype: torch.dtype, *tokens: int) -> Tensor:
    return logits_without_cache(SHAPE, weights_at(device, dtype), tokens)


def engine_of(
    *,
    usable_blocks: int = 200,
    block_tokens: int = 4,
    max_batch_tokens: int = 64,
    place: Place = FALLBACK,
) -> Engine:
    attention_or_skip(place, SHAPE.head_dim)
    device, attention, dtype = place
    return Engine(
        SHAPE, weights_at(device, dtype), blocks=usable_blocks + 1, block_tokens=block_tokens,
        max_batch_tokens=max_batch_tokens, max_seqs=8, device=device, attention=attention,
    )  # fmt: skip


def play(engine: Engine, requests: Sequence[tuple[str, list[int], list[int]]] = REQUESTS) -> Logits:
    for name, prompt, output in requests:
        engine.add(name, prompt, len(output), output)
    return run_watched(engine, weights_at(engine.device.type, engine.cache.pages.dtype))


def assert_equal_to_no_reuse(engine: Engine, seen: Logits) -> None:
    """Every computed token's logits are right, and every token was computed or reused."""
    dtype = engine.cache.pages.dtype
    for name, prompt, output in REQUESTS:
        expected = expected_logits(engine.device.type, dtype, *prompt, *output[:-1])
        result = engine.results[name]
        assert list(result.output_token_ids) == output
        positions = [at for request, at in seen if request == name]
        reused = result.resume_hits[-1] if result.resume_hits else result.hit_tokens
        assert reused is not None
        assert set(range(reused, len(expected))) <= set(positions)
        for at in positions:
            assert_close(seen[name, at], expected[at], dtype)


def assert_close(found: Tensor, expected: Tensor, dtype: torch.dtype) -> None:
    if dtype == torch.float32:
        torch.testing.assert_close(found, expected, atol=TOLERANCE, rtol=0)
    else:
        cosine = torch.nn.functional.cosine_similarity(found, expected, dim=0)
        assert 1 - cosine.item() < BFLOAT16_TOLERANCE


def hit_tokens(engine: Engine) -> dict[str, int | None]:
    return {name: result.hit_tokens for name, result in engine.results.items()}


def test_the_logits_differ_between_tokens() -> None:
    """Else the comparisons below would show nothing: another context is another answer."""
    one, other = (expected_logits("cpu", torch.float32, 1, second, 3, 4, 5, 6) for second in (2, 9))
    torch.testing.assert_close(one[0], other[0], atol=TOLERANCE, rtol=0)
    assert 3 < one.abs().max() < 100
    assert (one[2:] - other[2:]).abs().amax(dim=1).min() > 0.1
    cosines = torch.nn.functional.cosine_similarity(one[2:], other[2:], dim=1)
    assert (1 - cosines).max() > 4 * BFLOAT16_TOLERANCE


@pytest.mark.parametrize("place", PLACES, ids=name_of)
@pytest.mark.parametrize("max_batch_tokens", [1, 3, 7, 64])
@pytest.mark.parametrize("block_tokens", [1, 4, 16])
def test_logits_do_not_depend_on_chunks_or_blocks(
    place: Place, max_batch_tokens: int, block_tokens: int
) -> None:
    """All requests at once: chunked, mixed with decode, sharing blocks within one step."""
    engine = engine_of(block_tokens=block_tokens, max_batch_tokens=max_batch_tokens, place=place)
    seen = play(engine)

    assert_equal_to_no_reuse(engine, seen)
    shared = 12 // block_tokens * block_tokens
    assert hit_tokens(engine)["second"] == shared


def test_requests_one_after_the_other_reuse_what_earlier_ones_put_out() -> None:
    """ "turn" finds 21 prompt and 5 computed output tokens of "first": 26 // 4 blocks of 4."""
    engine = engine_of()
    seen: Logits = {}
    for request in REQUESTS:
        seen |= play(engine, [request])

    assert_equal_to_no_reuse(engine, seen)
    assert hit_tokens(engine) == {
        "first": 0, "second": 12, "alone": 0, "repeated": 20, "turn": 24, "one": 0,
    }  # fmt: skip


@pytest.mark.parametrize("usable_blocks", [8, 9, 10])
def test_logits_are_the_same_after_preemption_and_eviction(usable_blocks: int) -> None:
    """Pools of 32 to 40 tokens; the longest request alone computes 30."""
    engine = engine_of(usable_blocks=usable_blocks)
    seen = play(engine)

    assert_equal_to_no_reuse(engine, seen)
    assert engine.manager.evicted_blocks > 0
    assert sum(result.preemptions for result in engine.results.values()) > 0


@pytest.mark.parametrize("place", PLACES, ids=name_of)
def test_what_lies_in_free_blocks_is_never_read(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every block is filled with NaN when it is handed out, the null block from the start."""
    engine = engine_of(usable_blocks=12, place=place)
    engine.cache.pages.fill_(torch.nan)
    allocate = BlockManager.allocate

    def allocate_poisoned(manager: BlockManager, count: int) -> list[int]:
        blocks = allocate(manager, count)
        engine.cache.pages[:, :, blocks] = torch.nan
        return blocks

    monkeypatch.setattr(BlockManager, "allocate", allocate_poisoned)
    seen = play(engine)

    assert_equal_to_no_reuse(engine, seen)
    assert engine.manager.evicted_blocks > 0


def test_a_hit_uses_the_stored_k_and_v_and_does_not_compute_them_again() -> None:
    """Shown by damaging it: the stored V of a shared block reaches the second request."""
    engine = engine_of()
    play(engine, REQUESTS[:1])
    engine.cache.pages[:, 1, 1] += 1.0
    seen = play(engine, [("again", REQUESTS[0][1], [11])])
    expected = expected_logits("cpu", torch.float32, *REQUESTS[0][1])

    assert [at for _, at in seen] == [20]
    assert (seen["again", 20] - expected[20]).abs().max() > 0.1
