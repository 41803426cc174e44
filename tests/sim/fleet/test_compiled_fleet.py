"""Servers in machine code against those in Python, on random logs: everything that a run tells."""

from dataclasses import replace
from typing import Any

import pytest
from fleet_runs import ask
from fleets import asked
from hypothesis import given, settings
from hypothesis import strategies as st
from sim.fleet.vllm_cases import Case, cases, echoes

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_sim.fleet.config import fleet_config
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.log_jobs import KeptJobs
from cachecast_sim.fleet.routers import ROUTERS
from cachecast_sim.fleet.run import FleetRun

FACTS = (
    "request_id", "index", "status", "server", "hit_tokens", "readmission_hit_tokens",
    "preemptions", "scheduled_ns", "first_token_ns", "end_ns", "reason", "misses",
)  # fmt: skip
GPU = {"kind": "roofline", "hardware": "h200-sxm"}
LATENCIES: list[dict[str, Any]] = [
    {"kind": "fixed", "prefill_step_s": 0.000007, "decode_step_s": 0.000002},
    {"kind": "linear", "step_base_s": 0.000003, "per_token_s": 0.000001},
    {"kind": "linear", "step_base_s": 0.0000031234567, "per_token_s": 0.0000000111},
    {**GPU, "model": "llama-3.1-8b"},
    {**GPU, "model": "llama-3.1-70b", "tensor_parallel": 2, "step_overhead_s": 0.0001},
    {**GPU, "model": "gpt-oss-20b"},  # experts, and layers with a window
]
LOGS = cases(30) | echoes()


def run_of(case: Case, latency: dict[str, Any], compiled: bool, **fleet: Any) -> FleetRun:
    setup = case.setup
    tables = {
        "fleet": fleet,
        "engine": {
            "block_tokens": setup.block_tokens, "blocks": setup.usable_blocks + 1,
            "max_batch_tokens": setup.max_batch_tokens, "max_seqs": setup.max_seqs,
        },
        "latency": latency,
    }  # fmt: skip
    return FleetRun(fleet_config(tables), compiled=compiled)


def told(run: FleetRun, kept: KeptJobs, sample_ns: int = 10_000) -> dict[str, Any]:
    """Everything that a run says of itself, in the order in which it comes; loads are asked for
    every `sample_ns`."""
    run.timeline.width_ns = sample_ns
    jobs = [{name: getattr(job, name) for name in FACTS} for job in run.jobs(kept)]
    return {
        "jobs": jobs, "totals": run.totals, "steps": run.steps, "gaps": run.gaps.as_dict(),
        "preemptions": run.preemptions, "evicted": run.evicted_blocks, "skipped": run.skipped,
        "timeline": (run.timeline.width_ns, run.timeline.servers),
        "assumptions": run.assumptions(),
    }  # fmt: skip


def requests_of(case: Case) -> list[Request]:
    found = [one.request for one in case.asked]
    for number, request in enumerate(found):
        request.session_id = str(number % 3)
    return found


@settings(max_examples=400, deadline=None)
@given(
    LOGS, st.sampled_from(LATENCIES), st.integers(1, 3), st.sampled_from(sorted(ROUTERS)),
    st.sampled_from(["open", "closed"]), st.integers(1, 4), st.sampled_from([10_000, 10**9]),
)  # fmt: skip
def test_machine_code_tells_of_every_fleet_what_python_tells(
    case: Case, latency: dict[str, Any], servers: int, router: str, loop: str, balance: int,
    sample_ns: int,
) -> None:  # fmt: skip
    fleet = {"servers": servers, "router": router, "loop": loop, "router_balance": balance}
    slow, fast = (run_of(case, latency, compiled, **fleet) for compiled in (False, True))
    kept = KeptJobs(requests_of(case), *slow.cut)

    expected, found = told(slow, kept, sample_ns), told(fast, kept, sample_ns)

    assert found == expected
    assert fast.machine is not None
    assert fast.machine.free_blocks == [case.setup.usable_blocks] * servers


