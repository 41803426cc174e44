"""The command line as a process: exit codes, lost outputs, and folders that are not ours."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from usage_logs import LOGS

from cachecast.cli import COMMANDS
from cachecast_datasets.sources import READERS

RunCli = Callable[..., tuple[int, str, str]]

ROWS = [
    {"at": at, "model": "claude-opus-5", "output": 1, "prompt": [["system", "S", 6000, "5m"]]}
    for at in (0, 10, 20)
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three requests."""
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def shell(script: str) -> subprocess.CompletedProcess[str]:
    """`cachecast` in a shell script is this Python's."""
    command = f'cachecast() {{ {sys.executable} -m cachecast "$@"; }}\n{script}'
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)


def test_without_a_command_it_prints_its_help() -> None:
    ran = shell("cachecast")
    assert ran.returncode == 0
    assert ran.stdout.startswith("Usage: cachecast")


def test_a_reader_that_goes_away_is_no_error(log: Path) -> None:
    ran = shell(f"cachecast bill {log} --per-request | head -1; echo ${{PIPESTATUS[0]}}")
    assert ran.stdout.splitlines()[-1] == "0"
    assert "Traceback" not in ran.stderr


def test_an_output_that_is_full_is_one_sentence() -> None:
    ran = shell("cachecast models > /dev/full")
    assert ran.returncode == 2
    assert ran.stderr == "cachecast: the output cannot be written: No space left on device\n"


def test_a_closed_output_is_no_traceback() -> None:
    assert "Traceback" not in shell("cachecast models >&-").stderr


