"""A log's jobs, made once and served by several runs, against those of each run's own making."""

from typing import Any

import pytest
from fleet_runs import ask, ask_ids
from hypothesis import given, settings
from hypothesis import strategies as st
from sim.fleet.vllm_cases import Case, cases

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_sim.fleet.config import fleet_config
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.log_jobs import KeptJobs
from cachecast_sim.fleet.routers import ROUTERS
from cachecast_sim.fleet.run import FleetRun

LATENCY = {"kind": "linear", "step_base_s": 0.000003, "per_token_s": 0.000001}
FACTS = [name for name in Job.__slots__ if name not in ("path", "held")]


def run_of(case: Case, router: str, loop: str, traffic: float = 1.0) -> FleetRun:
    setup = case.setup
    return FleetRun(fleet_config({
        "fleet": {"servers": 2, "router": router, "loop": loop, "traffic": traffic},
        "engine": {
            "block_tokens": setup.block_tokens, "blocks": setup.usable_blocks + 1,
            "max_batch_tokens": setup.max_batch_tokens, "max_seqs": setup.max_seqs,
        },
        "latency": LATENCY,
    }))  # fmt: skip


def facts(job: Job) -> dict[str, Any]:
    return {name: getattr(job, name) for name in FACTS}


def requests_of(case: Case) -> list[Request]:
    found = [asked.request for asked in case.asked]
    for number, request in enumerate(found):
        request.session_id = str(number % 2)
    return found


@settings(max_examples=150)
@given(
    cases(), st.sampled_from(sorted(ROUTERS)), st.sampled_from(["open", "closed"]),
    st.sampled_from([1, 3]),
)  # fmt: skip
def test_every_run_with_kept_jobs_is_the_run_with_its_own(
    case: Case, router: str, loop: str, traffic: float
) -> None:
    """The second, which comes after other servers have served the same jobs, and in one step with
    a third, too."""
    requests = requests_of(case)
    expected = run_of(case, router, loop, traffic)
    jobs = [facts(job) for job in expected.jobs(requests)]
    kept = KeptJobs(requests, *expected.cut)

    first = run_of(case, "least_loaded", "open")
    assert [job.index for job in first.jobs(kept)] == [job["index"] for job in jobs]
    second, third = (run_of(case, router, loop, traffic) for _ in range(2))
    both = [(facts(a), facts(b)) for a, b in zip(second.jobs(kept), third.jobs(kept), strict=True)]
    assert both == [(job, job) for job in jobs]
    assert second.assumptions() == expected.assumptions()


def test_what_was_left_out_is_said_of_every_run() -> None:
    empty = Request("b", 5)
    run = FleetRun(fleet_config({"engine": {"blocks": 9}, "latency": LATENCY}))
    kept = KeptJobs([ask(0, [1] * 20), empty], *run.cut)

    assert len(list(run.jobs(kept))) == 1
    assert run.skipped == 1


def test_jobs_cut_for_another_block_size_are_refused() -> None:
    run = FleetRun(fleet_config({"engine": {"blocks": 9}, "latency": LATENCY}))
    kept = KeptJobs([ask(0, [1] * 20)], 8)
    with pytest.raises(AssertionError, match="another block size"):
        list(run.jobs(kept))


def test_a_request_that_cannot_be_cut_is_named() -> None:
    odd = ask_ids(0, [1, 2], 48, 24)
    with pytest.raises(BadInput, match=r"^request : has blocks of 24 tokens"):
        KeptJobs([odd], 16)
