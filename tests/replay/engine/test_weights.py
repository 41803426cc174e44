"""Weights from a seed or from files, and files that do not fit."""

import json
from pathlib import Path

import pytest
import torch
from replay.tiny_models import CONFIG, tiny_shape
from torch import Tensor

from cachecast_replay.engine.engine import Engine
from cachecast_replay.engine.errors import EngineError
from cachecast_replay.engine.opening import open_engine
from cachecast_replay.engine.weights import (
    INDEX,
    SINGLE,
    dtype_of,
    expected_shapes,
    has_weights,
    load_weights,
    random_weights,
)

SHAPE = tiny_shape()


def tensors(seed: int = 0) -> dict[str, Tensor]:
    torch.manual_seed(seed)
    return {name: torch.randn(size) for name, size in expected_shapes(SHAPE).items()}


def save(named: dict[str, Tensor], path: Path) -> None:
    files = pytest.importorskip(
        "safetensors.torch", reason="safetensors is not installed: no file can be written"
    )
    files.save_file(named, path)


def test_a_seed_gives_the_same_weights_each_time_and_another_gives_others() -> None:
    one, same, other = (random_weights(SHAPE, seed) for seed in (5, 5, 6))
    assert torch.equal(one.layers[1].down, same.layers[1].down)
    assert not torch.equal(one.layers[1].down, other.layers[1].down)
    assert torch.equal(one.norm, torch.ones(48))
    assert one.layers[0].down.std().item() == pytest.approx(0.02, rel=0.1)
    assert one.head is not one.embedding


def test_tied_embeddings_are_one_tensor() -> None:
    weights = random_weights(tiny_shape(tie_word_embeddings=True))
    assert weights.head is weights.embedding


def test_matrices_of_one_input_lie_under_each_other(tmp_path: Path) -> None:
    named = tensors()
    save(named, tmp_path / SINGLE)
    layer = load_weights(tmp_path, SHAPE).layers[1]
    parts = [named[f"model.layers.1.self_attn.{part}_proj.weight"] for part in "qkv"]
    assert layer.qkv.shape == (96 + 32 + 32, 48)
    assert torch.equal(layer.qkv, torch.cat(parts))
    assert torch.equal(layer.gate_up[40:], named["model.layers.1.mlp.up_proj.weight"])


def test_several_files_with_an_index_are_one_model(tmp_path: Path) -> None:
    named = tensors()
    names = list(named)
    halves = {"a.safetensors": names[:9], "b.safetensors": names[9:]}
    for file, part in halves.items():
        save({name: named[name] for name in part}, tmp_path / file)
    places = {name: file for file, part in halves.items() for name in part}
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": places}))

    assert has_weights(tmp_path)
    assert torch.equal(load_weights(tmp_path, SHAPE).head, named["lm_head.weight"])


def test_a_cpu_computes_in_float32_and_a_gpu_in_bfloat16() -> None:
    assert (dtype_of("cpu"), dtype_of("cuda")) == (torch.float32, torch.bfloat16)
    assert random_weights(SHAPE, dtype=torch.bfloat16).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"model.norm.weight": None},
            "{folder}: 1 tensors of the model in config.json are missing, model.norm.weight first",
        ),
        (
            {"model.norm.weight": torch.ones(47)},
            "{file}: model.norm.weight is (47,), config.json asks for (48,)",
        ),
        (
            {"model.layers.2.mlp.up_proj.weight": torch.ones(40, 48)},
            "{file}: model.layers.2.mlp.up_proj.weight is no tensor of the model in config.json",
        ),
    ],
)
def test_weights_that_are_not_the_configs_are_refused(
    tmp_path: Path, change: dict[str, Tensor | None], problem: str
) -> None:
    named = {name: each for name, each in (tensors() | change).items() if each is not None}
    save(named, tmp_path / SINGLE)
    with pytest.raises(EngineError) as caught:
        load_weights(tmp_path, SHAPE)
    assert str(caught.value) == problem.format(folder=tmp_path, file=tmp_path / SINGLE)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_weights_of_any_float_are_read(tmp_path: Path, dtype: torch.dtype) -> None:
    save({name: each.to(dtype) for name, each in tensors().items()}, tmp_path / SINGLE)
    assert load_weights(tmp_path, SHAPE).dtype == torch.float32


@pytest.mark.parametrize(
    ("dtype", "name"), [(torch.int8, "int8"), (torch.float8_e4m3fn, "float8_e4m3fn")]
)
def test_quantised_weights_are_refused(tmp_path: Path, dtype: torch.dtype, name: str) -> None:
    """Without their scales they would be other numbers."""
    changed = tensors() | {"model.norm.weight": torch.ones(48).to(dtype)}
    save(changed, tmp_path / SINGLE)
    with pytest.raises(EngineError) as caught:
        load_weights(tmp_path, SHAPE)
    assert str(caught.value) == (
        f"{tmp_path / SINGLE}: model.norm.weight has dtype {name}, expected float32, bfloat16, "
        "float16, float64; quantised weights are not run"
    )


@pytest.mark.parametrize("name", ["model-00001-of-00002.safetensors", "pytorch_model.bin"])
def test_weights_under_another_name_are_not_taken_for_none(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(EngineError, match=f"there is {name}, expected weights in {SINGLE}, or in"):
        has_weights(tmp_path)
    (tmp_path / SINGLE).write_bytes(b"")
    assert has_weights(tmp_path)


def test_files_that_are_not_there_or_broken_are_named(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is not installed: nothing is read")
    with pytest.raises(EngineError, match=f"neither {SINGLE} nor {INDEX} is there"):
        load_weights(tmp_path, SHAPE)
    (tmp_path / SINGLE).write_bytes(b"no safetensors")
    with pytest.raises(EngineError, match=f"{SINGLE}: not a safetensors file: "):
        load_weights(tmp_path, SHAPE)
    (tmp_path / INDEX).write_text('{"weight_map": {"x": "gone.safetensors"}}')
    with pytest.raises(EngineError, match=r"the file 'gone.safetensors' that it names is not"):
        load_weights(tmp_path, SHAPE)
    (tmp_path / INDEX).write_text("[]")
    with pytest.raises(EngineError, match="expected an object with weight_map"):
        load_weights(tmp_path, SHAPE)


def open_tiny(folder: Path, seed: int = 0) -> Engine:
    return open_engine(
        folder, blocks=20, block_tokens=4, max_batch_tokens=16, max_seqs=4, seed=seed
    )


def test_a_model_that_does_not_fit_is_refused_before_any_of_it_is_made(tmp_path: Path) -> None:
    """A billion layers of this size, 4 bytes a weight, are more than any machine has free."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG | {"num_hidden_layers": 10**9}))
    with pytest.raises(EngineError, match=r"billion weights take [\d.]+ GiB, [\d.]+ GiB are free"):
        open_tiny(tmp_path)


def greedy(engine: Engine) -> tuple[int, ...]:
    engine.add("a", [1, 2, 3], 6)
    while engine.step() is not None:
        pass
    return engine.results["a"].output_token_ids


def test_an_opened_folder_uses_its_weights_where_it_has_some_and_a_seed_otherwise(
    tmp_path: Path,
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    seeded = [greedy(open_tiny(tmp_path, seed)) for seed in (0, 0, 1)]
    assert seeded[0] == seeded[1] != seeded[2]

    save(tensors(), tmp_path / SINGLE)
    stored = [greedy(open_tiny(tmp_path, seed)) for seed in (0, 1)]
    assert stored[0] == stored[1] != seeded[0]
