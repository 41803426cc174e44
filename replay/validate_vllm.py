"""A real server against the simulator: its hits and its times beside what was predicted.

    python replay/validate_vllm.py --vllm VENV [LOG]       # VENV/bin/vllm, on the CPU
    python replay/validate_vllm.py --serve COMMAND [LOG]   # any server

COMMAND is a shell command that serves one model on 127.0.0.1:$PORT, with $BLOCKS KV blocks of
$BLOCK tokens, at most $BATCH_TOKENS tokens and $SEQS requests a step, prefix caching on and cached
tokens in the usage, for prompts with their answers of up to $MAXLEN tokens; it is started twice and
ended by its process group. LOG is a log of token ids; without one a small agent workload is made.
The log's answers are left out: a server's are its own.

Exit code 0 if the sequential replays hit exactly what the simulator says, 1 if not, 2 for bad
input.
"""

import argparse
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from cachecast_replay.server_logs import agent_log, longest_tokens, sizes_log, step_model
from cachecast_replay.tiny_llama import write_tiny_llama

FLEET = """\
[engine]
block_tokens = {block}
blocks = {blocks}
max_batch_tokens = {batch_tokens}
max_seqs = {seqs}
[latency]
kind = "linear"
step_base_s = {base_s:.9f}
per_token_s = {per_token_s:.9f}
"""
# a model of random weights, float32, on the CPU; nothing is looked up in a network
VLLM_CPU = (
    "HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 VLLM_SERVER_DEV_MODE=1"
    " VLLM_CPU_KVCACHE_SPACE=1 {vllm} serve {model} --served-model-name tiny --load-format dummy"
    " --dtype float32 --enforce-eager --host 127.0.0.1 --port $PORT --block-size $BLOCK"
    " --num-gpu-blocks-override $BLOCKS --max-model-len $MAXLEN"
    " --max-num-batched-tokens $BATCH_TOKENS --max-num-seqs $SEQS"
    " --enable-prefix-caching --enable-prompt-tokens-details"
)
START_S, STOP_S = 600, 30
ROW = ("id", "prompt_token_ids", "output_len", "arrival")


