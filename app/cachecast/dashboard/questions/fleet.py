"""The log on own servers: the run that `cachecast simulate LOG --fleet FILE -o RUN` writes."""

import hashlib
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import structs

from cachecast.dashboard import kernels
from cachecast.dashboard.answers import Arguments, Question
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened
from cachecast.dashboard.work import Answer
from cachecast.fleet_file import FilesBeside
from cachecast.fleet_jobs import FleetJobs
from cachecast.fleet_report import cost_json
from cachecast.progress import Report
from cachecast.results.writer import hash_inputs
from cachecast.simulating_logs import Keep, serve_trace
from cachecast_datasets.trace import Trace
from cachecast_sim.fleet.config import CostTable, FleetConfig
from cachecast_sim.fleet.run import FleetRun

FLEET_FILE = Path("fleet.toml")  # its name on screen; paths in it count from where we run


def as_argument(config: FleetConfig) -> str:
    """The fleet as text, the same however it was written, and without the price of a GPU hour: a
    change of price needs no simulation."""
    cost = config.cost
    if cost is not None:
        own = cost.gpus_per_server
        cost = None if own is None else CostTable("0", "", own)
    return msgspec.json.encode(structs.replace(config, cost=cost)).decode()


def _answer(about: Opened, arguments: Arguments, folder: Folder, report: Report) -> Answer:
    """Arguments: `as_argument`, and what tells whether a file that the fleet names has changed."""
    text, *_ = arguments
    config = msgspec.json.decode(text, type=FleetConfig)
    digest = hashlib.sha256(repr(arguments).encode()).hexdigest()[:12]
    path = folder.part("runs") / f"{about.key}-fleet-{digest}"
    steps = config.latency.get("kind") == "recorded"
    keep = Keep(path, True, steps, FLEET_FILE, hash_inputs([about.source]))
    files = FilesBeside(FLEET_FILE)
    trace, compiled = about.trace(), kernels.ready()
    serve_trace(
        trace, lambda on_step: FleetRun(config, files, on_step, compiled=compiled), (), keep,
        report=report, source=fleet_jobs(about.key, trace).of,
    )  # fmt: skip
    folder.prune_runs()
    return {"path": str(path)}


@lru_cache(maxsize=2)
def fleet_jobs(key: str, trace: Trace) -> FleetJobs:
    """The log's jobs, kept for every fleet of every page."""
    return FleetJobs(trace)


def priced(info: Answer, cost: CostTable | None) -> Answer:
    """The `run.json` of such a run with the price of a GPU hour in it."""
    fleet = info["fleet"] | {"cost": cost_json(cost, info["gpu_time_ns"])}
    return info | {"fleet": fleet}


FLEET = Question("fleet", "Serving the log", _answer)
