"""Requests a second and peak memory of `bill`, per scenario, on one core.

    python benchmarks/bill.py            # a synthetic log (seeded, made in a temporary folder)
    python benchmarks/bill.py LOG        # a log of your own, any format that import reads
    python benchmarks/bill.py LOG --times 10   # the same log ten times over, one after the other

Each scenario runs in a process of its own, so that its peak memory is its own; the first run in it
warms up, the best of the next three counts, reading the Parquet included.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cachecast.billing import bills_of
from cachecast.scenarios import scenarios_of
from cachecast_datasets.importing import import_log
from cachecast_datasets.trace import open_trace
from cachecast_pricing.catalog import load_catalog

SCENARIOS = ("claude-opus-5", "claude-opus-5,ttl=1h", "gpt-6-sol", "deepseek-flash")
RUNS = 3
GAP_US = 3_600_000_000  # between two repetitions of the log


def main() -> None:
    """Print a line per scenario."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("log", nargs="?", type=Path)
    parser.add_argument("--times", type=int, default=1, help="repeat the log so many times")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--import-to", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.import_to:
        measure_import(arguments.log, arguments.import_to)
        return
    if arguments.one:
        measure(arguments.log, arguments.one)
        return
    with tempfile.TemporaryDirectory() as folder:
        source = arguments.log or synthetic(Path(folder) / "sessions")
        log = Path(folder) / "log.parquet"
        subprocess.run([sys.executable, __file__, str(source), "--import-to", str(log)], check=True)
        if arguments.times > 1:
            log = repeated(log, arguments.times, Path(folder) / "repeated.parquet")
        for scenario in SCENARIOS:
            command = [sys.executable, __file__, str(log), "--one", scenario]
            subprocess.run(command, check=True)


def measure_import(source: Path, log: Path) -> None:
    """The import, in this process: a child would inherit its peak memory."""
    started = time.perf_counter()
    rows = import_log([source], log).rows
    took = time.perf_counter() - started
    print(f"{'import':<22} {rows:>9,} requests  in {took:.1f} s  peak {peak_mb():,} MB", flush=True)


def peak_mb() -> int:
    """Peak resident memory of this process alone; `getrusage` would count what forked it, too."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (row for row in status.read_text().splitlines() if row.startswith("VmHWM"))
        return int(line.split()[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def measure(log: Path, text: str) -> None:
    """One scenario in this process."""
    catalog = load_catalog()
    best, rows = float("inf"), 0
    for _ in range(RUNS + 1):
        started = time.perf_counter()
        trace = open_trace(log)
        bill = bills_of(trace, scenarios_of([text], catalog), catalog)[0]
        best, rows = min(best, time.perf_counter() - started), bill.totals.requests
    print(
        f"{text:<22} {rows:>9,} requests  {rows / best:>9,.0f} requests/s  peak {peak_mb():,} MB",
        flush=True,
    )


def repeated(log: Path, times: int, out: Path) -> Path:
    """The log `times` times, each repetition after the last has ended, with ids of its own."""
    with pq.ParquetFile(log) as file:
        arrivals = pc.min_max(pq.read_table(log, columns=["arrival"])["arrival"]).as_py()
        span = (arrivals["max"] - arrivals["min"]).total_seconds() * 1e6 + GAP_US
        with pq.ParquetWriter(
            out,
            file.schema_arrow,
            compression="zstd",
            use_dictionary=["boundaries.list.element.name"],
        ) as writer:
            for number in range(times):
                for batch in file.iter_batches(2_048):
                    writer.write_batch(_shifted(batch, number, round(number * span)))
    return out


def _shifted(batch: pa.RecordBatch, number: int, by_us: int) -> pa.RecordBatch:
    arrival = pc.add(batch["arrival"].cast(pa.int64()), by_us).cast(batch["arrival"].type)
    ids = pc.binary_join_element_wise(batch["request_id"], f"r{number}", "-")
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns |= {"arrival": arrival, "request_id": ids}
    return pa.RecordBatch.from_pydict(columns, schema=batch.schema)


def synthetic(folder: Path, sessions: int = 500, turns: int = 66, seed: int = 1) -> Path:
    """Coding sessions in kv-cache-tester's shape: growing prompts, pauses, a few rewinds."""
    rng = random.Random(seed)
    folder.mkdir()
    for number in range(sessions):
        at, tokens, fresh = 0.0, rng.randint(18_000, 40_000), iter(range(10**9))
        ids: list[int] = []
        requests = []
        for _ in range(turns):
            if rng.random() < 0.03:
                tokens = max(18_000, tokens // 2)
            ids = ids[: tokens // 64]
            ids += [next(fresh) for _ in range(tokens // 64 - len(ids))]
            output = rng.randint(50, 900)
            requests.append(
                {
                    "t": round(at, 1), "type": "n", "model": "claude-opus-4-5-20251101",
                    "in": tokens, "out": output, "hash_ids": list(ids), "api_time": output / 60,
                    "think_time": 0.0, "input_types": ["tool_result"],
                    "output_types": ["text", "tool_use"], "stop": "tool_use",
                }
            )  # fmt: skip
            at += output / 60 + rng.choice((2, 5, 9, 30, 90, 400))
            tokens = min(190_000, tokens + rng.randint(200, 6_000))
        session = {
            "id": f"s{number:04}", "models": ["claude-opus-4-5-20251101"], "block_size": 64,
            "hash_id_scope": "local", "tool_tokens": 12_000, "system_tokens": 4_000,
            "requests": requests, "totals": {},
        }  # fmt: skip
        (folder / f"s{number:04}.json").write_text(json.dumps(session))
    return folder


if __name__ == "__main__":
    main()
