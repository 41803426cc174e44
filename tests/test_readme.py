"""What the README and `--help` show is what happens."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from runs import write_bill_run

from cachecast.cli import COMMANDS, cli

RunCli = Callable[..., tuple[int, str, str]]

# Made by make itself, in .ci/run and by whoever runs these tests.
_SETS_UP = re.compile(r"^(make|git clone|pip install|python3 -m venv)\b", re.MULTILINE)


def _blocks(page: Path) -> list[str]:
    """The shell blocks of the page, in order, without those that install."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [block for block in blocks if not _SETS_UP.search(block)]


def test_the_commands_of_the_readme_run_one_after_the_other(root: Path, tmp_path: Path) -> None:
    """In an empty folder, with nothing but the installed command; each exits with 0."""
    script = "set -euo pipefail\n" + "\n".join(_blocks(root / "README.md"))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    ran = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    assert "cachecast bill" in script


def test_the_output_in_the_readme_is_what_demo_prints(root: Path, run_cli: RunCli) -> None:
    """`make docs` writes it anew."""
    text = (root / "README.md").read_text()
    shown = re.search(
        r"<!-- demo output -->\n```text\n(.*?)```\n<!-- end of demo output -->", text, re.DOTALL
    )
    assert shown, "README.md lost the marks around the output of `cachecast demo`"

    code, out, _ = run_cli("demo")
    assert code == 0
    # an editor or git may strip blanks at the ends of lines
    assert [line.rstrip() for line in shown[1].splitlines()] == [
        line.rstrip() for line in out.splitlines()
    ]


def example_of(name: str, text: str) -> str | None:
    """The example in a command's help: from `cachecast NAME` to the end of its paragraph."""
    block = rf"^\s*(?:Examples?:\s+)?cachecast ({name} .*?)(?:\n\s*\n|\n\s*cachecast |\Z)"
    found = re.search(block, text + " ", re.DOTALL | re.MULTILINE)
    return found[1].replace("\\\n", " ") if found else None


@pytest.fixture
def example_folder(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the examples of `--help` name: log.jsonl, fleet.toml and the run `run`."""
    (log,) = [b for b in _blocks(root / "README.md") if "log.jsonl <<" in b]
    (fleet,) = [b for b in _blocks(root / "README.md") if "fleet.toml <<" in b]
    written = log + fleet.partition("\ncachecast ")[0]
    subprocess.run(["bash", "-c", written], cwd=tmp_path, check=True)
    write_bill_run(tmp_path / "run")
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_text(json.dumps(TINY), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# a model of a few thousand weights, for the examples that run one
TINY = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 16,
    "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "vocab_size": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "max_position_embeddings": 16384, "tie_word_embeddings": True,
}  # fmt: skip


def _make_runs(run_cli: RunCli) -> None:
    """`measured` and `predicted`: a replay, and the simulation that its durations drive."""
    fleet = ("--fleet", "fleet.toml", "--set", "fleet.servers=1")
    recorded = ("--set", "latency.kind=recorded", "--set", "latency.file=measured")
    for words in (
        ("replay", "log.jsonl", "--engine", "torch:model", *fleet, "-o", "measured"),
        ("simulate", "log.jsonl", *fleet, *recorded, "-o", "predicted"),
    ):
        code, _, err = run_cli(*words)
        assert code == 0, err


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("example_folder")
def test_the_example_in_the_help_of_a_command_works(
    run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """LOG or any *.jsonl stands for the README's log, RUN for a run."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    example = example_of(name, f"{command.help}\n\n{command.epilog}")
    assert example, f"{name} --help has no example"
    words = shlex.split(example)
    known = {"LOG": "log.jsonl", "RUN": "run"}
    if name in ("calibrate", "compare", "replay"):
        pytest.importorskip("torch", reason="the engine needs torch")
    if name == "compare":
        _make_runs(run_cli)
    if name == "dashboard":  # it would serve until it is interrupted: tests/app/dashboard does that
        pytest.importorskip("streamlit", reason="the dashboard needs Streamlit")
        monkeypatch.setattr("cachecast.dashboard.launching.launch", print)
    words = ["log.jsonl" if word.endswith(".jsonl") else known.get(word, word) for word in words]

    code, out, err = run_cli(*words)
    assert code == 0, err
    assert out
