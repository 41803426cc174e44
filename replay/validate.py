"""Is the prediction true on this machine? Calibrate, simulate, replay three times, compare.

    python replay/validate.py [--folder FOLDER] [--device cpu|cuda] [--model DIR] [--quick]
        [--load LOAD]... [--sessions N] [--replays N] [--calibrate-s S] [--within-s S] [--raw]

The model: 6 layers, hidden size 384, 6 heads of which 2 hold K and V, seeded random weights,
float32, bfloat16 on a GPU (--model takes another). The workloads: 60 requests of 15 coding agents,
four turns each, at half load, at high load and in bursts; and a tight cache that evicts and
preempts, for lock-step. --load: agents at that load instead. Loads are set by the simulation
itself: all arrivals are stretched until the predicted busy time fills that part of the run. One
thread, virtual clock, every step normalised by a probe unless --raw: a GPU of one's own has no
neighbours, and a probe of its launches would add more noise than it takes away.

Every figure stands beside its goal (docs/validation.md), the last line names the goals that were
missed. Exit code 1 if lock-step differs; a missed goal is no error, since it may be the machine's.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq

from cachecast_replay.comparison.goals import Figure, step_model, table
from cachecast_replay.comparison.medians import judged_rows, raw_rows
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
file = "../latency.toml"
"""
ROOMY, TIGHT = 4001, 260
SEED = 7
CLOSE = 0.01  # of the load that is asked for
Workload = tuple[Agents, float, int]  # who sends, at which load, to how many blocks
WORKLOADS: dict[str, Workload] = {
    "load 0.5": (Agents(), 0.5, ROOMY),
    "load 0.8": (Agents(), 0.8, ROOMY),
    "bursts, load 0.5": (replace(Agents(), burst=5), 0.5, ROOMY),
    "tight cache, load 0.9": (replace(Agents(), burst=5), 0.9, TIGHT),
}


class Check:
    """Commands in one folder, on the model, the device and the clock that `on` names."""

    def __init__(self, folder: Path, on: tuple[str, ...]) -> None:
        self.folder = folder
        self.on = on

    def within(self, name: str) -> "Check":
        """The same in a folder of its own for that workload's log and runs."""
        folder = self.folder / name.replace(",", "").replace(" ", "-")
        folder.mkdir(exist_ok=True)
        return Check(folder, self.on)

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
            "calibrate", *self.on, "--seconds", str(seconds), "-o", "latency.toml", "--force",
            "--json",
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
            off = busy_s / found["fleet"]["makespan_s"] / load
            if abs(off - 1) < CLOSE:
                break
            stretch *= off
        return "log.jsonl"

    def simulate(self, log: str, fleet: str, out: str, *more: str) -> None:
        """A prediction, its steps kept."""
        self.cachecast("simulate", log, "--fleet", fleet, "--steps", "-o", out, "--force", *more)

    def replay(self, log: str, fleet: str, out: str) -> None:
        """A measurement."""
        self.cachecast("replay", log, *self.on, "--fleet", fleet, "-o", out, "--force")

    def compare(self, *runs: str) -> dict[str, Any]:
        """The comparison, whatever its verdict."""
        found: dict[str, Any] = json.loads(
            self.cachecast("compare", *runs, "--json", codes=(0, 1, 3))
        )
        return found