def main() -> int:
    """Run all, print the table."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the server is ended in any case
    options = _options()
    with tempfile.TemporaryDirectory(prefix="validate-") as folder:
        work = Path(folder)
        options.serve = options.serve or vllm_command(options.vllm, work / "tiny-llama")
        rows = _log_rows(options.log, options.speed_up)
        longest = longest_tokens([*rows, *sizes_log(options.batch_tokens)])
        log = _write(work / "log.jsonl", rows)
        found = []
        for blocks in (options.large, options.small):
            with serving(options, blocks, longest) as url:
                case = Case(options, work, url, log, blocks)
                found.append(case.sequential())
                if blocks == options.small:
                    found.append(case.concurrent())
    print(table(found))
    exact = all(r["mismatched"] == r["unknown"] == 0 for r in found if r["mode"] == "sequential")
    print("sequential hits agree" if exact else "sequential hits DIFFER")
    return 0 if exact else 1


class Case:
    """One running server, and what is asked of it."""

    def __init__(
        self, options: argparse.Namespace, work: Path, url: str, log: Path, blocks: int
    ) -> None:
        self._options, self._work, self._url = options, work, url
        self._log, self._blocks = log, blocks

    def sequential(self) -> dict[str, Any]:
        """One request after the other: only the order counts, so the arrivals are rushed."""
        measured = self._replay("seq", self._log, "--concurrency", "1", "--speed-up", "1000")
        predicted = self._simulate("seq", (0.0, 0.0), "--set", "engine.admission=sequential")
        return self._row("sequential", self._compare(predicted, measured), timed=False)

    def concurrent(self) -> dict[str, Any]:
        """At the log's times, twice: what two replays differ by is the machine's noise."""
        model = self._step_model()
        runs = [self._replay(f"con{number}", self._log) for number in (1, 2)]
        predicted = self._simulate("con", model)
        return self._row("concurrent", self._compare(predicted, runs[0], "--again", runs[1]))

    def _step_model(self) -> tuple[float, float]:
        """(seconds of a step, seconds of a token), from prompts that are not of the log."""
        log = _write(self._work / "sizes.jsonl", sizes_log(self._options.batch_tokens))
        run = self._replay("sizes", log, "--concurrency", "1", "--speed-up", "1000")
        query = (
            "select prompt_tokens, (first_token_ns - sent_ns) / 1e9 as ttft_s,"
            " (end_ns - first_token_ns) / 1e9 / (output_tokens - 1) as itl_s from measured"
        )
        lines = _cachecast("sql", run, query, "--json").splitlines()
        return step_model([json.loads(line) for line in lines])

    def _replay(self, name: str, log: Path, *more: object) -> Path:
        out = self._work / f"{name}-{self._blocks}"
        _cachecast(
            "replay", log, "--endpoint", self._url, "--reset-cache", self._options.reset_path,
            "--warm-up", "2", "-o", out, "--force", *more,
        )  # fmt: skip
        return out

    def _simulate(self, name: str, model: tuple[float, float], *more: object) -> Path:
        o = self._options
        fleet = self._work / "fleet.toml"
        text = FLEET.format(
            block=o.block, blocks=self._blocks, batch_tokens=o.batch_tokens, seqs=o.seqs,
            base_s=model[0], per_token_s=model[1],
        )  # fmt: skip
        fleet.write_text(text, encoding="utf-8")
        out = self._work / f"predicted-{name}-{self._blocks}"
        _cachecast("simulate", self._log, "--fleet", fleet, "-o", out, "--force", *more)
        return out

    def _compare(self, predicted: Path, measured: Path, *more: object) -> dict[str, Any]:
        text = _cachecast("compare", predicted, measured, *more, "--json", good=(0, 1, 3))
        return dict(json.loads(text))

    def _row(self, mode: str, found: dict[str, Any], *, timed: bool = True) -> dict[str, Any]:
        hits = found["hit_tokens"]
        ttft = found["ttft"] if timed else None
        return {
            "mode": mode, "blocks": self._blocks, "requests": found["requests"],
            "left_out": found["left_out"], "predicted": hits["predicted"],
            "measured": hits["measured"], "mismatched": hits["mismatched_requests"],
            "ids": hits["mismatched_ids"], "unknown": hits["unknown_requests"],
            "noise": hits["floor_mismatched_requests"],
            "ttft_pct": None if ttft is None else ttft["mean_abs_pct"],
            "ttft_noise_pct": None if ttft is None else ttft["noise_floor_pct"],
        }  # fmt: skip


def table(rows: Sequence[dict[str, Any]]) -> str:
    """For people, one line a replay."""
    head = (
        f"{'':12}{'blocks':>8}{'requests':>10}{'predicted':>11}{'measured':>10}{'differ':>8}"
        f"{'unknown':>9}{'noise':>7}{'TTFT error':>12}{'noise':>9}"
    )
    lines = [head]
    for row in rows:
        shown = {name: "" if value is None else value for name, value in row.items()}
        error, floor = (
            "" if row[name] is None else f"{row[name]:.1f} %"
            for name in ("ttft_pct", "ttft_noise_pct")
        )
        lines.append(
            f"{row['mode']:12}{row['blocks']:>8}{row['requests']:>10}{shown['predicted']:>11}"
            f"{shown['measured']:>10}{row['mismatched']:>8}{row['unknown']:>9}{shown['noise']:>7}"
            f"{error:>12}{floor:>9}"
        )
        lines += ["  differ: " + ", ".join(row["ids"][:20])] if row["ids"] else []
        if row["left_out"]:
            lines.append(f"  completed in one of the runs only: {row['left_out']}")
    return "\n".join(lines)


def vllm_command(venv: Path, model: Path) -> str:
    """How vLLM in that virtual environment serves a tiny Llama, which is written to `model`."""
    vllm = venv.resolve() / "bin/vllm"
    if not vllm.is_file():
        _refuse(f"--vllm {venv}: there is no {vllm}; replay/install_vllm.sh {venv} makes it")
    write_tiny_llama(model)
    return VLLM_CPU.format(vllm=shlex.quote(str(vllm)), model=shlex.quote(str(model)))


@contextmanager
def serving(options: argparse.Namespace, blocks: int, longest: int) -> Iterator[str]:
    """The API's URL of a server that runs until the block ends; its words go to a file."""
    limits = {"PORT": options.port, "BLOCKS": blocks, "BLOCK": options.block,
              "BATCH_TOKENS": options.batch_tokens, "SEQS": options.seqs,
              "MAXLEN": longest}  # fmt: skip
    env = {**os.environ, **{name: str(value) for name, value in limits.items()}}
    if _answers(options.port):
        _refuse(f"--port {options.port}: somebody serves there already; name a free port")
    with tempfile.NamedTemporaryFile(prefix="server-", suffix=".log", delete=False) as words:
        server = subprocess.Popen(
            options.serve, shell=True, env=env, stdout=words, stderr=words, start_new_session=True
        )
    try:
        url = f"http://127.0.0.1:{options.port}/v1"
        _wait(url, server, words.name)
        yield url
    finally:
        _stop(server)


