"""The server is quiet, here only, and ends without a traceback."""

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from dashboard_server import serving

from cachecast.cli import cli
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.launching import _options
from cachecast.dashboard.opened import example_path

RunCli = Callable[..., tuple[int, str, str]]


def test_telemetry_and_questions_are_off_and_the_host_is_this_machine() -> None:
    options = _options("127.0.0.1", 8501)

    assert options["browser_gatherUsageStats"] is False
    assert options["server_showEmailPrompt"] is False
    assert options["client_showErrorDetails"] == "none"
    command = cli.get_command(click.Context(cli), "dashboard")
    assert command is not None
    (host,) = [param for param in command.params if param.name == "host"]
    assert host.default == "127.0.0.1"


def test_ctrl_c_ends_it_with_no_traceback(tmp_path: Path) -> None:
    with serving(tmp_path, str(example_path())) as server:
        process = server.process

    assert isinstance(process, subprocess.Popen)
    assert process.returncode == 0
    said = [line.strip() for line in server.log.read_text().splitlines()]
    assert said == [f"cachecast dashboard at {server.url} (Ctrl-C ends it)"]


def test_a_port_that_is_taken_is_refused_in_a_sentence(run_cli: RunCli) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        code, out, err = run_cli("dashboard", "--port", port, "--no-browser")
    assert (code, out) == (2, "")
    assert f"--port {port}: cannot be listened on" in err


@pytest.mark.parametrize("words", [["missing.jsonl"], ["--as", "no-such-model"]])
def test_a_log_or_a_model_that_is_not_there_is_refused_before_anything_starts(
    run_cli: RunCli, words: list[str]
) -> None:
    code, out, err = run_cli("dashboard", *words, "--no-browser")

    assert (code, out) == (2, "")
    assert words[-1] in err


def test_emptying_the_folder_leaves_what_is_not_the_dashboards(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    kept = folder.upload("a", b"content")
    (tmp_path / "mine.txt").write_text("mine")
    assert kept.read_bytes() == b"content"
    assert folder.contents() == [("dropped files", 1, len(b"content"))]

    folder.empty()
    assert folder.contents() == []
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_the_runs_that_were_used_longest_ago_are_pruned(tmp_path: Path) -> None:
    """Of 42 the two oldest, one of them a file; the very first was used again meanwhile."""
    folder = Folder(tmp_path)
    runs = folder.part("runs")
    for number in range(42):
        entry = runs / f"{number:02}"
        if number % 2:
            entry.write_text("ribbons")
        else:
            entry.mkdir()
            (entry / "run.json").write_text("{}")
        os.utime(entry, (number, number))
    folder.used(runs / "00")

    folder.prune_runs()
    assert sorted(entry.name for entry in runs.iterdir()) == [
        "00", *(f"{number:02}" for number in range(3, 42))
    ]  # fmt: skip
    assert [(what, count) for what, count, _ in folder.contents()] == [("runs", 40)]


def test_a_run_of_the_persons_own_is_not_even_touched(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    os.utime(mine, (5, 5))

    Folder(tmp_path / "folder").used(mine)
    assert mine.stat().st_mtime == 5