def test_a_server_does_not_run_ahead_of_an_end_that_brings_it_the_next_arrival() -> None:
    """Round robin over two servers: `a` puts out 3 tokens on the first, `b` 1,000 on the second,
    whose 2 ms nobody asks about. The next turn of `a` goes to the first again, the one after it to
    the second, and is served there beside `b`, not when `b` has ended."""
    requests = [
        asked(0, [9], output=3, id="a0", session_id="a"),
        asked(0, [1], output=1000, id="b", session_id="b"),
        *(asked(n / 1e6, [n + 20], output=3, id=f"a{n}", session_id="a") for n in (1, 2)),
    ]
    case = replace_setup(max_seqs=4, usable_blocks=500)
    fleet = {"servers": 2, "router": "round_robin", "loop": "closed"}
    slow, fast = (run_of(case, LATENCIES[0], compiled, **fleet) for compiled in (False, True))
    kept = KeptJobs(requests, *slow.cut)

    expected, found = told(slow, kept, 10**9), told(fast, kept, 10**9)

    assert found == expected
    assert fast.machine is not None
    ends = {job["request_id"]: (job["server"], job["end_ns"]) for job in found["jobs"]}
    assert {server for name, (server, _) in ends.items() if name != "b"} == {0, 1}
    assert max(end for name, (_, end) in ends.items() if name != "b") < ends["b"][1]


@pytest.mark.parametrize(("traffic", "in_machine_code"), [(0.9, True), (0.5, False)])
def test_a_log_with_a_calendar_is_served_in_python_where_its_days_are_drawn_too_far_apart(
    traffic: float, in_machine_code: bool
) -> None:
    """2001 is 978,307,200 s after 1970, half as dense 62 years: the tables hold 36."""
    requests = [asked(978_307_200 + n, [n], output=3, id=str(n)) for n in range(4)]
    case = replace_setup(max_seqs=4, usable_blocks=50)
    slow, fast = (run_of(case, LATENCIES[0], on, traffic=traffic) for on in (False, True))
    kept = KeptJobs(requests, *slow.cut)

    assert told(fast, kept) == told(slow, kept)
    assert (fast.machine is not None) == in_machine_code


def test_tables_grow_while_jobs_are_admitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 sessions of ten turns begin with one row of each table, and with few gaps to keep."""
    from cachecast_sim.fleet.compiled import tables

    monkeypatch.setattr(tables, "_ROWS", 1)
    monkeypatch.setattr(tables, "_GAPS", 1)
    requests = [
        asked(turn + n / 400, range(100 * n, 100 * n + turn + 1), output=9, id=f"{n}-{turn}")
        for turn in range(10)
        for n in range(200)
    ]
    case = replace_setup(max_seqs=40, usable_blocks=1500)
    slow, fast = (run_of(case, LATENCIES[1], compiled, servers=2) for compiled in (False, True))
    kept = KeptJobs(requests, *slow.cut)

    assert told(fast, kept) == told(slow, kept)
    assert fast.machine is not None


def test_tables_grow_for_a_prompt_that_is_found_in_many_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """40 requests share ever shorter prefixes of the first one, which cuts its blocks into as many
    runs; the last one finds them all, when nobody runs and few rows are needed otherwise."""
    from cachecast_sim.fleet.compiled import tables

    monkeypatch.setattr(tables, "_ROWS", 1)
    sharing = [asked(n / 1e6, range(40 - n), output=90, id=str(n)) for n in range(40)]
    requests = [*sharing, asked(9, [*range(40), 99], output=2, id="last")]
    case = replace_setup(max_seqs=50, usable_blocks=1500)
    slow, fast = (run_of(case, LATENCIES[1], compiled) for compiled in (False, True))
    kept = KeptJobs(requests, *slow.cut)

    assert told(fast, kept) == told(slow, kept)
    assert fast.machine is not None


def test_two_runs_of_kept_jobs_do_not_know_of_each_other() -> None:
    requests = [
        asked(n, range(5 * (n % 3), 5 * (n % 3) + 9), output=4, id=str(n)) for n in range(9)
    ]
    case = replace_setup(max_seqs=4, usable_blocks=20)
    first, second = (run_of(case, LATENCIES[0], True) for _ in range(2))
    kept = KeptJobs(requests, *first.cut)
    assert told(first, kept) == told(second, kept)
    assert second.machine is not None


def test_what_the_kernels_cannot_serve_is_served_in_python() -> None:
    """A life of blocks, SGLang's engine, numbers beyond 64 bits; and jobs that are not kept."""
    requests = [ask(0, [1] * 20, 3, "a")]
    engine = {"block_tokens": 4, "blocks": 100}

    def in_machine_code(tables: dict[str, Any]) -> bool:
        run = FleetRun(fleet_config({"latency": LATENCIES[0], **tables}), compiled=True)
        (job,) = run.jobs(KeptJobs(requests, *run.cut))
        assert job.status == "ok"
        return run.machine is not None

    assert in_machine_code({"engine": engine})
    assert in_machine_code({"engine": engine, "latency": LATENCIES[4]})
    assert not in_machine_code({"engine": {**engine, "ttl_s": 5.0}})
    huge = {**engine, "blocks": 1 << 40}
    assert not in_machine_code({"engine": huge, "latency": LATENCIES[4]})
    sglang = {"fleet": {"engine": "sglang"}, "engine": {"tokens": 400, "block_tokens": 4}}
    assert not in_machine_code(sglang)

    run = FleetRun(fleet_config({"latency": LATENCIES[0], "engine": engine}), compiled=True)
    assert [job.status for job in run.jobs(requests)] == ["ok"]
    assert run.machine is None


