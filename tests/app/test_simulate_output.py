"""`cachecast simulate`: where its results go, and that they are the same on every way."""

import json
from pathlib import Path

import pytest
from conftest import RunCli

FLEET = """
[engine]
block_tokens = 512
blocks = 11
[latency]
kind = "fixed"
prefill_step_s = 1.0
decode_step_s = 0.01
"""
LOG = [
    {"timestamp": 0, "input_length": 1536, "output_length": 3, "hash_ids": [1, 2, 3]},
    {"timestamp": 5000, "input_length": 1500, "output_length": 3, "hash_ids": [1, 2, 4]},
    {"timestamp": 9000, "input_length": 1024, "output_length": 3, "hash_ids": [1, 5]},
]


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.toml"
    path.write_text(FLEET, encoding="utf-8")
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in LOG), encoding="utf-8")
    return path


def test_a_log_that_streams_and_the_same_one_imported_are_served_alike(
    run_cli: RunCli, log: Path, fleet: Path
) -> None:
    """Known faults 24 and 46: a source that streams, one that is loaded, and the run's own log."""
    ask = ("--fleet", fleet, "--per-request")
    streamed = run_cli("simulate", log, *ask)[1]
    assert len(streamed.splitlines()) == 3
    assert run_cli("simulate", log, *ask, "--skip-bad")[1] == streamed  # this imports it
    parquet = log.with_suffix(".parquet")
    assert run_cli("import", log, "-o", parquet)[0] == 0
    assert run_cli("simulate", parquet, *ask)[1] == streamed


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--steps"], "--steps: expected -o RUN too"),
        (["--as", "claude-opus-5", "--per-request"], "--as: --per-request does not show the bill"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused_without_a_run_and_taken_with_one(
    run_cli: RunCli, log: Path, fleet: Path, tmp_path: Path, options: list[str], sentence: str
) -> None:
    """Known fault 34."""
    code, out, err = run_cli("simulate", log, "--fleet", fleet, *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"cachecast: {sentence}")
    assert run_cli("simulate", log, "--fleet", fleet, *options, "-o", tmp_path / "run")[0] == 0


def test_the_steps_of_a_run_fill_its_time(
    run_cli: RunCli, log: Path, fleet: Path, tmp_path: Path
) -> None:
    """Three requests, none beside another: each 1 s of prefill and two steps of 10 ms."""
    run_cli("simulate", log, "--fleet", fleet, "--steps", "-o", tmp_path / "run")
    asked = "select count(*) steps, sum(duration_ns) ns, sum(prefill_tokens) tokens from steps"
    _, out, _ = run_cli("sql", tmp_path / "run", asked, "--csv")
    # 1,536; 1,500 but for two shared blocks; 1,024 but for one
    tokens = 1536 + (1500 - 1024) + (1024 - 512)
    assert out.splitlines() == ["steps,ns,tokens", f"9,{3 * 1_020_000_000},{tokens}"]


def test_a_run_that_exists_is_kept_and_a_fleet_file_that_is_a_folder_is_refused(
    run_cli: RunCli, log: Path, fleet: Path, tmp_path: Path
) -> None:
    run, made = tmp_path / "run", ("simulate", log, "--fleet", fleet, "-o")
    assert run_cli(*made, run)[0] == 0
    before = sorted((path.name, path.read_bytes()) for path in run.iterdir())
    code, _, err = run_cli(*made, run)
    assert (code, "there is a run already" in err) == (2, True)
    assert sorted((path.name, path.read_bytes()) for path in run.iterdir()) == before
    code, _, err = run_cli("simulate", log, "--fleet", run)
    assert (code, err) == (2, f"cachecast: {run}: cannot be read (Is a directory)\n")
