"""`cachecast calibrate`: what it refuses before it measures, what it says of a restless time."""

import random
import sys
from pathlib import Path

import pytest
from conftest import RunCli

from cachecast_replay.calibration.bench import Bench
from cachecast_replay.calibration.measure import Sample

ASKED = ("calibrate", "--engine", "torch:model")


@pytest.mark.parametrize("seconds", ["nan", "inf"])
def test_a_calibration_without_an_end_is_refused(
    run_cli: RunCli, tmp_path: Path, seconds: str
) -> None:
    code, out, err = run_cli(*ASKED, "--seconds", seconds, "-o", tmp_path / "latency.toml")
    assert (code, out) == (2, "")
    assert f" {seconds}" in err


def test_a_place_that_is_a_folder_is_refused_before_the_work(
    run_cli: RunCli, tmp_path: Path
) -> None:
    sentence = f"cachecast: {tmp_path}: is a folder, expected the name of a file\n"
    assert run_cli(*ASKED, "--force", "-o", tmp_path) == (2, "", sentence)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder that refuses even root")
def test_a_place_that_takes_no_file_is_refused_before_the_work(run_cli: RunCli) -> None:
    code, out, err = run_cli(*ASKED, "-o", "/proc/latency.toml")
    assert (code, out) == (2, "")
    assert err.startswith("cachecast: /proc/latency.toml: cannot be written: ")


def test_without_the_engine_extra_it_says_what_to_install(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text("{}", "utf-8")
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    monkeypatch.delitem(sys.modules, "cachecast_replay.calibration.fit", raising=False)
    engine = f"torch:{tmp_path}"
    found = run_cli("calibrate", "--engine", engine, "-o", tmp_path / "latency.toml")
    sentence = "cachecast: calibrate needs scipy and torch: pip install 'cachecast[engine]'\n"
    assert found == (2, "", sentence)


def a_round(factor: float) -> list[Sample]:
    """100 kinds of step: 1 ms and 0.1 ms a token, `factor` times that."""
    draw = random.Random(0)
    kinds = [(draw.randrange(1, 512), draw.randrange(64, 1024)) for _ in range(100)]
    return [
        Sample(0, point, (new, 1, new * context, 2, context, context + new),
               round(factor * (1_000_000 + 100_000 * new)))
        for point, (new, context) in enumerate(kinds)
    ]  # fmt: skip


@pytest.mark.parametrize(("slower", "said"), [(1.029, ""), (1.031, "the rounds are 3.1 % apart")])
def test_rounds_that_are_more_than_three_per_cent_apart_are_told(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slower: float, said: str
) -> None:
    """Three rounds, the last one slower than the two that agree."""
    rounds = [a_round(1), a_round(1), a_round(slower)]
    monkeypatch.setattr(Bench, "samples", lambda *asked: rounds)
    (tmp_path / "config.json").write_text("{}", "utf-8")
    code, out, err = run_cli(
        "calibrate", "--engine", f"torch:{tmp_path}", "-o", tmp_path / "latency.toml"
    )
    assert code == 0, err
    assert out.startswith("300 steps measured")
    assert said in err
    assert ("% apart" in err) == bool(said)
