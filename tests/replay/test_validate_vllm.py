"""The parts of replay/validate_vllm.py that need no vLLM."""

import argparse
import importlib.util
import shlex
import socket
import sys
import urllib.request
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def script(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("validate_vllm", root / "replay/validate_vllm.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_names_what_differs_and_makes_up_no_number(script: ModuleType) -> None:
    row = {
        "mode": "sequential", "blocks": 150, "requests": 72, "left_out": 1, "predicted": 64,
        "measured": None, "mismatched": 1, "ids": ["r7"], "unknown": 71, "noise": None,
        "ttft_pct": None, "ttft_noise_pct": None,
    }  # fmt: skip
    head, line, *more = script.table([row]).splitlines()
    assert head.split()[:4] == ["blocks", "requests", "predicted", "measured"]
    assert line.split() == ["sequential", "150", "72", "64", "1", "71"]
    assert more == ["  differ: r7", "  completed in one of the runs only: 1"]


def _options(serve: str, port: int) -> argparse.Namespace:
    return argparse.Namespace(serve=serve, port=port, block=32, batch_tokens=64, seqs=4)


def test_a_server_that_ends_is_one_sentence(script: ModuleType) -> None:
    with (
        pytest.raises(SystemExit) as leaving,
        script.serving(_options("exit 3", 0), 100, 50),
    ):
        pass
    words, _, file = str(leaving.value).partition("; see ")
    assert words == "the server ended with exit code 3"
    Path(file).unlink()


def test_a_server_gets_its_limits_and_is_ended_with_all_its_children(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command stays in front of the server that it starts, as a script does."""
    server = tmp_path / "server.py"
    server.write_text(
        "import http.server, os, pathlib\n"
        "class H(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        self.send_response(200)\n"
        "        self.end_headers()\n"
        "        self.wfile.write(os.environ['BLOCKS'].encode())\n"
        "s = http.server.HTTPServer(('127.0.0.1', 0), H)\n"
        f"pathlib.Path({str(tmp_path / 'port')!r}).write_text(str(s.server_port))\n"
        "s.serve_forever()\n",
        encoding="utf-8",
    )
    options = _options(f"{sys.executable} {server}; true", 0)
    found: list[str] = []

    def wait(url: str, process: object, words: str) -> None:
        """The port is the server's own choice here."""
        Path(words).unlink()
        while not (tmp_path / "port").is_file() or not (tmp_path / "port").read_text():
            pass
        found.append(f"http://127.0.0.1:{(tmp_path / 'port').read_text()}/v1/models")

    monkeypatch.setattr(script, "_wait", wait)
    with script.serving(options, 77, 50), urllib.request.urlopen(found[0]) as response:
        assert response.read() == b"77"
    with pytest.raises(OSError, match=r"refused|reset"):
        urllib.request.urlopen(found[0])


def test_a_port_that_somebody_serves_on_is_not_measured(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else the figures would be another server's."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(SystemExit) as leaving, script.serving(_options("x", port), 100, 50):
            pass
    assert leaving.value.code == 2
    assert f"--port {port}: somebody serves there already" in capsys.readouterr().err


def test_vllm_in_a_virtual_environment_gets_a_model_and_its_limits(
    script: ModuleType, tmp_path: Path
) -> None:
    vllm = tmp_path / "my venv/bin/vllm"
    vllm.parent.mkdir(parents=True)
    vllm.touch()
    command = script.vllm_command(tmp_path / "my venv", tmp_path / "model")
    words = shlex.split(command)
    assert words[words.index("serve") - 1] == str(vllm)
    assert words[words.index("serve") + 1] == str(tmp_path / "model")
    assert (tmp_path / "model/config.json").is_file()
    for name in ("PORT", "BLOCK", "BLOCKS", "MAXLEN", "BATCH_TOKENS", "SEQS"):
        assert f"${name}" in words


def test_a_virtual_environment_without_vllm_is_one_sentence(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as leaving:
        script.vllm_command(tmp_path, tmp_path / "model")
    assert leaving.value.code == 2
    assert f"replay/install_vllm.sh {tmp_path} makes it" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["", "[1]\n", "no json\n", '{"id": 1, "arrival": 0, "output_len": 3}\n']
)
def test_a_log_without_token_ids_is_one_sentence(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit) as leaving:
        script._log_rows(log, 1.0)
    assert leaving.value.code == 2
    said = capsys.readouterr().err
    fields = "id, prompt_token_ids, output_len, arrival"
    assert said == f"validate_vllm: {log}: expected JSON lines with {fields}\n"
