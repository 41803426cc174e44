"""Small fleets and requests of token blocks, for the tests of fleets."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from cachecast_datasets.request import Request
from cachecast_sim.fleet.config import fleet_config
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.run import FleetRun

MS = 1_000_000

# one second of prefill whatever its size, 10 ms a decode step: numbers to reckon with in the head
FIXED = {"kind": "fixed", "prefill_step_s": 1.0, "decode_step_s": 0.01}


def asked(
    at_s: float, blocks: Iterable[int], *, tokens: int | None = None, output: int = 1,
    block: int = 4, **more: Any,
) -> Request:  # fmt: skip
    """A request at a time whose prompt is these whole blocks of `block` tokens."""
    ids = list(blocks)
    return Request(
        request_id=more.pop("id", f"r{at_s:g}"),
        arrival_us=round(at_s * 1e6),
        token_block_size=block,
        token_blocks=np.array(ids, dtype=np.uint64),
        prompt_tokens=block * len(ids) if tokens is None else tokens,
        output_tokens=output,
        **more,
    )


def fleet(**tables: Any) -> FleetRun:
    """A run of a fleet of one roomy server with blocks of four tokens, but for what is given."""
    engine = {"block_tokens": 4, "blocks": 1001, **tables.pop("engine", {})}
    return FleetRun(fleet_config({"latency": FIXED, **tables, "engine": engine}))


def served(run: FleetRun, *requests: Request) -> list[Job]:
    """The jobs of the requests, in their order."""
    return list(run.jobs(requests))
