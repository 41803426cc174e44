"""What tests of the commands share: a sketch in the test's own folder, and its bill."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rule_sketches import Line

RunCli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def bill(run_cli: RunCli) -> Callable[..., dict[str, Any]]:
    """The only scenario of a bill."""

    def run(*arguments: object) -> dict[str, Any]:
        code, out, err = run_cli("bill", *arguments, "--json")
        assert code == 0, err
        (found,) = json.loads(out)["scenarios"]
        assert isinstance(found, dict)
        return found

    return run


@pytest.fixture
def sketch(tmp_path: Path) -> Callable[..., Path]:
    """Write lines into `log.jsonl`."""

    def write(*lines: Line) -> Path:
        path = tmp_path / "log.jsonl"
        path.write_text("".join(json.dumps(entry) + "\n" for entry in lines))
        return path

    return write