def test_force_never_removes_what_no_run_wrote(run_cli: RunCli, log: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert run_cli("bill", log, "-o", run)[0] == 0
    (run / "notes.txt").write_text("mine")
    code, _, err = run_cli("bill", log, "-o", run, "--force")
    assert code == 2
    assert "beside the run there is notes.txt, which no run wrote" in err
    assert (run / "notes.txt").read_text() == "mine"
    (run / "notes.txt").unlink()
    assert run_cli("bill", log, "-o", run, "--force")[0] == 0


def test_a_run_never_takes_the_folder_of_its_log(run_cli: RunCli, log: Path) -> None:
    for place in (log, log.parent):
        code, _, err = run_cli("bill", log, "-o", place, "--force")
        assert code == 2
        assert (
            err == f"cachecast: -o {place}: the log {log} lies there; give the run another folder\n"
        )
    assert log.read_text().count("\n") == 3


@pytest.mark.parametrize(
    "where",
    [
        "true) UNION ALL SELECT (-1",
        "1=1) --",
        "exists(select * from read_text('/etc/hostname'))",
        "",
    ],
)
def test_where_is_one_expression_over_the_log_and_reaches_nothing_else(
    run_cli: RunCli, log: Path, where: str
) -> None:
    code, out, err = run_cli("bill", log, "--where", where)
    assert (code, out) == (2, "")
    assert err.startswith("cachecast: --where")
    assert err.count("\n") == 1


def test_a_where_that_matches_nothing_says_so(run_cli: RunCli, log: Path) -> None:
    code, _, err = run_cli("bill", log, "--where", "model = 'x'")
    assert (code, err) == (2, "cachecast: --where model = 'x': no request of the log matches\n")


def test_a_where_counts_and_does_not_filter_what_the_cache_sees(run_cli: RunCli, log: Path) -> None:
    code, out, _ = run_cli("bill", log, "--where", "request_id = '2'", "--json")
    (found,) = json.loads(out)["scenarios"]
    # request 1 is not counted, but it wrote what request 2 reads
    assert (code, found["requests"], found["usage"]["cache_read"]) == (0, 1, 6000)


def test_a_damaged_run_is_one_sentence(run_cli: RunCli, log: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run_cli("bill", log, "-o", run)
    (run / "ledger.parquet").unlink()
    code, _, err = run_cli("sql", run)
    assert (code, err) == (2, f"cachecast: {run}: the run is damaged, ledger.parquet is missing\n")


def test_the_list_of_commands_has_whole_sentences(run_cli: RunCli) -> None:
    commands = run_cli("--help")[1].split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in commands] == list(COMMANDS)
    assert all(line.endswith(".") and not line.endswith("...") for line in commands)


def test_the_help_of_import_lists_every_format_in_lines_that_fit(run_cli: RunCli) -> None:
    lines = run_cli("import", "--help")[1].splitlines()
    for name in READERS:
        assert any(line.split()[:1] == [name] for line in lines), name
    assert max(map(len, lines)) <= 80


def test_an_import_says_what_to_do_next(run_cli: RunCli, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "log.parquet"
    assert f"cachecast bill {out} --as log" in run_cli("import", log, "-o", out)[2]

    nameless = tmp_path / "blocks.jsonl"
    nameless.write_text('{"timestamp": 0, "input_length": 9, "hash_ids": [1]}\n')
    out = tmp_path / "blocks.parquet"
    assert f"cachecast bill {out} --as MODEL" in run_cli("import", nameless, "-o", out)[2]

    salt, shared = tmp_path / "salt", tmp_path / "shared.jsonl"  # a shape without models
    salt.write_text("sixteen bytes 16")
    said = run_cli("import", log, "-o", shared, "--anonymise", "--salt", salt)[2]
    assert f"cachecast bill {shared} --as MODEL" in said


def test_what_is_assumed_is_said_once_with_the_scenarios_that_it_holds_for(
    run_cli: RunCli, log: Path
) -> None:
    scenarios = ("claude-opus-5", "claude-opus-5,ttl=1h", "gpt-6-sol")
    words = [word for name in scenarios for word in ("--as", name)]
    lines = run_cli("bill", log, *words)[2].splitlines()

    assert len(lines) == len(set(lines))
    (read,) = (line for line in lines if "claude-opus-5: price read on " in line)
    assert read.startswith("  • claude-opus-5: price")
    (marks,) = (line for line in lines if "markers as the log has them" in line)
    assert marks.startswith("  • claude-opus-5; claude-opus-5,ttl=1h: markers")
    assert "  green: the cheapest" not in lines  # there are no colours in a pipe


def test_a_log_of_counts_has_no_empty_table_of_misses(run_cli: RunCli, tmp_path: Path) -> None:
    log = tmp_path / "spend.csv"
    log.write_text(LOGS["litellm.csv"][1])
    code, out, _ = run_cli("bill", log, "--as", "log")
    assert code == 0
    assert "predicted against observed" in out
    assert "Why prompt tokens were not read" not in out


def test_bad_input_that_can_be_skipped_says_so_and_other_bad_input_does_not(
    run_cli: RunCli, tmp_path: Path
) -> None:
    log, none = tmp_path / "log.jsonl", tmp_path / "none"
    log.write_text(json.dumps(ROWS[0]) + "\n" + '{"at": -1}\n')

    code, _, err = run_cli("bill", log)
    assert code == 2
    assert err.startswith(f"cachecast: {log} line 2: ")
    assert err.endswith("; --skip-bad leaves out what is bad and counts it\n")
    assert "--skip-bad" not in run_cli("lint", log)[2]  # it has no such option
    code, out, _ = run_cli("bill", log, "--skip-bad")
    assert (code, out.splitlines()[0].rstrip()) == (0, "1 request, 6,000 prompt tokens")

    assert "--skip-bad" not in run_cli("bill", none)[2]


def test_a_command_in_a_note_can_be_copied_whatever_the_path(
    run_cli: RunCli, log: Path, tmp_path: Path
) -> None:
    run = tmp_path / ("long " * 30) / "[run]"
    run.parent.mkdir()
    last = run_cli("bill", log, "-o", run)[2].splitlines()[-1]
    assert last.endswith(
        f'cachecast sql {shlex.quote(str(run))} "select * from by_reason order by cost desc"'
    )


def test_a_bad_row_of_a_parquet_can_be_skipped_and_says_so(run_cli: RunCli, tmp_path: Path) -> None:
    sketch, log = tmp_path / "log.jsonl", tmp_path / "log.parquet"
    sketch.write_text("".join(json.dumps(ROWS[0] | {"at": at}) + "\n" for at in (0, 5)))
    assert run_cli("import", sketch, "-o", log)[0] == 0
    whole = pq.read_table(log)
    pq.write_table(whole.take([1, 0]), log)

    code, _, err = run_cli("bill", log)
    assert (code, err.startswith(f"cachecast: {log} row 2: arrival is ")) == (2, True)
    assert err.endswith("; --skip-bad leaves out what is bad and counts it\n")
    assert run_cli("bill", log, "--skip-bad")[0] == 0
