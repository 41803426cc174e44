"""Reused K and V change nothing: logits equal those of a pass without any reuse, at every token."""

from collections.abc import Sequence

import pytest
import torch
from replay.tiny_models import (
    Logits,
    logits_without_cache,
    run_watched,
    strong_weights,
    tiny_shape,
)

from cachecast_replay.engine.attention import BY_DEVICE, attention_of
from cachecast_replay.engine.blocks import BlockManager
from cachecast_replay.engine.engine import Engine
from cachecast_replay.engine.errors import EngineError

SHAPE = tiny_shape()
WEIGHTS = strong_weights(SHAPE)
# float32 sums in another order; logits here are around 10 (test_the_logits_differ_between_tokens)
TOLERANCE = 2e-4

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


def available_attentions() -> list[str]:
    found = []
    for name in BY_DEVICE["cpu"]:
        try:
            attention_of(name, torch.device("cpu"), SHAPE.head_dim, 1)
        except EngineError:
            continue
        found.append(name)
    return found


def engine_of(
    *,
    usable_blocks: int = 200,
    block_tokens: int = 4,
    max_batch_tokens: int = 64,
    max_seqs: int = 8,
    attention: str | None = None,
) -> Engine:
    return Engine(
        SHAPE,
        WEIGHTS,
        blocks=usable_blocks + 1,
        block_tokens=block_tokens,
        max_batch_tokens=max_batch_tokens,
        max_seqs=max_seqs,
        attention=attention,
    )


def play(engine: Engine, requests: Sequence[tuple[str, list[int], list[int]]] = REQUESTS) -> Logits:
    for name, prompt, output in requests:
        engine.add(name, prompt, len(output), output)
    return run_watched(engine, WEIGHTS)


def assert_equal_to_no_reuse(engine: Engine, seen: Logits) -> None:
    """Every computed token's logits are right, and every token was computed or reused."""
    for name, prompt, output in REQUESTS:
        expected = logits_without_cache(SHAPE, WEIGHTS, [*prompt, *output[:-1]])
        result = engine.results[name]
        assert list(result.output_token_ids) == output
        positions = [at for request, at in seen if request == name]
        reused = result.resume_hits[-1] if result.resume_hits else result.hit_tokens
        assert reused is not None
        assert set(range(reused, len(expected))) <= set(positions)
        for at in positions:
            torch.testing.assert_close(seen[name, at], expected[at], atol=TOLERANCE, rtol=0)


def hit_tokens(engine: Engine) -> dict[str, int | None]:
    return {name: result.hit_tokens for name, result in engine.results.items()}


def test_the_logits_differ_between_tokens() -> None:
    """Else the comparisons below would show nothing: another context is another answer."""
    one = logits_without_cache(SHAPE, WEIGHTS, [1, 2, 3, 4, 5, 6])
    other = logits_without_cache(SHAPE, WEIGHTS, [1, 9, 3, 4, 5, 6])
    torch.testing.assert_close(one[0], other[0], atol=TOLERANCE, rtol=0)
    assert 3 < one.abs().max() < 100
    assert (one[2:] - other[2:]).abs().amax(dim=1).min() > 0.1


@pytest.mark.parametrize("attention", BY_DEVICE["cpu"])
@pytest.mark.parametrize("max_batch_tokens", [1, 3, 7, 64])
@pytest.mark.parametrize("block_tokens", [1, 4, 16])
def test_logits_do_not_depend_on_chunks_or_blocks(
    attention: str, max_batch_tokens: int, block_tokens: int
) -> None:
    """All requests at once: chunked, mixed with decode, sharing blocks within one step."""
    if attention not in available_attentions():
        pytest.skip(f"attention {attention} cannot be had here: no C++ compiler")
    engine = engine_of(
        block_tokens=block_tokens, max_batch_tokens=max_batch_tokens, attention=attention
    )
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


@pytest.mark.parametrize("attention", BY_DEVICE["cpu"])
def test_what_lies_in_free_blocks_is_never_read(
    attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every block is filled with NaN when it is handed out, the null block from the start."""
    if attention not in available_attentions():
        pytest.skip(f"attention {attention} cannot be had here: no C++ compiler")
    engine = engine_of(usable_blocks=12, attention=attention)
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
    expected = logits_without_cache(SHAPE, WEIGHTS, REQUESTS[0][1])

    assert [at for _, at in seen] == [20]
    assert (seen["again", 20] - expected[20]).abs().max() > 0.1
