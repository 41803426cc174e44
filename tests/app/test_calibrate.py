"""`cachecast calibrate`: what it refuses before it measures."""

from pathlib import Path

import pytest
from conftest import RunCli

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
