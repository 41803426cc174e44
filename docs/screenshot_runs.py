"""What the screenshots show besides the built-in example: a folder of runs, and a longer log.

The runs are of one small agent workload: predicted with step times that were fitted on this
machine, and measured twice with the engine of our own. About a minute.
"""

import subprocess
import sys
from pathlib import Path

from small_replay import CONFIG, write_model_and_fleet

from cachecast_replay.workload import Agents, lines

_CONFIG = CONFIG | {"hidden_size": 64, "intermediate_size": 128, "vocab_size": 1024}
_FLEET = """
[engine]
block_tokens = 16
blocks = 4001
max_batch_tokens = 512
max_seqs = 16
[latency]
kind = "fitted"
file = "latency.toml"
"""
_AGENTS = Agents(vocabulary=1024, spacing_s=0.6, pause_s=1.2)
_SEED = 7


def make_runs(folder: Path) -> None:
    """Write the runs `predicted`, `measured` and `measured-again`, unless they are there."""
    if (folder / "measured-again").exists():
        return
    write_model_and_fleet(folder, _CONFIG, _FLEET)
    (folder / "log.jsonl").write_text("".join(lines(_AGENTS, _SEED)), encoding="utf-8")
    engine = ("--engine", "torch:model", "--normalise")
    with_fleet = ("log.jsonl", "--fleet", "fleet.toml")
    cachecast(folder, "calibrate", *engine, "--seconds", "20", "-o", "latency.toml")
    cachecast(folder, "simulate", *with_fleet, "--steps", "-o", "predicted")
    for name in ("measured", "measured-again"):
        cachecast(folder, "replay", *with_fleet, *engine, "-o", name)


def make_log(folder: Path) -> Path:
    """Write a log of conversations with the faults of real ones: enough for servers to queue."""
    log = folder / "conversations.jsonl.zst"
    if log.exists():
        return log
    cachecast(
        folder, "generate", "coding-agent", "-o", log.name, "--requests", "1500", "--seed", "4",
        "--rate", "12", "--clock-in-system", "--shuffle-tools", "--pause", "900",
        "--title-model", "claude-haiku-4-5",
    )  # fmt: skip
    return log


def cachecast(folder: Path, *words: str) -> None:
    """Run a command there; its failure ends ours."""
    command = [sys.executable, "-m", "cachecast", *words]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"cachecast {' '.join(words)} failed:\n{ran.stderr[-3000:]}")
