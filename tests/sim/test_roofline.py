"""Roofline step times, redone by hand from the data sheet and the model's shape."""

import json
from decimal import Decimal

import pytest
from latency_models import Files

from cachecast_sim.latency.catalog import hardware_named, model_shape, model_tables
from cachecast_sim.latency.kinds import latency_of
from cachecast_sim.latency.roofline import Roof, RooflineModel
from cachecast_sim.latency.weights import weights_of
from cachecast_sim.latency.work import attended, experts_read, work_of

FLOPS = 989.5e12
BYTES = 3350e9
# Llama 3.1 8B: matrices of a layer, and the head
LAYER = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336
HEAD = 128256 * 4096
NORMS = 65 * 4096
LLAMA = {"kind": "roofline", "model": "llama-3.1-8b", "hardware": "h100-sxm"}


def ns(seconds: float) -> int:
    return int(seconds * 1e9 + 0.5)


def test_decode_reads_the_weights_once_and_the_cache_of_every_request() -> None:
    """All but the embedding in 16 bits, then 128 KiB for each cached and each new token."""
    moved = 2 * (32 * LAYER + HEAD + NORMS) + (64 * 1000 + 64) * 2**17

    assert latency_of(LLAMA).step_ns(0, 0, 0, 64, 64 * 1000) == ns(moved / BYTES)


def test_prefill_computes_the_matrices_of_every_token_and_every_attention_pair() -> None:
    """Two FLOPs a weight, the head once, 4 × 32 heads × 128 FLOPs a pair in each of 32 layers."""
    pairs = 8192 * 8193 // 2
    flops = 8192 * 2 * 32 * LAYER + 2 * HEAD + pairs * 32 * 4 * 32 * 128

    assert latency_of(LLAMA).step_ns(8192, 1, pairs, 0, 0) == ns(flops / FLOPS)


def test_a_mixed_step_takes_the_longer_of_the_two_sums() -> None:
    """1,000 new tokens after 3,000 cached ones, beside 10 requests of 500 tokens."""
    pairs = 1000 * 3000 + 1000 * 1001 // 2
    flops = 1010 * 2 * 32 * LAYER + 11 * 2 * HEAD + (pairs + 5000) * 32 * 4 * 32 * 128
    moved = 2 * (32 * LAYER + HEAD + NORMS) + (5000 + 1010) * 2**17
    assert flops / FLOPS > moved / BYTES

    assert latency_of(LLAMA).step_ns(1000, 1, pairs, 10, 5000) == ns(flops / FLOPS)


def test_efficiencies_divide_and_the_overhead_adds() -> None:
    slow = {**LLAMA, "memory_efficiency": 0.5, "step_overhead_s": 0.001}
    moved = 2 * (32 * LAYER + HEAD + NORMS) + 101 * 2**17

    assert latency_of(slow).step_ns(0, 0, 0, 1, 100) == ns(moved / (BYTES / 2) + 0.001)

    half = latency_of({**LLAMA, "compute_efficiency": 0.5}).step_ns(4096, 1, 0, 0, 0)
    assert half == ns((4096 * 2 * 32 * LAYER + 2 * HEAD) / (FLOPS / 2))


def test_two_gpus_halve_the_work_and_pass_the_activations_on() -> None:
    """Ring of two: 2 sums × 32 layers × 4096 × 2 bytes a token, once over 450 GB/s each way."""
    one, two = latency_of(LLAMA), latency_of({**LLAMA, "tensor_parallel": 2})
    summed = 8192 * 2 * 32 * 4096 * 2 / 450e9
    flops = 8192 * 2 * 32 * LAYER + 2 * HEAD

    assert one.step_ns(8192, 1, 0, 0, 0) == ns(flops / FLOPS)
    assert two.step_ns(8192, 1, 0, 0, 0) == ns(flops / 2 / FLOPS + summed)


def test_fp8_weights_halve_the_bytes_and_double_the_rate_where_the_gpu_has_fp8() -> None:
    fp8 = latency_of({**LLAMA, "weight_dtype": "fp8"})
    moved = 32 * LAYER + 2 * (HEAD + NORMS) + 101 * 2**17
    head = 2 * HEAD / FLOPS

    assert fp8.step_ns(0, 0, 0, 1, 100) == ns(moved / BYTES)
    assert fp8.step_ns(8192, 1, 0, 0, 0) == ns(8192 * 2 * 32 * LAYER / 1979e12 + head)

    a100 = {**LLAMA, "hardware": "a100-80gb-sxm"}
    with_fp8, without = latency_of({**a100, "weight_dtype": "fp8"}), latency_of(a100)
    assert with_fp8.step_ns(8192, 1, 0, 0, 0) == without.step_ns(8192, 1, 0, 0, 0)
    assert "no FP8 units" in " ".join(with_fp8.assumptions())


