"""The log on own servers: the run that `cachecast simulate LOG --fleet FILE -o RUN` writes."""

import hashlib
from pathlib import Path

from cachecast.dashboard.answers import Arguments, Question
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened
from cachecast.dashboard.work import Answer
from cachecast.fleet_file import FilesBeside, fleet_of
from cachecast.progress import Report
from cachecast.results.writer import hash_inputs
from cachecast.simulating_logs import Keep, serve_trace
from cachecast_sim.fleet.run import FleetRun

FLEET_FILE = Path("fleet.toml")  # its name on screen; paths in it count from where we run


def _answer(about: Opened, arguments: Arguments, folder: Folder, report: Report) -> Answer:
    """Arguments: the fleet file's text, and what tells whether a file that it names has changed."""
    text, *_ = arguments
    config = fleet_of(text.encode())
    digest = hashlib.sha256(repr(arguments).encode()).hexdigest()[:12]
    path = folder.part("runs") / f"{about.key}-fleet-{digest}"
    steps = config.latency.get("kind") == "recorded"
    keep = Keep(path, True, steps, FLEET_FILE, hash_inputs([about.source]))
    files = FilesBeside(FLEET_FILE)
    serve_trace(
        about.trace(), lambda on_step: FleetRun(config, files, on_step), (), keep, report=report
    )
    return {"path": str(path)}


FLEET = Question("fleet", "Serving the log", _answer)
