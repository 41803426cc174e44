"""`cachecast import` as scripts and people call it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RunCli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    lines: list[dict[str, Any]] = [
        {"at": 0, "prompt": [["user", "Q", 5]], "model": "m", "session": "s"},
        {"at": 2, "prompt": [["user", "Q", 5]], "output": -3},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_bad_input_is_one_sentence_on_stderr_and_exit_code_2(
    run_cli: RunCli, log: Path, tmp_path: Path
) -> None:
    code, out, err = run_cli("import", log, "-o", tmp_path / "out.parquet", "--json")
    assert (code, out) == (2, "")
    assert err == (
        f"cachecast: {log} line 2: output is -3, expected an integer >= 0; "
        "--skip-bad leaves out what is bad and counts it\n"
    )
    assert sorted(tmp_path.iterdir()) == [log]


def test_json_has_the_keys_that_scripts_depend_on(
    run_cli: RunCli, log: Path, tmp_path: Path
) -> None:
    target = tmp_path / "out.parquet"
    code, out, _ = run_cli("import", log, "-o", target, "--skip-bad", "--json")
    assert code == 0
    summary = json.loads(out)
    assert {key: summary[key] for key in list(summary)[:7]} == {
        "rows": 1,
        "skipped": [
            {
                "reason": "bad output",
                "count": 1,
                "example": f"{log} line 2: output is -3, expected an integer >= 0",
            }
        ],
        "evidence": "blocks",
        "sessions": 1,
        "models": ["m"],
        "period": [0.0, 0.0],
        "out": str(target),
    }


def test_people_get_a_table(run_cli: RunCli, log: Path, tmp_path: Path) -> None:
    code, out, _ = run_cli("import", log, "-o", tmp_path / "out.parquet", "--skip-bad")
    assert code == 0
    assert "1 × bad output, e.g." in out
    assert "0.0 s to 0.0 s" in out


def test_an_output_that_exists_needs_force(run_cli: RunCli, log: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    arguments = ["import", log, "-o", target, "--skip-bad", "--json"]
    assert run_cli(*arguments)[0] == 0
    code, _, err = run_cli(*arguments)
    assert (code, err) == (
        2, f"cachecast: {target}: exists already, expected a new file (or --force)\n",
    )  # fmt: skip
    assert run_cli(*arguments, "--force")[0] == 0


def test_warnings_are_notes_on_stderr(run_cli: RunCli, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"block_size": 64, "requests": []}')
    code, out, err = run_cli("import", path, "-o", tmp_path / "out.parquet", "--json")
    assert (code, json.loads(out)["rows"]) == (0, 0)
    assert "the log has no requests" in err


def test_force_never_overwrites_the_input(run_cli: RunCli, log: Path) -> None:
    before = log.read_bytes()
    code, out, err = run_cli("import", log, "-o", log, "--force")
    assert (code, out) == (2, "")
    assert err == f"cachecast: {log}: is an input of this import, expected another file\n"
    assert log.read_bytes() == before


def test_a_spread_that_is_no_number_is_refused(run_cli: RunCli, log: Path, tmp_path: Path) -> None:
    code, _, err = run_cli("import", log, "-o", tmp_path / "out.parquet", "--spread", "nan")
    assert code == 2
    assert "nan is not a number of seconds, expected 0 to 1e9." in err
    assert "Traceback" not in err


def test_a_pipe_as_input_is_one_sentence(run_cli: RunCli, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert run_cli("import", pipe, "-o", tmp_path / "out.parquet") == (
        2,
        "",
        f"cachecast: {pipe}: is a pipe or a device, which cannot be read twice, expected a file or "
        "a folder; write it to a file first\n",
    )