def _answers(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as one:
        return port > 0 and one.connect_ex(("127.0.0.1", port)) == 0


def _wait(url: str, server: "subprocess.Popen[bytes]", words: str) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise SystemExit(f"the server ended with exit code {server.returncode}; see {words}")
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    raise SystemExit(f"the server did not answer {url} within {START_S} s; see {words}")


def _stop(server: "subprocess.Popen[bytes]") -> None:
    """Returns when the whole group has gone: a child could still hold the port."""
    for word in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + STOP_S
        try:
            os.killpg(server.pid, word)
            while time.monotonic() < deadline:
                server.poll()
                os.killpg(server.pid, 0)
                time.sleep(0.05)
        except ProcessLookupError:
            return


def _cachecast(*arguments: object, good: Sequence[int] = (0,)) -> str:
    command = [sys.executable, "-m", "cachecast", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr)
    if done.returncode not in good:
        raise SystemExit(f"cachecast {arguments[0]} ended with exit code {done.returncode}")
    return done.stdout


def _log_rows(log: Path | None, speed_up: float) -> list[dict[str, Any]]:
    rows = agent_log() if log is None else _read(log)
    return [{**{k: r[k] for k in ROW}, "arrival": r["arrival"] / speed_up} for r in rows]


def _read(log: Path) -> list[dict[str, Any]]:
    """The rows of a file of token ids. Exit code 2 for what is none."""
    try:
        rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    except OSError as problem:
        _refuse(f"{log}: cannot be read ({problem.strerror})")
    except ValueError:
        rows = []
    if not rows or not all(isinstance(row, dict) and set(ROW) <= row.keys() for row in rows):
        _refuse(f"{log}: expected JSON lines with {', '.join(ROW)}")
    return rows


def _refuse(sentence: str) -> NoReturn:
    sys.stderr.write(f"validate_vllm: {sentence}\n")
    raise SystemExit(2)


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("log", nargs="?", type=Path, help="JSON lines with token ids")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--vllm", type=Path, metavar="VENV", help="a virtual environment with vLLM")
    how.add_argument("--serve", help="shell command of another server; see the file's head")
    parser.add_argument("--port", type=int, default=8100)
    parser.add_argument("--block", type=int, default=32, help="vLLM's CPU backend: 32 or more")
    parser.add_argument("--large", type=int, default=1000, help="blocks that hold all")
    parser.add_argument("--small", type=int, default=150, help="blocks that do not")
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument("--seqs", type=int, default=64)
    parser.add_argument("--speed-up", type=float, default=1.0, help="arrivals come faster")
    parser.add_argument("--reset-path", default="/reset_prefix_cache")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
