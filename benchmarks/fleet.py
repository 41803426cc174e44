"""How fast `cachecast simulate` is, beside another simulator in the same run.

    python benchmarks/fleet.py CONVERSATION_TRACE [--peer 'COMMAND {block}'] [--runs 3]

The log is Mooncake's conversation trace: four vLLM servers, round robin, fixed step times,
1,024,000 tokens of KV each, in blocks of 512 and of 16; reasons and per-request output on. For each
it prints the time that the simulation says it took and that of the whole process, best of the runs.
`--peer` is a command that prints "Wall Time (ms): N"; it runs in turn with ours.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FLEET = """
[fleet]
servers = 4
router = "round_robin"
engine = "vllm"
[engine]
block_tokens = {block}
blocks = {blocks}
max_batch_tokens = 8192
max_seqs = 256
[latency]
kind = "fixed"
prefill_step_s = 0.2
decode_step_s = 0.02
"""
KV_TOKENS = 1_024_000
OURS = re.compile(r"([\d,]+) requests simulated in ([\d.]+) s, read in")
PEERS = re.compile(r"Wall Time \(ms\): ([\d,.]+)")


def timed(command: list[str], pattern: re.Pattern[str], group: int) -> tuple[float, float]:
    """(seconds that the command says it took, seconds of the whole process)."""
    started = time.perf_counter()
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    whole_s = time.perf_counter() - started
    found = pattern.search(ran.stdout + ran.stderr)
    if ran.returncode or found is None:
        sys.exit(f"{' '.join(command)} failed:\n{ran.stderr[-2000:]}")
    return float(found[group].replace(",", "")), whole_s


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("log", type=Path)
    parser.add_argument("--peer", help="command of the peer; {block} is the block size")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for block in (512, 16):
            fleet = Path(folder, f"fleet{block}.toml")
            fleet.write_text(FLEET.format(block=block, blocks=KV_TOKENS // block + 1))
            ours = [
                sys.executable, "-m", "cachecast", "simulate", str(options.log),
                "--fleet", str(fleet), "--per-request",
            ]  # fmt: skip
            mine, theirs = [], []
            for _ in range(options.runs):
                mine.append(timed(ours, OURS, 2))
                if options.peer:
                    peer = ["bash", "-c", options.peer.format(block=block)]
                    said_ms, whole_s = timed(peer, PEERS, 1)
                    theirs.append((said_ms / 1000, whole_s))
            report(block, mine, theirs)


def report(block: int, mine: list[tuple[float, float]], theirs: list[tuple[float, float]]) -> None:
    """One line a simulator, and the ratios."""
    best = [min(run[part] for run in mine) for part in (0, 1)]
    print(f"block {block}: cachecast   {best[0]:.2f} s simulated, {best[1]:.2f} s whole process")
    if theirs:
        peer = [min(run[part] for run in theirs) for part in (0, 1)]
        ratios = [b / a for a, b in zip(best, peer, strict=True)]
        print(
            f"block {block}: peer        {peer[0]:.2f} s simulated, {peer[1]:.2f} s whole process"
        )
        print(f"block {block}: {ratios[0]:.1f} times as fast, {ratios[1]:.1f} as whole process")


if __name__ == "__main__":
    main()
