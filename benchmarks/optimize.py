"""Speed and memory of `cachecast optimize`, on a given log or on made coding sessions.

    python benchmarks/optimize.py [LOG] [--as MODEL]

Prints seconds of wall clock and of processor for each part, candidates a second, peak memory.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cachecast.optimize_job import optimum_of
from cachecast.scenarios import scenario_of
from cachecast_datasets.importing import open_or_import
from cachecast_pricing.catalog import load_catalog


class Clock:
    """Prints what each part took."""

    def __init__(self) -> None:
        self._wall, self._processor = time.perf_counter(), time.process_time()

    def part(self, name: str) -> None:
        """The part that ended just now."""
        wall, processor = time.perf_counter(), time.process_time()
        spent = processor - self._processor
        print(f"{name:<24} {wall - self._wall:7.2f} s, {spent:7.2f} s of processor")
        self._wall, self._processor = wall, processor


def sessions(log: Path, requests: int) -> Path:
    """A synthetic log of content blocks."""
    asked = f"coding-agent --requests {requests} --seed 1 -o {log}"
    command = [sys.executable, "-m", "cachecast", "generate", *asked.split()]
    subprocess.run(command, check=True, capture_output=True)
    return log


def main() -> None:
    """Time the parts of one run; the kernels are compiled before, if they were not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", nargs="?", type=Path)
    parser.add_argument("--as", dest="model", default="claude-opus-5")
    arguments = parser.parse_args()
    catalog = load_catalog()
    scenario = scenario_of(arguments.model, catalog)
    with tempfile.TemporaryDirectory() as folder:
        tmp = Path(folder)
        clock = Clock()
        warm = open_or_import([sessions(tmp / "warm.jsonl", requests=20)], tmp_dir=tmp)
        optimum_of(warm, scenario, catalog)
        clock.part("compiling")
        log = arguments.log or sessions(tmp / "log.jsonl", requests=20_000)
        trace = open_or_import([log], tmp_dir=tmp)
        clock.part("opening the log")
        last = ""

        def report(what: str, done: int, total: int) -> None:
            nonlocal last
            if what != last and last:
                clock.part(last)
            last = what

        found = optimum_of(trace, scenario, catalog, report)
        clock.part("judging and replays")
    print(f"{trace.rows:,} requests, {len(found.judged.policies):,} policies: {found.policy.mark}")
    unit = 1024 if sys.platform != "darwin" else 1024**2
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    print(f"peak memory {peak:,.0f} MiB")


if __name__ == "__main__":
    main()