def main() -> int:
    options = _options()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        (folder / "model").mkdir(parents=True, exist_ok=True)
        (folder / "model/config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
        model = (options.model or folder / "model").resolve()
        scale = () if options.raw else ("--normalise",)
        check = Check(folder, ("--engine", f"torch:{model}", "--device", options.device, *scale))
        found = check.calibrate(options.calibrate_s)
        held = found["held_out"]
        print(f"{found['machine']}; {found['engine']}")
        steps = step_model(Figure(held["mean_pct"], held["p90_pct"]))
        print(
            f"step model, {held['steps']} held-out kinds of step: "
            f"mean {held['mean_pct']:.1f} %, p90 {held['p90_pct']:.1f} %; goal {steps.goal}: "
            f"{steps.state}",
            flush=True,
        )
        levels = [f"{level:+.1f} %" for level in found["round_levels_pct"]]
        print(f"  its rounds beside their mean: {', '.join(levels) or 'too few'}", flush=True)
        judgements = [Judgement(0, steps.missed, False)]
        took_s = 0.0
        for name, workload in _workloads(options).items():
            begun = time.monotonic()
            if begun + took_s > started + options.within_s:
                print(f"\n{name}: left out, {options.within_s:g} s are too few for it")
                continue
            judgements.append(judged(check.within(name), name, workload, options.replays))
            took_s = time.monotonic() - begun
    print(f"\n{time.monotonic() - started:.0f} s in all")
    print(summary(judgements))
    return 1 if any(found.differences for found in judgements) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--folder", type=Path, help="keep everything there")
    parser.add_argument("--device", default="cpu", help="cpu: float32; cuda: bfloat16")
    parser.add_argument("--model", type=Path, help="a folder with another config.json")
    parser.add_argument("--load", type=float, action="append", help="agents at this load only")
    parser.add_argument("--sessions", type=int, default=Agents().sessions, help="of agents")
    parser.add_argument("--replays", type=int, default=3, help="of each workload, at least 2")
    parser.add_argument("--calibrate-s", type=float, default=110)
    parser.add_argument(
        "--within-s", type=float, default=math.inf,
        help="begin no workload that would end later, if it takes as long as the one before",
    )  # fmt: skip
    parser.add_argument("--raw", action="store_true", help="the wall's own step times, no probe")
    parser.add_argument("--quick", action="store_true", help="two replays of one workload")
    options = parser.parse_args()
    if options.quick:
        options.calibrate_s, options.replays, options.load = 30, 2, [0.5]
    if options.replays < 2:
        parser.error("--replays: expected at least 2, whose difference is the noise floor")
    if any(not load > 0 for load in options.load or ()):
        parser.error("--load: expected more than 0")
    if options.sessions < 1:
        parser.error("--sessions: expected at least 1")
    return options


def _workloads(options: argparse.Namespace) -> dict[str, Workload]:
    chosen = WORKLOADS
    if options.load:
        chosen = {f"load {load:g}": (Agents(), load, ROOMY) for load in options.load}
    return {
        name: (replace(agents, sessions=options.sessions), load, blocks)
        for name, (agents, load, blocks) in chosen.items()
    }


@dataclass(frozen=True, slots=True)
class Judgement:
    """Of one workload: lock-step's differences, the goals that were missed, and whether the machine
    was too noisy to judge the free-running prediction."""

    differences: int
    missed: list[str]
    noisy: bool


def summary(found: Sequence[Judgement]) -> str:
    """One sentence on all goals."""
    missed = [sentence for each in found for sentence in each.missed]
    said = "goals missed: " + "; ".join(missed) if missed else "every goal that was judged is met"
    noisy = sum(each.noisy for each in found)
    if noisy:
        said += f"; the free-running goals of {noisy} were not judged: machine too noisy"
    return said


def judged(check: Check, name: str, workload: Workload, replays: int) -> Judgement:
    """Prints one workload's figures, the medians of its replays, beside their goals."""
    agents, load, blocks = workload
    fleet = "fleet.toml"
    (check.folder / fleet).write_text(FLEET.format(blocks=blocks), encoding="utf-8")
    log = check.log(agents, load, fleet)
    check.simulate(log, fleet, "predicted")
    runs = [f"measured{number}" for number in range(replays)]
    for run in runs:
        check.replay(log, fleet, run)
    free = [
        check.compare("predicted", run, "--again", runs[number - 1])
        for number, run in enumerate(runs)
    ]
    wrong = sum(lock_step(check, log, fleet, run) for run in runs)
    rows = judged_rows(free, load, bursts=agents.burst > 1)
    print(f"\n{name}: {free[0]['requests']} requests, median of {replays} replays")
    print(table([*rows, *raw_rows(free)], wrong))
    hits = [part["hit_tokens"] for part in free]
    print(
        f"  hits differ in {median(part['mismatched_requests'] for part in hits):.0f} requests, "
        f"between two replays in {median(part['floor_mismatched_requests'] for part in hits):.0f}"
    )
    verdicts = [part["verdict"] for part in free]
    print(f"  verdicts: {', '.join(verdicts)} ({free[0]['why']})", flush=True)
    missed = [f"{name}: {wrong} differences in lock-step"] if wrong else []
    missed += [f"{name}: {sentence}" for row in rows for sentence in row.missed]
    return Judgement(wrong, missed, any(row.unjudged for row in rows))


def lock_step(check: Check, log: str, fleet: str, run: str) -> int:
    """Differences in hits, readmission hits, preemptions and steps, driven by the run's steps."""
    recorded = ("--set", "latency.kind=recorded", "--set", f"latency.file={run}")
    check.simulate(log, fleet, "recorded", *recorded)
    found = check.compare("recorded", run)
    requests = ("hit_tokens", "readmissions", "preemptions")
    differing = sum(int(found[name]["mismatched_requests"]) for name in requests)
    return differing + int(found["steps"]["mismatched"])


if __name__ == "__main__":
    sys.exit(main())
