"""`cachecast replay --endpoint`: which options go together, the model, the key."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import RunCli
from endpoint_replays import LOG, refused, rows_of, write_rows
from fake_server import Body, Handler, answer, limit, piece, serving

pytest.importorskip("httpx", reason="httpx is not installed: --endpoint needs it")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "log.jsonl", LOG)


def test_without_httpx_the_command_says_what_to_install(log: Path) -> None:
    """In a process of its own: here it is loaded already."""
    code = (
        "import sys; sys.modules['httpx'] = None; from cachecast.cli import main;"
        f"sys.argv = ['cachecast', 'replay', {str(log)!r}, '--endpoint', 'http://localhost/v1'];"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "cachecast: --endpoint needs httpx: pip install 'cachecast[endpoint]'\n"


@pytest.mark.parametrize(
    ("models", "options", "words"),
    [
        (["a", "b"], [], "which model? Name it with --model; it has: a, b"),
        (["a"], ["--model", "c"], "has no model 'c'; it has: a"),
    ],
)
def test_the_model_must_be_one_of_the_servers(
    run_cli: RunCli, log: Path, models: list[str], options: list[str], words: str
) -> None:
    with serving(answer) as server:
        server.models = models
        assert words in refused(run_cli, log, "--endpoint", server.url, *options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "expected either --engine torch:DIR or --endpoint URL"),
        (["--engine", "torch:x", "--endpoint", "http://localhost/v1"], "expected either --engine"),
        (["--endpoint", "http://localhost/v1", "--threads", "2"], "--threads goes with --engine"),
        (["--endpoint", "http://localhost/v1", "--clock", "virtual"], "--clock goes with --engine"),
        (["--engine", "torch:x", "--retries", "1"], "--retries goes with --endpoint"),
        (["--engine", "torch:x"], "--engine needs --fleet FILE"),
        (["--endpoint", "http://example.com/v1"], "--allow-remote sends it the log's prompts"),
        (["--endpoint", "http://localhost/v1", "--api-key-env", "NO_SUCH_KEY"], "is not set"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    run_cli: RunCli, log: Path, options: list[str], words: str
) -> None:
    assert words in refused(run_cli, log, *options)


def test_a_key_reaches_the_server_and_no_file_or_message(
    run_cli: RunCli, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where the server's error repeats it."""
    monkeypatch.setenv("THE_KEY", "sk-hunter2")

    def act(handler: Handler, body: Body) -> None:
        if limit(body) == 4:
            handler.refuse(400, f"{handler.headers['authorization']} may not")
        else:
            answer(handler, body)

    with serving(act) as server:
        code, out, err = run_cli(
            "replay", log, "--endpoint", server.url, "--api-key-env", "THE_KEY",
            "-o", tmp_path / "run",
        )  # fmt: skip
    assert code == 0
    assert server.keys == {"Bearer sk-hunter2"}
    assert rows_of(run_cli, tmp_path / "run")[1]["error"] == (
        "answered 400: Bearer [api key] may not"
    )
    assert "hunter2" not in out + err
    for file in (tmp_path / "run").iterdir():
        assert b"hunter2" not in file.read_bytes()
    assert "Bearer [api key] may not" in err  # brackets are no markup


def test_a_key_that_the_server_names_its_model_or_its_end_by_is_kept_nowhere(
    run_cli: RunCli, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "sk-hunter2")
    run = ("-o", tmp_path / "run", "--api-key-env", "THE_KEY")

    def act(handler: Handler, body: Body) -> None:
        handler.start()
        handler.send(piece(body, "a", "sk-hunter2"))
        handler.send("[DONE]")

    with serving(act) as server:
        server.models = ["sk-hunter2"]
        assert refused(run_cli, log, "--endpoint", server.url, *run) == (
            f"{server.url}: which model? Name it with --model; it has: [api key]\n"
        )
        server.models = ["tiny"]
        assert run_cli("replay", log, "--endpoint", server.url, *run)[0] == 0
    assert rows_of(run_cli, tmp_path / "run")[0]["finish"] == "[api key]"


def test_a_refused_key_is_one_sentence_without_the_servers_words(
    run_cli: RunCli, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "sk-hunter2")

    def act(handler: Handler, body: Body) -> None:
        handler.refuse(401, "Incorrect API key: sk-hun…")

    with serving(act) as server:
        said = refused(run_cli, log, "--endpoint", server.url, "--api-key-env", "THE_KEY")
    assert said == f"{server.url} answered 401: the key is missing or refused\n"
