"""replay/gpu_check.sh and what it runs, as far as a machine without a GPU can show it."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from cachecast_replay.engine.shape import shape_of

LLAMA_8B = {
    "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_key_value_heads": 8, "num_hidden_layers": 32, "vocab_size": 128256,
}  # fmt: skip


def check(root: Path, *options: str, python: str = sys.executable) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of the script."""
    ran = subprocess.run(
        ["bash", root / "replay/gpu_check.sh", *options], capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHON": python},
    )  # fmt: skip
    return ran.returncode, ran.stdout, ran.stderr


def test_a_dry_run_goes_the_whole_way_and_lock_step_is_exact(root: Path) -> None:
    code, out, err = check(root, "--dry-run")
    assert (code, err) == (0, "")
    assert re.search(r"sdpa: prefill of 64 tokens .* of the matrix rate; decode of 4 at ", out)
    assert "\nload 0.5: 12 requests, median of 2 replays\n" in out
    rows = re.findall(r"^  (\S.*?) {2,}\d.*?(met|missed|too noisy)?$", out, re.MULTILINE)
    assert rows[0] == ("lock-step, differences", "met")
    assert [name for name, _ in rows[1:]] == [
        "TTFT, measured schedule", "ITL, measured schedule", "TTFT, free-running",
        "TTFT of two replays", "ITL, free-running", "ITL of two replays",
    ]  # fmt: skip
    assert [bool(state) for _, state in rows[1:]] == [True, True, True, False, True, False]
    assert re.fullmatch(r"goals missed: .*|every goal .*", out.splitlines()[-1])


def test_an_option_that_is_unknown_is_one_sentence(root: Path) -> None:
    expected = "gpu_check: --dry is unknown; the only option is --dry-run\n"
    assert check(root, "--dry") == (2, "", expected)


def test_a_python_without_packages_is_told_which(root: Path, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n', encoding="utf-8")
    bare.chmod(0o755)
    code, out, err = check(root, python=str(bare))
    assert (code, out) == (1, "")
    assert err == (
        "gpu_check: this python lacks click, duckdb, msgspec, numpy, pyarrow, rich, scipy, simpy, "
        "torch, xxhash, zstandard, hypothesis, pytest; PYTHON=... names another one, "
        "PYTHONPATH=... a folder that has them\n"
    )


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_without_a_gpu_the_check_says_so(root: Path) -> None:
    expected = "gpu_check: torch finds no CUDA GPU on this machine; --dry-run needs none\n"
    assert check(root) == (1, "", expected)


@pytest.fixture(scope="module")
def shares(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("engine_gpu", root / "benchmarks/engine_gpu.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["engine_gpu"] = module  # its dataclass looks there
    spec.loader.exec_module(module)
    return module


def test_the_work_that_shares_are_of_is_an_8_billion_parameter_llamas(shares: ModuleType) -> None:
    """A layer has 4096 * 128 * 2 * (32 + 8) numbers in attention's matrices and 3 * 4096 * 14336 in
    the others: 218,103,808; 2 norms of 4096. A token's K and V take 2 * 32 * 8 * 128 numbers."""
    shape = shape_of(LLAMA_8B, "here")
    assert shape.parameters == 32 * (218_103_808 + 2 * 4096) + 2 * 128_256 * 4096 + 4096
    sizes = shares.Sizes(prompt=3, sequences=2, context=10)
    attended = 4 * 32 * 32 * 128 * (1 + 2 + 3)  # two products of 2 FLOP for each pair and number
    assert shares.prefill_flops(shape, sizes) == 3 * 2 * 32 * 218_103_808 + attended
    read = 32 * (218_103_808 + 2 * 4096) + 128_256 * 4096 + 4096  # one embedding is looked up
    assert shares.decode_bytes(shape, sizes, 2) == 2 * (read + 2 * 10 * 65_536)


def test_an_embedding_that_is_the_head_too_is_read(shares: ModuleType) -> None:
    shape = shape_of({**LLAMA_8B, "tie_word_embeddings": True}, "here")
    nothing_cached = shares.Sizes(sequences=0)
    assert shares.decode_bytes(shape, nothing_cached, 2) == 2 * shape.parameters
