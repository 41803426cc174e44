"""Every way to compute attention gives what the formula gives; what cannot be had says why."""

import ctypes
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from replay.tiny_models import ON_A_CPU, ON_A_GPU, PLACES, Place, attention_or_skip, name_of
from torch import Tensor

from cachecast_replay.engine.attention import BY_DEVICE, attention_of, fastest_attention
from cachecast_replay.engine.attention.compiler import CannotBuildError, shared_library
from cachecast_replay.engine.attention.plain import plain
from cachecast_replay.engine.attention.rows import Rows
from cachecast_replay.engine.attention.varlen import token_places, varlen
from cachecast_replay.engine.errors import EngineError

CPU = torch.device("cpu")
TOLERANCE = 1e-5  # values are around 1: float32 sums in another order
BFLOAT16_TOLERANCE = 2e-2
OTHERS = [place for place in PLACES if place[1] != "plain"]
NATIVE: Place = ("cpu", "native", torch.float32)
# (tokens before, new tokens) of each sequence: decode, whole prompts, chunks, and all together
STEPS = {
    "decode": [(9, 1), (0, 1), (63, 1), (16, 1)],
    "prompts": [(0, 40), (0, 1), (0, 17)],
    "chunks": [(5, 3), (48, 33), (31, 2), (16, 16)],
    "mixed": [(70, 1), (0, 21), (8, 5), (15, 1)],
}
# (heads, kv_heads, head_dim): groups of 1, 3, 5 and 8, and sizes with and without a kernel of
# their own for single tokens
HEADS = [(2, 2, 16), (6, 2, 64), (5, 1, 32), (8, 1, 128), (4, 2, 48)]


