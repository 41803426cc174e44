"""Parameters, KV bytes and blocks of a model, in arithmetic that a reader can redo."""

import dataclasses
import json
import re
from decimal import Decimal
from typing import Any

import pytest
from latency_models import Files

from cachecast_datasets.errors import BadInput
from cachecast_sim.latency.catalog import (
    hardware_catalog,
    hardware_named,
    model_catalog,
    model_shape,
    model_tables,
)  # fmt: skip
from cachecast_sim.latency.hf_config import shape_of_config
from cachecast_sim.latency.kv_memory import GpuMemory, blocks_in, gpu_memory, kv_blocks
from cachecast_sim.latency.kv_memory import kv_bytes_per_token as kv_bytes
from cachecast_sim.latency.weights import parameter_bytes, weights_of

GIB = 2**30
KIB = 2**10


def config(name: str, **changes: object) -> dict[str, Any]:
    return {**model_tables()[name].config, **changes}


def test_a_token_of_32_layers_32_heads_of_128_in_16_bits_takes_512_kib() -> None:
    """Key and value: 2 × 32 layers × 32 heads × 128 × 2 bytes."""
    assert kv_bytes(model_shape("llama-2-7b")) == 2 * 32 * 32 * 128 * 2 == 512 * KIB


def test_grouped_queries_keep_only_the_kv_heads() -> None:
    """8 of them: a quarter of the above."""
    assert kv_bytes(model_shape("llama-3.1-8b")) == 2 * 32 * 8 * 128 * 2 == 128 * KIB


def test_latent_attention_keeps_576_elements_a_token_and_layer() -> None:
    """512 compressed and 64 rotary, once: no second entry for values."""
    assert kv_bytes(model_shape("deepseek-v3")) == 61 * 576 * 2


@pytest.mark.parametrize(("dtype", "size"), [("fp32", 4), ("bf16", 2), ("fp8", 1), ("int8", 1)])
def test_the_kv_dtype_sets_the_bytes_of_an_element(dtype: str, size: int) -> None:
    shape = model_shape("llama-3.1-8b").in_dtypes(kv=dtype)
    assert kv_bytes(shape) == 2 * 32 * 8 * 128 * size


@pytest.mark.parametrize(("ranks", "kv_heads"), [(1, 8), (2, 4), (8, 1), (16, 1), (32, 1)])
def test_ranks_share_the_kv_heads_and_repeat_them_when_there_are_too_few(
    ranks: int, kv_heads: int
) -> None:
    assert kv_bytes(model_shape("llama-3.1-8b"), ranks) == 2 * 32 * kv_heads * 128 * 2


@pytest.mark.parametrize("ranks", [1, 2, 128])
def test_every_rank_keeps_the_whole_latent_entry(ranks: int) -> None:
    assert kv_bytes(model_shape("deepseek-v3"), ranks) == 61 * 576 * 2


@pytest.mark.parametrize("ranks", [0, 3, 64])
def test_heads_that_cannot_be_shared_out_are_refused_with_what_fits(ranks: int) -> None:
    with pytest.raises(BadInput, match=r"32 heads and 8 KV heads; expected one of 1, 2, 4, 8, 16"):
        kv_bytes(model_shape("llama-3.1-8b"), ranks)


def test_more_kv_heads_than_ranks_must_divide() -> None:
    """28 heads over 7 would be whole, but 4 KV heads are not."""
    with pytest.raises(BadInput, match=r"28 heads and 4 KV heads; expected one of 1, 2, 4, 28$"):
        kv_bytes(model_shape("qwen2.5-7b"), 7)


def test_the_parameters_of_a_dense_model_by_hand() -> None:
    """Llama 3.1 8B: two embeddings, 32 layers of q, k, v, o and three matrices, 65 norms."""
    attention = 4096 * 4096 * 2 + 2 * 4096 * 1024
    total = 2 * 128256 * 4096 + 32 * (attention + 3 * 4096 * 14336) + 65 * 4096

    assert weights_of(model_shape("llama-3.1-8b")).total == total == 8_030_261_248


@pytest.mark.parametrize("name", ["llama-3.1-8b", "deepseek-v3", "gpt-oss-20b"])
def test_ranks_hold_the_whole_model_between_them_and_a_little_twice(name: str) -> None:
    shape = model_shape(name)
    whole, rank = parameter_bytes(shape), parameter_bytes(shape, 8)

    assert whole / 8 < rank < whole / 8 * 1.05


