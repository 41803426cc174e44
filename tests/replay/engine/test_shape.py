"""What a config.json says about a model, and what the engine does not run."""

import json
import math
from pathlib import Path

import pytest
from replay.tiny_models import CONFIG, tiny_shape

from cachecast_replay.engine.errors import EngineError
from cachecast_replay.engine.rope import Rope
from cachecast_replay.engine.shape import ModelShape, read_shape
from cachecast_replay.engine.weights import expected_shapes


def written(folder: Path, config: object) -> Path:
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_sizes_come_from_the_config(tmp_path: Path) -> None:
    shape = read_shape(written(tmp_path, CONFIG | {"architectures": ["LlamaForCausalLM"]}))

    assert shape == ModelShape(
        vocab_size=50, hidden_size=48, intermediate_size=40, layers=2, heads=6, kv_heads=2,
        head_dim=16, norm_eps=1e-5, rope=Rope(10_000.0), tied_embeddings=False,
    )  # fmt: skip
    assert shape.group == 3
    assert shape.kv_bytes_per_token == 2 * 2 * 2 * 16 * 4  # K and V, layers, heads, dim, bytes


@pytest.mark.parametrize("tied", [False, True])
def test_the_number_of_parameters_is_that_of_all_tensors(tied: bool) -> None:
    shape = tiny_shape(tie_word_embeddings=tied)
    assert shape.parameters == sum(math.prod(size) for size in expected_shapes(shape).values())
    # per layer: q and o 96 x 48, k and v 32 x 48, gate, up and down 40 x 48; 2 FLOP a weight
    assert shape.flops_per_token == 2 * 2 * 48 * (96 + 96 + 32 + 32 + 40 + 40 + 40)


def test_what_the_config_leaves_out_is_llamas_usual_value() -> None:
    """As many K/V heads as heads, hidden / heads, eps 1e-6, theta 10,000, embeddings not tied."""
    shape = tiny_shape(
        num_key_value_heads=None, head_dim=None, rms_norm_eps=1e-6, num_attention_heads=4
    )
    assert (shape.kv_heads, shape.head_dim) == (4, 12)
    assert (shape.norm_eps, shape.rope) == (1e-6, Rope(10_000.0))
    assert shape.tied_embeddings is False


def test_both_spellings_of_rotary_settings_are_read() -> None:
    """Transformers 5 has rope_parameters, older configs rope_theta and rope_scaling."""
    new = tiny_shape(
        rope_theta=None, rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 500.0}
    )
    old = tiny_shape(rope_theta=500.0, rope_scaling={"type": "linear", "factor": 4})
    assert new.rope == old.rope == Rope(500.0, divisor=4.0)
    assert old.rope.frequencies(4) == [1 / 4, 500**-0.5 / 4]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"model_type": "qwen3"}, "model_type is 'qwen3'; the engine runs only 'llama'"),
        ({"hidden_act": "gelu"}, "hidden_act is 'gelu'; the engine runs only 'silu'"),
        ({"attention_bias": True}, "attention_bias is True; the engine runs only False"),
        ({"hidden_size": None}, "hidden_size is missing, expected a whole number >= 1"),
        ({"hidden_size": 48.0}, "hidden_size is 48.0, expected a whole number >= 1"),
        ({"vocab_size": 0}, "vocab_size is 0, expected a whole number >= 1"),
        ({"num_hidden_layers": True}, "num_hidden_layers is True, expected a whole number >= 1"),
        (
            {"num_key_value_heads": 4},
            "num_attention_heads 6 is no multiple of num_key_value_heads 4",
        ),
        (
            {"head_dim": None, "hidden_size": 50},
            "hidden_size 50 is no multiple of num_attention_heads 6, and there is no head_dim",
        ),
        ({"head_dim": 15}, "head_dim is 15, expected an even number"),
        ({"rms_norm_eps": 0}, "rms_norm_eps is 0, expected a number > 0"),
        ({"rope_theta": "10000"}, "rope_theta is '10000', expected a number > 0"),
        ({"rope_theta": float("inf")}, "rope_theta is inf, expected a number > 0"),
        ({"rms_norm_eps": float("nan")}, "rms_norm_eps is nan, expected a number > 0"),
        (
            {"quantization_config": {"quant_method": "gptq"}},
            (
                "has a quantization_config, which the engine does not run; expected a model in "
                "float32, bfloat16 or float16"
            ),
        ),
        ({"rope_scaling": 8}, "rope_parameters is 8, expected an object"),
        (
            {"rope_scaling": {"rope_type": "yarn", "factor": 4}},
            "rope scaling 'yarn' is not implemented; known: default, linear, llama3",
        ),
        (
            {"rope_scaling": {"rope_type": "llama3", "factor": 8}},
            "low_freq_factor is missing, expected a number > 0",
        ),
        (
            {"tie_word_embeddings": "yes"},
            "tie_word_embeddings is 'yes', expected true or false",
        ),
    ],
)
def test_a_config_that_cannot_be_run_is_refused_with_file_field_and_value(
    tmp_path: Path, changes: dict[str, object], problem: str
) -> None:
    with pytest.raises(EngineError) as caught:
        read_shape(written(tmp_path, CONFIG | changes))
    assert str(caught.value) == f"{tmp_path / 'config.json'}: {problem}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "No such file or directory; expected a Hugging Face style config.json"),
        ("{", "not JSON: Expecting property name enclosed in double quotes: line 1 column 2"),
        ("[]", "expected a JSON object"),
    ],
)
def test_a_folder_without_a_readable_config_is_named(
    tmp_path: Path, text: str | None, problem: str
) -> None:
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    with pytest.raises(EngineError) as caught:
        read_shape(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'config.json'}: {problem}")


def test_the_configs_of_real_models_are_read(shared: Path) -> None:
    """Llama 3.1 8B without its scaling, and the little one that real servers run here."""
    large = read_shape(shared / "peers" / "llama-8b")
    assert round(large.parameters / 1e9, 2) == 8.03
    assert large.kv_bytes_per_token == 2 * 32 * 8 * 128 * 4
    assert read_shape(shared / "real-engines" / "tiny-llama").tied_embeddings is True