def step_of(
    pairs: list[tuple[int, int]], heads: int, kv_heads: int, head_dim: int, block_tokens: int
) -> tuple[Rows, Tensor, Tensor, Tensor]:
    """Random q, k, v and shuffled tables; the first block is shared by all sequences."""
    torch.manual_seed(len(pairs) + heads + block_tokens)
    counts = [-(-(start + new) // block_tokens) for start, new in pairs]
    blocks = sum(counts) + 1
    numbers = iter((torch.randperm(blocks - 1) + 1).tolist())
    tables = torch.zeros(len(pairs), max(counts), dtype=torch.int32)
    for row, count in zip(tables, counts, strict=True):
        row[:count] = torch.tensor([next(numbers) for _ in range(count)])
        row[0] = tables[0, 0]
    k, v = torch.randn(2, blocks, block_tokens, kv_heads, head_dim)
    q = torch.randn(sum(new for _, new in pairs), heads, head_dim) * 2
    return Rows([start for start, _ in pairs], [new for _, new in pairs], tables), q, k, v


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("block_tokens", [1, 5, 16])
@pytest.mark.parametrize("heads", HEADS, ids=str)
@pytest.mark.parametrize("place", OTHERS, ids=name_of)
def test_it_equals_the_plain_one(
    place: Place, heads: tuple[int, int, int], block_tokens: int, step: str
) -> None:
    """In 16 bits both see the same rounded q, k and v, and the plain one rounds at its end only."""
    attention = attention_or_skip(place, heads[2])
    device, _, dtype = place
    rows, *tensors = step_of(STEPS[step], *heads, block_tokens)
    q, k, v = (each.to(device, dtype) for each in tensors)
    rows = replace(rows, tables=rows.tables.to(device))
    tolerance = TOLERANCE if dtype == torch.float32 else BFLOAT16_TOLERANCE
    torch.testing.assert_close(
        attention(rows)(q, k, v), plain(rows)(q, k, v), atol=tolerance, rtol=0
    )


def test_plain_attention_by_hand() -> None:
    """One head, head_dim 1. The second token scores 0 and ln 3 against keys 0 and ln 3: weights
    1/4 and 3/4 of values 8 and 4. The first sees only itself."""
    rows = Rows([0], [2], torch.tensor([[1]], dtype=torch.int32))
    k = torch.tensor([0.0, torch.log(torch.tensor(3.0))]).view(1, 2, 1, 1).repeat(2, 1, 1, 1)
    v = torch.tensor([8.0, 4.0]).view(1, 2, 1, 1).repeat(2, 1, 1, 1)
    mixed = plain(rows)(torch.ones(2, 1, 1), k, v)
    torch.testing.assert_close(mixed.flatten(), torch.tensor([8.0, 8 / 4 + 4 * 3 / 4]))


def test_native_attention_stands_large_and_far_apart_scores() -> None:
    """Scores up to some thousands: softmax subtracts the largest, and nothing overflows."""
    rows, q, k, v = step_of([(40, 1), (0, 30)], 6, 2, 64, 16)
    found = attention_or_skip(NATIVE, 64)(rows)(q * 100, k * 10, v)
    torch.testing.assert_close(found, plain(rows)(q * 100, k * 10, v), atol=1e-3, rtol=0)


def test_native_attention_with_several_threads_is_the_same_to_the_last_bit() -> None:
    rows, q, k, v = step_of(STEPS["mixed"], 6, 2, 64, 16)
    one, two = (attention_or_skip(NATIVE, 64, threads)(rows)(q, k, v) for threads in (1, 2))
    assert torch.equal(one, two)


@pytest.mark.parametrize("place", PLACES, ids=name_of)
def test_what_lies_behind_a_context_is_not_read(place: Place) -> None:
    """The rest of a last block and all blocks of nobody are NaN."""
    attention = attention_or_skip(place, 16)
    rows, *tensors = step_of([(9, 1), (3, 4)], 6, 2, 16, 4)
    q, k, v = (each.to(place[0], place[2]) for each in tensors)
    rows = replace(rows, tables=rows.tables.to(place[0]))
    clean = attention(rows)(q, k, v)
    used = {(int(rows.tables[0][at // 4]), at % 4) for at in range(10)}
    used |= {(int(rows.tables[1][at // 4]), at % 4) for at in range(7)}
    for block in range(len(k)):
        for at in range(4):
            if (block, at) not in used:
                k[block, at] = v[block, at] = torch.nan

    assert len(used) < k.shape[0] * 4
    assert torch.equal(attention(rows)(q, k, v), clean)


def flash(
    q: Tensor, k: Tensor, v: Tensor, new_ends: Tensor, seen_ends: Tensor, most: int, seen: int
) -> Tensor:
    """FlashAttention's part, as its documentation says it: causal, aligned to the end."""
    pieces = []
    for at in range(len(new_ends) - 1):
        new, context = (slice(int(ends[at]), int(ends[at + 1])) for ends in (new_ends, seen_ends))
        assert new.stop - new.start <= most
        assert context.stop - context.start <= seen
        scores = torch.einsum("qhd,khd->hqk", q[new], k[context]) * q.shape[2] ** -0.5
        late = torch.ones(scores.shape[1:], dtype=torch.bool).triu(
            1 + scores.shape[2] - scores.shape[1]
        )
        weights = scores.masked_fill(late, -torch.inf).softmax(-1)
        pieces.append(torch.einsum("hqk,khd->qhd", weights, v[context]))
    return torch.cat(pieces)


def flash_2_10(*tensors: Any, is_causal: bool = False) -> Tensor:
    assert is_causal
    return flash(*tensors)


def flash_2_12(
    q: Tensor, k: Tensor, v: Tensor, *lengths: Any, window_size: Any, enable_gqa: bool
) -> Tensor:
    assert (window_size, enable_gqa) == ((-1, 0), True)
    group = q.shape[1] // k.shape[1]
    return flash(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), *lengths)


@pytest.mark.parametrize("kernel", [flash_2_10, flash_2_12])
@pytest.mark.parametrize("step", STEPS)
def test_a_gpus_kernel_is_handed_the_right_tokens(
    kernel: object, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a GPU a stand-in for the kernel, with the options of two versions of torch."""
    module = pytest.importorskip(
        "torch.nn.attention.varlen", reason="this torch has no variable-length attention"
    )
    monkeypatch.setattr(module, "varlen_attn", kernel)
    rows, q, k, v = step_of(STEPS[step], 6, 2, 64, 5)
    torch.testing.assert_close(varlen(rows)(q, k, v), plain(rows)(q, k, v), atol=TOLERANCE, rtol=0)


def test_the_places_that_the_gpu_gathers_are_those_of_the_tables() -> None:
    """Blocks of 2: three tokens in blocks 4 and 1, one token in block 3."""
    tables = torch.tensor([[4, 1], [3, 0]], dtype=torch.int32)
    assert token_places(tables, torch.tensor([3, 1]), 2).tolist() == [8, 9, 2, 6]


def test_without_a_compiler_torchs_own_attention_is_used_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    assert fastest_attention(CPU, torch.float32, 16, 1)[0] == "sdpa"
    with pytest.raises(EngineError) as caught:
        attention_of("native", CPU, torch.float32, 16, 1)
    assert str(caught.value) == (
        "attention native: no C++ compiler was found (looked for c++, g++, clang++)"
    )


def test_a_compiler_that_fails_is_named_with_its_first_complaint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compiler = tmp_path / "cxx"
    compiler.write_text("#!/bin/sh\necho 'no such standard' >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = tmp_path / "some.cpp"
    source.write_text("int nothing;")
    with pytest.raises(CannotBuildError) as caught:
        shared_library(source)
    assert str(caught.value) == f"{compiler} failed: no such standard"
    assert not list((tmp_path / "cache" / "cachecast").iterdir())

    monkeypatch.setenv("CXX", str(tmp_path / "gone"))
    with pytest.raises(CannotBuildError, match=r"the library cannot be made: .*No such file"):
        shared_library(source)


def test_a_library_is_built_once_and_again_when_its_source_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    attention_or_skip(NATIVE, 64)  # is there a compiler?
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = tmp_path / "some.cpp"
    source.write_text('extern "C" int answer() { return 42; }')
    first = shared_library(source)
    made = first.stat().st_mtime_ns
    assert (shared_library(source), first.stat().st_mtime_ns) == (first, made)
    assert ctypes.CDLL(str(first)).answer() == 42

    source.write_text('extern "C" int answer() { return 43; }')
    assert ctypes.CDLL(str(shared_library(source))).answer() == 43


@pytest.mark.parametrize(
    ("name", "dtype", "head_dim", "message"),
    [
        (
            "native",
            torch.float32,
            24,
            "attention native needs a head_dim that is a multiple of 16, not 24",
        ),
        ("flash", torch.float32, 16, "attention 'flash' on cpu; known there: native, sdpa, plain"),
        (
            "varlen",
            torch.bfloat16,
            16,
            "attention 'varlen' on cpu; known there: native, sdpa, plain",
        ),
        (
            "native",
            torch.bfloat16,
            16,
            "attention native computes in float32, the weights are torch.bfloat16",
        ),
    ],
)
def test_what_cannot_be_had_is_an_error_that_says_why(
    name: str, dtype: torch.dtype, head_dim: int, message: str
) -> None:
    with pytest.raises(EngineError) as caught:
        attention_of(name, CPU, dtype, head_dim, 1)
    assert str(caught.value) == message


def test_a_gpu_without_flash_attention_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    assert fastest_attention(gpu, torch.bfloat16, 64, 1)[0] == "varlen"
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    assert fastest_attention(gpu, torch.bfloat16, 64, 1)[0] == "sdpa"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU on this machine")
def test_on_a_machine_with_a_gpu_its_ways_are_tested_like_the_others() -> None:
    assert set(ON_A_GPU) < set(PLACES)
    assert fastest_attention(torch.device("cuda"), torch.bfloat16, 64, 1)[0] == "varlen"


def test_every_device_has_a_way_that_always_works_and_all_ways_are_tested() -> None:
    assert {name for _, name, _ in ON_A_CPU} == set(BY_DEVICE["cpu"])
    assert {name for _, name, _ in ON_A_GPU} == set(BY_DEVICE["cuda"])
    assert {names[-1] for names in BY_DEVICE.values()} == {"plain"}
