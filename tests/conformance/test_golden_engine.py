"""The engine's own scheduler against vLLM 0.32.0's, request by request.

The golden files hold what the real Scheduler and KVCacheManager did with a stand-in for the
forward pass; ours gets the same stand-in, so any difference is a difference of rules.
"""

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cachecast_replay.engine.blocks import BlockManager
from cachecast_replay.engine.scheduler import Scheduler
from cachecast_replay.engine.sequence import Sequence

Row = dict[str, Any]

FILES = (
    "vllm_steady_seq_b16_n300",
    "vllm_steady_seq_b16_n1000",
    "vllm_steady_con_b16_n300",
    "vllm_burst_con_b16_n250",
    "vllm_burst_con_b16_n800_chunk256",
    "vllm_storm_con_b16_n400",
    "vllm_storm_con_b16_n250_chunk128",
    "vllm_storm_con_b16_n450",
    "vllm_repeat_con_b16_n120",
)
TIMES = {"scheduled": "t_sched", "first": "t_first", "done": "t_done"}


@dataclass
class Clock:
    """Integer nanoseconds; a step lasts `base_ns` and `token_ns` more for each of its tokens."""

    base_ns: int
    token_ns: int
    now_ns: int = 0
    steps: int = 0
    at: dict[str, dict[str, int]] = field(default_factory=lambda: {name: {} for name in TIMES})

    def step(self, scheduler: Scheduler) -> None:
        """Schedule, pass the time of the forward pass, append forced tokens."""
        schedule = scheduler.schedule()
        for part in schedule.parts:
            self.at["scheduled"].setdefault(part.sequence.request_id, self.now_ns)
        self.steps += 1
        self.now_ns += self.base_ns + self.token_ns * sum(
            part.new_tokens for part in schedule.parts
        )
        yielded = schedule.yielding
        finished = scheduler.complete(schedule, [each.next_forced or 0 for each in yielded])
        for sequence in yielded:
            self.at["first"].setdefault(sequence.request_id, self.now_ns)
        for sequence in finished:
            self.at["done"][sequence.request_id] = self.now_ns


def run(requests: list[tuple[int, Sequence]], scheduler: Scheduler, clock: Clock) -> None:
    """All requests, each at its arrival; arrivals at a step's start come before the step."""
    coming = sorted(requests, key=lambda pair: pair[0])
    while coming or scheduler.waiting or scheduler.running:
        if not scheduler.waiting and not scheduler.running:
            clock.now_ns = max(clock.now_ns, coming[0][0])
        while coming and coming[0][0] <= clock.now_ns:
            assert scheduler.add(coming.pop(0)[1])
        clock.step(scheduler)


def options(readme: str, name: str) -> Row:
    """The command line that made a golden file, from the table in its README."""
    row = re.search(rf"\| {name}.jsonl \| (\w+)(.*?) \| (.*) \|", readme)
    assert row is not None
    pairs = dict(re.findall(r"--([\w-]+) (\w+)", row[2]))
    steps = re.search(r"(\d+) steps", row[3])
    assert steps is not None
    return {"workload": row[1], "steps": int(steps[1]), **pairs}


def workload(shared: Path, name: str) -> Iterator[tuple[int, Sequence]]:
    with gzip.open(shared / "golden" / f"workload_{name}.jsonl.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            sequence = Sequence(
                str(row["id"]), row["prompt_token_ids"], row["output_len"], row["output_token_ids"]
            )
            yield round(row["arrival"] * 1e9), sequence


@pytest.mark.parametrize("name", FILES)
def test_every_request_is_treated_as_vllm_treated_it(shared: Path, name: str) -> None:
    """Hits, preemptions, readmission hits, the number of steps, and times within 1 µs."""
    chosen = options((shared / "golden" / "README.md").read_text(), name)
    requests = list(workload(shared, chosen["workload"]))
    manager = BlockManager(int(chosen["num-blocks"]), int(chosen["block-size"]))
    scheduler = Scheduler(
        manager,
        int(chosen.get("max-num-batched-tokens", 2048)),
        int(chosen.get("max-num-seqs", 64)),
    )
    clock = Clock(
        int(chosen.get("step-base-ms", 1)) * 1_000_000,
        int(chosen.get("step-us-per-token", 1)) * 1_000,
    )
    if chosen.get("mode") == "concurrent":
        run(requests, scheduler, clock)
    else:
        for pair in requests:
            run([pair], scheduler, clock)

    lines = (shared / "golden" / f"{name}.jsonl").read_text().splitlines()
    expected = [json.loads(line) for line in lines]
    assert len(expected) == len(requests)
    assert [seen(sequence, expected[0], clock) for _, sequence in requests] == expected
    assert clock.steps == chosen["steps"]
    assert manager.free_blocks == manager.usable_blocks


def seen(sequence: Sequence, like: Row, clock: Clock) -> Row:
    """What happened to a request, in the golden files' words."""
    row: Row = {
        "id": int(sequence.request_id),
        "prompt_tokens": sequence.prompt_tokens,
        "hit_tokens": sequence.hit_tokens,
        "preemptions": sequence.preemptions,
        "resume_hits": sequence.resume_hits,
    }
    for moment, key in TIMES.items():
        if key in like:
            row[key] = pytest.approx(clock.at[moment][sequence.request_id] / 1e9, abs=1e-6, rel=0)
    return row