def test_gaps_that_have_no_room_in_a_table_are_counted_all_the_same() -> None:
    """200,000 requests at a time may give that many gaps, which takes 18 of 62 bits: the other 44
    hold 4.9 hours, and a step lasts a day, or two with both phases. Outputs of 3, 4 and 5 tokens
    have 2 + 3 + 4 gaps, of which the first has the prompts of the two others beside it."""
    day = {"kind": "fixed", "prefill_step_s": 86400, "decode_step_s": 86400}
    engine = {"blocks": 8001, "max_batch_tokens": 200_000, "max_seqs": 200_000}
    requests = [ask(n, [n] * 20, 3 + n, str(n)) for n in range(3)]
    kept = KeptJobs(requests, 16)
    tables = {"latency": day, "engine": engine}
    slow, fast = (FleetRun(fleet_config(tables), compiled=on) for on in (False, True))

    expected, found = told(slow, kept), told(fast, kept)

    assert fast.machine is not None
    assert found == expected
    assert found["gaps"] == {86_400_000_000_000: 8, 172_800_000_000_000: 1}


def test_steps_that_go_on_beyond_what_64_bits_hold_end_in_a_sentence() -> None:
    """A day a step, and 100,000 tokens: 274 years."""
    day = {"kind": "fixed", "prefill_step_s": 86400, "decode_step_s": 86400}
    tables = {"latency": day, "engine": {"block_tokens": 4, "blocks": 100_000}}
    run = FleetRun(fleet_config(tables), compiled=True)
    with pytest.raises(BadInput, match="faster steps are needed"):
        list(run.jobs(KeptJobs([ask(0, [1] * 20, 100_000)], *run.cut)))


def replace_setup(**setup: Any) -> Case:
    """A case without requests of its own."""
    from fleet_runs import Setup

    return Case(replace(Setup(4, 1), max_batch_tokens=64, **setup), "linear", False, ())


def test_a_job_that_was_served_tells_how_much_it_generated() -> None:
    run = run_of(replace_setup(max_seqs=2, usable_blocks=20), LATENCIES[0], True)
    jobs: list[Job] = list(run.jobs(KeptJobs([asked(0, [1, 2], output=5)], *run.cut)))
    assert [job.generated for job in jobs] == [5]
