"""Is the prediction true on this machine? Calibrate, simulate, replay three times, compare.

    python replay/validate.py [--folder FOLDER] [--device cpu|cuda] [--model DIR] [--quick]

The model: 6 layers, hidden size 384, 6 heads of which 2 hold K and V, seeded random weights,
float32 (--model takes another). The workloads: 60 requests of 15 coding agents, four turns each, at
half load, at high load and in bursts; and a tight cache that evicts and preempts, for lock-step.
Loads are set by the simulation itself: all arrivals are stretched until the predicted busy time
fills that part of the run. One thread, virtual clock, every step normalised by a probe.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq

from cachecast_replay.workload import Agents, lines

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 384,
    "intermediate_size": 1024, "num_hidden_layers": 6, "num_attention_heads": 6,
    "num_key_value_heads": 2, "vocab_size": 4096, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "max_position_embeddings": 8192, "tie_word_embeddings": True,
}  # fmt: skip
FLEET = """
[engine]
block_tokens = 16
blocks = {blocks}
max_batch_tokens = 512
max_seqs = 16
[latency]
kind = "fitted"
file = "latency.toml"
"""
ROOMY, TIGHT = 4001, 260
SEED = 7
REPLAYS = 3
WORKLOADS = {
    "load 0.5": (Agents(), 0.5, ROOMY),
    "load 0.8": (Agents(), 0.8, ROOMY),
    "bursts, load 0.5": (replace(Agents(), burst=5), 0.5, ROOMY),
    "tight cache, load 0.9": (replace(Agents(), burst=5), 0.9, TIGHT),
}


Part = dict[str, Any]


class Check:
    """One folder with the model, the calibration and the runs."""

    def __init__(self, folder: Path, model: Path, device: str) -> None:
        self.folder = folder
        self.model = model
        self.device = device

    def cachecast(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> str:
        """What a command prints. Ends the check if it fails."""
        command = [sys.executable, "-m", "cachecast", *arguments]
        ran = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if ran.returncode not in codes:
            sys.exit(f"{' '.join(command)} failed:\n{ran.stderr[-3000:]}")
        return ran.stdout

    def calibrate(self, seconds: float) -> dict[str, Any]:
        """The held-out error of the step model."""
        out = self.cachecast(
            "calibrate", "--engine", f"torch:{self.model}", "--device", self.device, "--normalise",
            "--seconds", str(seconds), "-o", "latency.toml", "--force", "--json",
        )  # fmt: skip
        found: dict[str, Any] = json.loads(out)
        return found

    def log(self, agents: Agents, load: float, fleet: str) -> str:
        """The workload, stretched until the predicted busy time is `load` of the run."""
        stretch = 1.0
        for _ in range(4):
            text = "".join(lines(agents, SEED, stretch))
            (self.folder / "log.jsonl").write_text(text, encoding="utf-8")
            self.simulate("log.jsonl", fleet, "sized")
            found = json.loads((self.folder / "sized/run.json").read_text("utf-8"))
            steps = pq.read_table(self.folder / "sized/steps.parquet", columns=["duration_ns"])
            busy_s = sum(steps.column(0).to_pylist()) / 1e9
            stretch *= busy_s / found["fleet"]["makespan_s"] / load
        return "log.jsonl"

    def simulate(self, log: str, fleet: str, out: str, *more: str) -> None:
        """A prediction, its steps kept."""
        self.cachecast("simulate", log, "--fleet", fleet, "--steps", "-o", out, "--force", *more)

    def replay(self, log: str, fleet: str, out: str) -> None:
        """A measurement."""
        self.cachecast(
            "replay", log, "--engine", f"torch:{self.model}", "--fleet", fleet, "--device",
            self.device, "--normalise", "-o", out, "--force",
        )  # fmt: skip

    def compare(self, *runs: str) -> dict[str, Any]:
        """The comparison, whatever its verdict."""
        found: dict[str, Any] = json.loads(
            self.cachecast("compare", *runs, "--json", codes=(0, 1, 3))
        )
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--folder", type=Path, help="keep everything there")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--model", type=Path, help="a folder with another config.json")
    parser.add_argument("--quick", action="store_true", help="one replay of one workload")
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        (folder / "model").mkdir(parents=True, exist_ok=True)
        (folder / "model/config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
        model = (options.model or folder / "model").resolve()
        check = Check(folder, model, options.device)
        found = check.calibrate(30 if options.quick else 110)
        held = found["held_out"]
        print(f"{found['machine']}; {found['engine']}")
        print(
            f"step model, {held['steps']} held-out kinds of step: "
            f"mean {held['mean_pct']:.1f} %, p90 {held['p90_pct']:.1f} %"
        )
        failed = False
        for name in list(WORKLOADS)[: 1 if options.quick else None]:
            failed |= judged(check, name, 2 if options.quick else REPLAYS)
    print(f"{time.monotonic() - started:.0f} s in all")
    return 1 if failed else 0


def judged(check: Check, name: str, replays: int) -> bool:
    """Prints one workload's figures, the median of its replays; whether lock-step failed."""
    agents, load, blocks = WORKLOADS[name]
    fleet = "fleet.toml"
    (check.folder / fleet).write_text(FLEET.format(blocks=blocks), encoding="utf-8")
    log = check.log(agents, load, fleet)
    check.simulate(log, fleet, "predicted")
    runs = [f"measured{number}" for number in range(replays)]
    for run in runs:
        check.replay(log, fleet, run)
    free, exact = [], []
    for number, run in enumerate(runs):
        free.append(check.compare("predicted", run, "--again", runs[number - 1]))
        recorded = ("--set", "latency.kind=recorded", "--set", f"latency.file={run}")
        check.simulate(log, fleet, "recorded", *recorded)
        exact.append(check.compare("recorded", run))
    wrong = sum(
        part["hit_tokens"]["mismatched_requests"] + part["readmissions"]["mismatched_requests"]
        + part["preemptions"]["mismatched_requests"] + part["steps"]["mismatched"]
        for part in exact
    )  # fmt: skip
    print(f"\n{name}: {free[0]['requests']} requests, median of {replays} replays")
    print(f"  lock-step: {wrong} differences in hits, readmissions, preemptions and steps")
    rows: dict[str, Callable[[Part], Part]] = {
        "teacher-forced TTFT": lambda part: part["teacher_forced"]["ttft"],
        "teacher-forced ITL": lambda part: part["teacher_forced"]["itl"],
        "free-running TTFT": lambda part: part["ttft"],
        "free-running ITL": lambda part: part["itl"],
        "raw clock, TTFT": lambda part: part["raw_clock"]["ttft"],
        "raw clock, ITL": lambda part: part["raw_clock"]["itl"],
    }
    for label, of in rows.items():
        mean = median(of(part)["mean_abs_pct"] for part in free)
        p90 = median(of(part)["p90_abs_pct"] for part in free)
        print(f"  {label:20} mean {mean:5.1f} %  p90 {p90:5.1f} %")
    for label, of in list(rows.items())[2:]:
        mean = median(of(part)["noise_floor_pct"] for part in free)
        p90 = median(of(part)["noise_floor_p90_pct"] for part in free)
        name = label.replace("free-running", "floor").replace("clock,", "clock, floor")
        print(f"  {name:20} mean {mean:5.1f} %  p90 {p90:5.1f} %")
    hits = [part["hit_tokens"] for part in free]
    print(
        f"  hits differ in {median(part['mismatched_requests'] for part in hits):.0f} requests, "
        f"between two replays in {median(part['floor_mismatched_requests'] for part in hits):.0f}"
    )
    verdicts = [part["verdict"] for part in free]
    print(f"  verdicts: {', '.join(verdicts)} ({free[0]['why']})")
    return bool(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
