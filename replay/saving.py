"""TTFT of a long shared prefix, cold and warm, on our own engine: a table and a chart.

    python replay/saving.py [--chart FILE.svg] [--device cpu|cuda] [--model DIR]

The model is validate.py's (--model takes another), with one thread; steps are normalised by a
probe. Each prefix of 256 to 4,096 tokens is sent with two different endings of 32 tokens, five
times over; the medians are printed. The first request computes the prefix, the second finds it in
the cache.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from cachecast_replay.cold_and_warm import END_TOKENS, lines
from validate import CONFIG

PREFIXES = (256, 512, 1024, 2048, 4096)
ROUNDS = 5
VOCABULARY = 4096  # of the model, or fewer
# room for the prefixes of one round; a whole prompt is one step
FLEET = """\
[engine]
block_tokens = 16
blocks = 1024
max_batch_tokens = 4608
max_seqs = 4
[latency]
kind = "fixed"
prefill_step_s = 0.001
decode_step_s = 0.001
"""


def main() -> int:
    """Replay, print the table."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="saving-") as folder:
        work = Path(folder)
        (work / "model").mkdir()
        (work / "model/config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
        model = "model" if options.model is None else options.model.resolve()
        (work / "fleet.toml").write_text(FLEET, encoding="utf-8")
        (work / "log.jsonl").write_text(
            "".join(lines(PREFIXES, ROUNDS, VOCABULARY)), encoding="utf-8"
        )
        command = [
            sys.executable, "-m", "cachecast", "replay", "log.jsonl", "--engine",
            f"torch:{model}", "--fleet", "fleet.toml", "--device", options.device,
            "--normalise", "--per-request", "--json",
        ]  # fmt: skip
        if options.chart is not None:
            command += ["--chart", str(options.chart.resolve()), "--force"]
        ran = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        return ran.returncode
    print(table([json.loads(line) for line in ran.stdout.splitlines()]))
    return 0


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Medians by prefix length, from a replay's rows."""
    found = [f"{'prefix':>8}{'cold':>12}{'warm':>12}{'times':>8}"]
    for size in PREFIXES:
        cold, warm = (_ttft_ms(rows, f"{size}-", f"-{state}") for state in ("cold", "warm"))
        found.append(f"{size:>8,}{cold:>9.1f} ms{warm:>9.1f} ms{cold / warm:>8.1f}")
    found.append(f"each with {END_TOKENS} tokens of its own; medians of {ROUNDS}")
    return "\n".join(found)


def _ttft_ms(rows: Sequence[Mapping[str, Any]], start: str, end: str) -> float:
    """Median of the requests whose names begin and end so."""
    chosen = (
        row for row in rows
        if row["request_id"].startswith(start) and row["request_id"].endswith(end)
    )  # fmt: skip
    return 1000 * median(float(row["first_token_s"] - row["arrival_s"]) for row in chosen)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--chart", type=Path, help="a file for the chart: .svg, .png, .html, .json")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--model", type=Path, help="a folder with another config.json")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
