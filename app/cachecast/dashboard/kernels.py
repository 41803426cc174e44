"""Fleets in machine code: compiled by a process beside the server, which loads what that has kept.

Compiling takes a quarter of a minute, once on a machine; nobody is to wait for it. Until it is done
fleets are served in Python, with the same results.
"""

import atexit
import os
import subprocess
import sys
import threading
from collections.abc import Callable

from cachecast_sim.fleet.config import fleet_config

_POLITE = 19  # behind the server, the first answers and the browser
_compiled = threading.Event()


def ready() -> bool:
    """Whether fleets may be served in machine code: then it has only to be loaded."""
    return _compiled.is_set()


def prepare(wait: Callable[[], None] | None = None) -> None:
    """Have it compiled and, after `wait`, loaded."""
    process = subprocess.Popen(
        [sys.executable, "-m", __spec__.name if __spec__ else __name__],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    atexit.register(process.terminate)
    if process.wait():
        return
    _compiled.set()
    if wait is not None:
        wait()
    serve_a_fleet()


def serve_a_fleet() -> None:
    """One request on one server, behind a router that looks into it."""
    from cachecast_datasets.request import Boundaries, Request
    from cachecast_sim.fleet.log_jobs import KeptJobs
    from cachecast_sim.fleet.run import FleetRun

    config = fleet_config({
        "fleet": {"router": "cache_aware"}, "engine": {"blocks": 9},
        "latency": {"kind": "fixed", "prefill_step_s": 1, "decode_step_s": 1},
    })  # fmt: skip
    run = FleetRun(config, compiled=True)
    request = Request("", 0, prompt_tokens=16, boundaries=Boundaries([16], [1], ["end"], [1]))
    for _ in run.jobs(KeptJobs([request], *run.cut)):
        pass


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(_POLITE)
    serve_a_fleet()
