"""The parts of replay/validate_vllm.py that need no vLLM."""

import argparse
import importlib.util
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


def test_the_made_log_is_the_same_every_time_and_its_sessions_grow(script: ModuleType) -> None:
    rows = script.agent_log(sessions=3, turns=4)
    assert rows == script.agent_log(sessions=3, turns=4)
    assert len(rows) == 12
    prompts = [row["prompt_token_ids"] for row in rows]
    assert len({tuple(prompt[:650]) for prompt in prompts}) == 1
    assert len({tuple(prompt[:670]) for prompt in prompts}) == 3
    for number, prompt in enumerate(prompts[3:], 3):
        before = prompts[number // 3 * 3 - 3 : number // 3 * 3]
        assert any(prompt[: len(one)] == one for one in before)
    assert [row["arrival"] for row in rows] == sorted(row["arrival"] for row in rows)


def test_the_prompts_that_are_timed_share_nothing(script: ModuleType) -> None:
    rows = script.sizes_log(2048)
    sizes = sorted(len(row["prompt_token_ids"]) for row in rows)
    assert (sizes[0], sizes[-1], len(sizes)) == (32, 2048, 24)
    assert len({tuple(row["prompt_token_ids"][:32]) for row in rows}) == 24


def test_the_step_model_is_the_slope_of_ttft_and_the_decode_step(script: ModuleType) -> None:
    """TTFT = 50 ms + 1 ms a token, one outlier; a decode step of 11 ms computes one token."""
    rows = [
        {"prompt_tokens": size, "ttft_s": 0.050 + 0.001 * size, "itl_s": 0.011}
        for size in (100, 200, 400)
        for _ in range(3)
    ]
    rows[0]["ttft_s"] = 9.0
    base_s, per_token_s = script.step_model(rows)
    assert (base_s, per_token_s) == pytest.approx((0.010, 0.001))


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
        script.serving(_options("exit 3", 9), 100, 50),
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