def test_an_fp8_cache_halves_what_decode_reads_of_it() -> None:
    model = latency_of({**LLAMA, "kv_dtype": "fp8"})
    moved = 2 * (32 * LAYER + HEAD + NORMS) + 64 * 1001 * 2**16

    assert model.step_ns(0, 0, 0, 64, 64 * 1000) == ns(moved / BYTES)


def test_tied_embeddings_are_read_as_the_head() -> None:
    """Qwen2.5 0.5B reads all of its parameters in each step; Llama not its embedding."""
    assert work_of(model_shape("qwen2.5-0.5b"), 1).fixed_bytes == 2 * 494_032_768
    assert work_of(model_shape("llama-3.1-8b"), 1).fixed_bytes == 2 * (8_030_261_248 - HEAD)


def test_one_token_reads_its_own_experts_and_many_tokens_read_all() -> None:
    assert experts_read(128, 8, 1) == pytest.approx(8)
    assert experts_read(2, 1, 2) == pytest.approx(1.5)  # the second goes elsewhere half the time
    assert experts_read(128, 8, 10_000) == pytest.approx(128)


def test_a_mixture_of_experts_computes_only_those_of_each_token() -> None:
    """Qwen3 30B-A3B: 3.0 billion matrix elements work on a token, of 30.5."""
    weights = weights_of(model_shape("qwen3-30b-a3b"))
    work = work_of(model_shape("qwen3-30b-a3b"), 1)
    one_expert = 3 * 2048 * 768

    assert work.token_flops + work.expert_flops == 2 * (weights.active - weights.head)
    assert work.expert_flops == 2 * 48 * 8 * one_expert
    assert work.expert_bytes == 48 * one_expert * 2


def test_a_mixture_of_experts_decodes_slower_as_more_experts_are_met() -> None:
    """One token reads 8 of 128 experts in each layer, two read on average 15.5."""
    model = RooflineModel(model_shape("qwen3-30b-a3b"), hardware_named("h100-sxm"), Roof())
    expert = 48 * 3 * 2048 * 768 * 2 / BYTES * 1e9
    kv = 98_304 / BYTES * 1e9

    more = model.memory_ns(2, 2, 0) - model.memory_ns(1, 1, 0)
    assert more == pytest.approx(7.5 * expert + kv)


def test_latent_attention_decodes_on_the_compressed_entry() -> None:
    """Per pair, layer and head: keys of 576 and values of 512; in prefill 192 and 128."""
    work = work_of(model_shape("deepseek-v3"), 8)

    assert work.decode_pair_flops == 2 * 16 * (576 + 512)
    assert work.prefill_pair_flops == 2 * 16 * (192 + 128)
    assert work.kv_layer_bytes == 576 * 2


def test_layers_with_a_window_attend_to_no_more_than_it() -> None:
    """gpt-oss 20B: 12 layers see all pairs, 12 at most 128 for each query."""
    shape = model_shape("gpt-oss-20b")

    assert attended(shape, 100 * 1000, 100) == 12 * 100 * 1000 + 12 * 100 * 128
    assert attended(shape, 100 * 100, 100) == 24 * 100 * 100


def test_decode_steps_that_only_compute_and_never_wait_for_memory_still_grow() -> None:
    """Eight steps of 512 requests: the sum of eight steps, one by one."""
    model = latency_of({**LLAMA, "compute_efficiency": 0.1})
    one_by_one, now = [], 0
    for step in range(8):
        now += model.step_ns(0, 0, 0, 512, 512 * 100 + 512 * step)
        one_by_one.append(now)

    assert list(model.decode_ends_ns(512, 512 * 100, 8)) == one_by_one


def test_a_shape_of_an_own_config_file_can_be_used() -> None:
    files = Files({"my/config.json": json.dumps(model_tables()["llama-3.1-8b"].config)})
    own = latency_of({**LLAMA, "model": "my/config.json"}, files)

    assert own.step_ns(10, 1, 55, 3, 90) == latency_of(LLAMA).step_ns(10, 1, 55, 3, 90)
    assert "my/config.json on 1 × h100-sxm" in own.assumptions()[0]


def test_the_assumptions_name_the_sheet_its_day_and_what_is_idealised() -> None:
    model = latency_of({**LLAMA, "memory_efficiency": 0.8, "compute_efficiency": 0.6})
    assert model.assumptions() == (
        "step times are a roofline of llama-3.1-8b on 1 × h100-sxm (NVIDIA H100 data sheet: 1,979 "
        "and 3,958 with sparsity; memory: nvidia-smi, read 2026-11-29) at 0.6 of its FLOP/s, 0.8 "
        "of its memory and 1 of its link bandwidth, plus 0 s",
    )


def test_half_of_a_link_is_one_way() -> None:
    assert hardware_named("h100-sxm").interconnect_bytes_per_s / 2 == Decimal("450e9")
