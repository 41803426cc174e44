"""Several servers with long prompts: as one stretch of chunks, and asked for each step."""

import tomllib
from typing import Any

import numpy as np
import pytest

from cachecast_datasets.hashing import content_hash
from cachecast_datasets.request import Request
from cachecast_sim.fleet.config import fleet_config
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.run import FleetRun
from cachecast_sim.latency.roofline import RooflineModel

FLEET = """
[fleet]
servers = 3
router = "round_robin"
[engine]
block_tokens = 16
blocks = 3000
max_batch_tokens = 256
[latency]
kind = "roofline"
model = "llama-3.1-8b"
hardware = "h200-sxm"
"""


def log(seed: int) -> list[Request]:
    """Eighty requests over 1.5 s: prompts of up to 12,000 tokens that go on from one another."""
    random, made, told = np.random.default_rng(seed), [], [np.zeros(0, dtype=np.uint64)]
    arrivals = np.sort(random.integers(0, 1_500_000, 80))
    for number, arrival in enumerate(arrivals.tolist()):
        kept = told[int(random.integers(len(told)))]
        kept = kept[: int(random.integers(len(kept) + 1))]
        new = [content_hash(b"%d %d" % (number, n)) for n in range(int(random.integers(400)))]
        blocks = np.concatenate([kept, np.array(new, dtype=np.uint64)])[:750]
        told.append(blocks)
        request = Request(str(number), arrival)
        request.token_blocks, request.token_block_size = blocks, 16
        request.prompt_tokens = len(blocks) * 16 + 1
        request.output_tokens = int(random.integers(1, 60))
        made.append(request)
    return made


def served(seed: int) -> tuple[list[dict[str, Any]], object, dict[int, int]]:
    run = FleetRun(fleet_config(tomllib.loads(FLEET)))
    names = [name for name in Job.__slots__ if name not in ("path", "held")]
    jobs = [{name: getattr(job, name) for name in names} for job in run.jobs(log(seed))]
    return jobs, (run.timeline.width_ns, run.timeline.servers), run.gaps.as_dict()


@pytest.mark.parametrize("seed", range(4))
def test_chunks_as_one_stretch_change_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times, hits, reasons (which ask what any server ever held), timeline and gaps."""
    at_once = served(seed)
    monkeypatch.setattr(RooflineModel, "chunk_ends_ns", lambda *counts: None)

    assert at_once == served(seed)
