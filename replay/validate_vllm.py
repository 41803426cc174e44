"""A real server against the simulator: `python replay/validate_vllm.py --serve COMMAND [LOG]`.

COMMAND is a shell command that serves one model on 127.0.0.1:$PORT, with $BLOCKS KV blocks of
$BLOCK tokens, at most $BATCH_TOKENS tokens and $SEQS requests a step, prefix caching on and cached
tokens in the usage, for prompts with their answers of up to $MAXLEN tokens; it is started twice and
ended by its process group. LOG is a log of token ids;
without one a small agent workload is made. The log's answers are left out: a server's are its own.

Exit code 0 if the sequential replays hit exactly what the simulator says, 1 if not.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

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
START_S, STOP_S = 600, 30
VOCABULARY = 1000


def main() -> int:
    """Run all, print the table."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the server is ended in any case
    options = _options()
    with tempfile.TemporaryDirectory(prefix="validate-") as folder:
        work = Path(folder)
        rows = _log_rows(options.log, options.speed_up)
        log = _write(work / "log.jsonl", rows)
        found = []
        for blocks in (options.large, options.small):
            with serving(options, blocks, _longest(rows, options)) as url:
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


def agent_log(sessions: int = 12, turns: int = 6, seed: int = 0) -> list[dict[str, Any]]:
    """Sessions of an agent that share 650 tokens of instructions and grow by each turn.

    Arrivals 0.1 s apart on average; sizes are no multiples of a block.
    """
    draw = random.Random(seed)

    def drawn(low: int, high: int) -> list[int]:
        return [draw.randrange(VOCABULARY) for _ in range(draw.randint(low, high))]

    shared = drawn(650, 650)
    history = [shared + drawn(20, 120) for _ in range(sessions)]
    rows: list[dict[str, Any]] = []
    at_s = 0.0
    for _ in range(turns):
        for session in draw.sample(range(sessions), sessions):
            at_s += draw.expovariate(10.0)
            output = draw.randint(8, 40)
            rows.append(_row(len(rows), at_s, history[session], output))
            # a later turn's answer is not what this server said, so it is computed anew
            history[session] = history[session] + drawn(output + 20, output + 150)
    return rows


def sizes_log(most: int, seed: int = 1) -> list[dict[str, Any]]:
    """Prompts of 32 tokens to a full step, three of each size, that share nothing."""
    draw = random.Random(seed)
    sizes = [int(size) for size in np.geomspace(32, most, 8)] * 3
    draw.shuffle(sizes)
    prompts = [[draw.randrange(VOCABULARY) for _ in range(size)] for size in sizes]
    return [_row(number, number, prompt, 8) for number, prompt in enumerate(prompts)]


def step_model(rows: Sequence[dict[str, float]]) -> tuple[float, float]:
    """(step_base_s, per_token_s): the slope of TTFT over prompt tokens, and the decode step.

    Medians of ITL and of each size's TTFT; a first token's way through HTTP is not in it.
    """
    sizes = sorted({row["prompt_tokens"] for row in rows})
    of_size = [[row["ttft_s"] for row in rows if row["prompt_tokens"] == size] for size in sizes]
    ttft = [float(np.median(times)) for times in of_size]
    per_token_s = max(0.0, float(np.polyfit(sizes, ttft, 1)[0]))
    base_s = float(np.median([row["itl_s"] for row in rows])) - per_token_s
    return max(0.0, base_s), per_token_s


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


@contextmanager
def serving(options: argparse.Namespace, blocks: int, longest: int) -> Iterator[str]:
    """The API's URL of a server that runs until the block ends; its words go to a file."""
    limits = {"PORT": options.port, "BLOCKS": blocks, "BLOCK": options.block,
              "BATCH_TOKENS": options.batch_tokens, "SEQS": options.seqs,
              "MAXLEN": longest}  # fmt: skip
    env = {**os.environ, **{name: str(value) for name, value in limits.items()}}
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
    lines = () if log is None else log.read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines] or agent_log()
    kept = ("id", "prompt_token_ids", "output_len")
    return [{**{k: r[k] for k in kept}, "arrival": r["arrival"] / speed_up} for r in rows]


def _longest(rows: Sequence[dict[str, Any]], options: argparse.Namespace) -> int:
    """Tokens of the longest request: vLLM wants room for as many in its smallest cache."""
    sent = [*rows, *sizes_log(options.batch_tokens)]
    return max(len(row["prompt_token_ids"]) + int(row["output_len"]) for row in sent)


def _row(number: int, at_s: float, prompt: list[int], output: int) -> dict[str, Any]:
    return {"id": number, "arrival": at_s, "prompt_token_ids": prompt, "output_len": output}


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("log", nargs="?", type=Path, help="JSON lines with token ids")
    parser.add_argument("--serve", required=True, help="shell command; see the file's head")
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