def test_eight_bit_weights_halve_the_matrices_but_not_the_embeddings() -> None:
    shape = model_shape("llama-3.1-8b")
    weights = weights_of(shape)
    matrices = weights.attention + weights.feed_forward

    assert parameter_bytes(shape) == 2 * weights.total
    assert parameter_bytes(shape.in_dtypes("fp8")) == 2 * weights.total - matrices


def test_mxfp4_experts_take_four_and_a_quarter_bits() -> None:
    """One byte of scale for each 32 values; everything else in 16 bits."""
    shape = model_shape("gpt-oss-120b")
    weights = weights_of(shape)
    experts = 36 * 128 * 3 * 2880 * 2880

    assert parameter_bytes(shape) == experts * 17 // 32 + 2 * (weights.total - experts)


def test_an_unquantised_dtype_is_that_of_the_whole_model() -> None:
    shape = model_shape("llama-3.1-8b").in_dtypes("fp32")
    assert (shape.embedding_dtype, shape.kv_dtype) == ("fp32", "fp32")
    assert parameter_bytes(shape) == 4 * 8_030_261_248


def test_blocks_fill_what_weights_and_reserve_leave() -> None:
    """80 GiB × 0.9 = 72; 14.957 weights and 2 reserve leave 55.043; a block takes 2 MiB."""
    memory = GpuMemory(Decimal(80), Decimal("0.9"), Decimal(2))
    left = 72 * GIB - 2 * 8_030_261_248 - 2 * GIB

    assert kv_blocks(memory, model_shape("llama-3.1-8b"), 16) == left // (16 * 128 * KIB) == 28181


def test_blocks_of_several_gpus_hold_a_share_of_each_token() -> None:
    """70B on one GPU of 80 GiB does not fit; on four, 20 GiB of weights leave room on each."""
    memory, shape = GpuMemory(Decimal(80), Decimal("0.9")), model_shape("llama-3.1-70b")

    with pytest.raises(BadInput) as told:
        kv_blocks(memory, shape, 16)
    assert str(told.value) == (
        "llama-3.1-70b does not fit: of 72.00 usable GiB its weights take 131.42 and the reserve "
        "0.00, which leaves 0 blocks of 16 tokens, expected at least 2"
    )
    weights = parameter_bytes(shape, 4)
    assert kv_blocks(memory, shape, 16, 4) == (72 * GIB - weights) // (16 * 80 * KIB)


def test_the_smallest_cache_has_two_blocks() -> None:
    """One of them is the null block."""
    shape = model_shape("llama-3.1-8b")
    for blocks in (1, 2):
        need = Decimal(2 * 8_030_261_248 + blocks * 2 * 2**20) / GIB
        memory = GpuMemory(need, Decimal(1))
        if blocks == 2:
            assert kv_blocks(memory, shape, 16) == 2
        else:
            with pytest.raises(BadInput, match="leaves 1 blocks of 16 tokens, expected at least 2"):
                kv_blocks(memory, shape, 16)


def test_blocks_without_a_reserve_are_named_an_upper_bound() -> None:
    assert "activation_reserve_gib" in gpu_memory({"memory_gib": 80}).assumptions()[0]
    assert gpu_memory({"memory_gib": 80, "activation_reserve_gib": 2}).assumptions() == ()
    assert gpu_memory({"memory_gib": 80}).gpu_memory_utilization == Decimal("0.92")
    with pytest.raises(BadInput, match=r"^engine\.memory_gib is 0, expected a number from 0.001"):
        gpu_memory({"memory_gib": 0})


def test_a_config_file_gives_the_shape_of_the_catalogue() -> None:
    files = Files({"dir/config.json": json.dumps(config("gpt-oss-20b"))})
    shape = model_shape("dir/config.json", files)

    assert dataclasses.replace(shape, name="gpt-oss-20b") == model_shape("gpt-oss-20b")


@pytest.mark.parametrize("name", ["meta-llama/Llama-3.1-8B", "Llama_3.1_8B", " llama-3.1-8b "])
def test_a_model_is_found_by_its_repository_and_other_spellings(name: str) -> None:
    assert model_shape(name) == model_shape("llama-3.1-8b")
    assert hardware_named("H100_SXM") == hardware_named("h100-sxm")


def test_half_of_the_layers_of_gpt_oss_have_a_window() -> None:
    shape = model_shape("gpt-oss-20b")
    assert (shape.layers, shape.window_layers, shape.window_tokens) == (24, 12, 128)


