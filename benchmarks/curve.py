"""Seconds and peak memory of `cachecast curve`, the whole command in a process of its own.

    python benchmarks/curve.py LOG...        # each log: first as on a new machine, then again
    python benchmarks/curve.py               # a synthetic log (seeded, made in a temporary folder)

"cold" compiles the kernels (numba keeps them for the next time), "warm" finds them compiled.
Reading and importing the log is part of both; --no-refresh follows lifetimes from the write too.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 2


def main() -> None:
    """Print a line per log and state."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("logs", nargs="*", type=Path)
    parser.add_argument("--no-refresh", action="store_true")
    arguments = parser.parse_args()
    options = ["--no-refresh"] if arguments.no_refresh else []
    with tempfile.TemporaryDirectory() as folder:
        for log in arguments.logs or [synthetic(Path(folder))]:
            with tempfile.TemporaryDirectory() as cache:
                runs = [measured(log, options, cache) for _ in range(RUNS + 1)]
            report(log, "cold", *runs[0])
            report(log, "warm", *min(runs[1:]))


def synthetic(folder: Path) -> Path:
    """Coding sessions of content blocks: 5,000 requests."""
    log = folder / "coding-agent.jsonl"
    command = [sys.executable, "-m", "cachecast", "generate", "coding-agent", "-o", str(log)]
    options = ["--requests", "5000", "--seed", "1"]
    subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL)
    return log


def measured(log: Path, options: list[str], cache: str) -> tuple[float, float, int]:
    """(wall seconds, processor seconds, peak MB) of one run."""
    command = [sys.executable, "-m", "cachecast", "curve", str(log), "--json", *options]
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed")
    return time.perf_counter() - started, processor(used), used.ru_maxrss // 1024


def processor(used: resource.struct_rusage) -> float:
    """Seconds of processor, the system's included."""
    return used.ru_utime + used.ru_stime


def report(log: Path, state: str, wall: float, cpu: float, peak_mb: int) -> None:
    """One line."""
    print(
        f"{log.name:<28} {state}  {wall:6.2f} s  ({cpu:5.2f} s of processor)  peak {peak_mb:,} MB"
    )


if __name__ == "__main__":
    main()
