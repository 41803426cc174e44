"""What every test may use."""

import contextlib
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from runs import write_bill_run

from cachecast.cli import main

# Tests are never judged by the clock; in CI the examples are the same in every run.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("here", _UNTIMED)
settings.register_profile("ci", _UNTIMED, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

RunCli = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared(root: Path) -> Path:
    """The folder of facts beside the repository; a test that needs it is skipped where it lacks."""
    folder = root.parent / "shared"
    if not (folder / "prices.csv").is_file():
        pytest.skip("no shared/ folder beside the repository: its facts cannot be checked here")
    return folder


@pytest.fixture
def run_cli(monkeypatch: pytest.MonkeyPatch) -> RunCli:
    """`run_cli("bill", LOG, …)`: (exit code, stdout, stderr) of the real `main`, in this process.

    Arguments may be paths; `stdin=` gives the text on standard input. There is no terminal.
    """

    def run(*arguments: object, stdin: str = "") -> tuple[int, str, str]:
        out, err = _stream(), _stream()
        monkeypatch.setattr("sys.argv", ["cachecast", *map(str, arguments)])
        monkeypatch.setattr("sys.stdin", _stream(stdin))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
                code: object = 0
            except SystemExit as leaving:
                code = leaving.code
        assert isinstance(code, int)
        return code, _text(out), _text(err)

    return run


def _stream(text: str = "") -> io.TextIOWrapper:
    """A text stream with a binary `buffer`, as the real ones have."""
    return io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


@pytest.fixture(scope="session")
def bill_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two scenarios over four requests, by hand: see `runs.py`."""
    return write_bill_run(tmp_path_factory.mktemp("runs") / "run")