@pytest.mark.parametrize(
    ("changes", "window_layers"),
    [
        ({"model_type": "mistral", "sliding_window": 4096}, 32),
        ({"model_type": "mistral", "sliding_window": None}, 0),
        ({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": False}, 0),
        (
            {
                "model_type": "qwen2",
                "sliding_window": 4096,
                "use_sliding_window": True,
                "max_window_layers": 28,
            },
            4,
        ),
    ],
)
def test_windows_hold_for_the_layers_that_the_config_says(
    changes: dict[str, object], window_layers: int
) -> None:
    shape = shape_of_config(config("llama-3.1-8b", **changes), "x")
    assert shape.window_layers == window_layers


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"model_type": "lama"}, "x: unknown model_type 'lama'; did you mean 'llama'? known: "),
        ({"model_type": None}, "x: unknown model_type None"),
        ({"hidden_size": None}, "x.hidden_size is missing"),
        ({"hidden_size": 0}, "x.hidden_size is 0, expected a whole number from 1"),
        ({"num_hidden_layers": "32"}, "x.num_hidden_layers is '32', expected a whole number"),
        ({"torch_dtype": "int3"}, "x.torch_dtype is 'int3', expected bfloat16, float16, float32"),
        ({"quantization_config": "fp8"}, "x.quantization_config is 'fp8', expected a table"),
        ({"quantization_config": {"quant_method": "q"}}, "x.quantization_config: unknown quant_"),
        ({"layer_types": ["linear_attention"] * 32}, "x.layer_types: expected 32 times sliding_"),
        ({"num_experts": 8}, "x.num_experts_per_tok is missing"),
        ({"num_experts": 8, "decoder_sparse_step": 2}, "x: layers without experts in between"),
    ],
)
def test_a_config_that_we_cannot_count_is_told_why(changes: dict[str, object], told: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(told)}"):
        shape_of_config(config("llama-3.1-8b", **changes), "x")


@pytest.mark.parametrize(
    ("text", "told"), [("{", "c.json: not JSON: "), ("[]", "c.json: expected a JSON object")]
)
def test_a_file_that_is_no_config_is_told_so(text: str, told: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(told)}"):
        model_shape("c.json", Files({"c.json": text}))


@pytest.mark.parametrize(
    ("quantised", "dtypes"),
    [
        ({"quant_method": "fp8"}, ("fp8", "fp8", "bf16")),
        ({"quant_method": "mxfp4"}, ("bf16", "mxfp4", "bf16")),
        ({"quant_method": "awq", "bits": 4}, ("int4", "int4", "bf16")),
        ({"quant_method": "gptq", "bits": 8}, ("int8", "int8", "bf16")),
    ],
)
def test_quantised_configs_keep_embeddings_and_cache_in_16_bits(
    quantised: dict[str, object], dtypes: tuple[str, str, str]
) -> None:
    shape = shape_of_config(config("llama-3.1-8b", quantization_config=quantised), "x")
    assert (shape.weight_dtype, shape.expert_dtype, shape.embedding_dtype) == dtypes
    assert shape.kv_dtype == "bf16"


def test_every_entry_of_the_catalogue_has_its_source_and_day() -> None:
    day = re.compile(r"20\d\d-\d\d-\d\d")
    for hardware in hardware_catalog().values():
        assert day.fullmatch(hardware.checked)
        assert "data sheet" in hardware.source or "architecture paper" in hardware.source
    for table in model_tables().values():
        assert day.fullmatch(table.checked)
        assert re.fullmatch(r"[\w-]+/[\w.-]+", table.repository)
    assert list(model_catalog()) == list(model_tables())


def test_no_gpu_claims_the_sparse_rate_of_its_sheet() -> None:
    """FP8 is twice the 16-bit rate; Hopper's sparse 1,979 would be as much as its dense FP8."""
    for hardware in hardware_catalog().values():
        if hardware.fp8_flops_per_s is not None:
            ratio = hardware.fp8_flops_per_s / hardware.bf16_flops_per_s
            assert Decimal("1.99") < ratio < Decimal("2.03"), hardware.name
    assert hardware_named("h100-sxm").bf16_flops_per_s == Decimal("989.5e12")


def test_blocks_in_a_cache_are_whole() -> None:
    shape = model_shape("llama-3.1-8b")
    assert blocks_in(2 * 2**20 - 1, shape, 16) == 0
    assert blocks_in(2 * 2**20, shape, 16) == 1
