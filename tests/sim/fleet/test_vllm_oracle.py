"""The vLLM server, in runs of blocks and stretches of steps, against the slow one of single blocks
and single steps: every result of every request, on random logs."""

from dataclasses import dataclass, field, replace
from typing import Any

from fleet_oracle import Key, SlowJob, SlowPool, SlowServer, serve_slowly
from fleet_runs import ContextSteps, Served, queue_of, serve
from hypothesis import given, settings
from hypothesis import strategies as st
from sim.fleet.vllm_cases import LATENCIES, Asked, Case, cases, echoes

from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.prefixes import Segment
from cachecast_sim.fleet.vllm.pool import BlockPool
from cachecast_sim.fleet.vllm.server import VllmServer


@dataclass(slots=True)
class Outcome:
    """All that is compared. `seen`: the free blocks at each arrival, then at the end."""

    jobs: list[dict[str, Any]] = field(default_factory=list)
    steps: int = 0
    preemptions: int = 0
    gaps: dict[int, int] = field(default_factory=dict)
    evicted: list[Key] = field(default_factory=list)
    seen: list[tuple[int, list[Key]]] = field(default_factory=list)


class Names:
    """The oracle's key of a block that the fast code knows by its segment and position."""

    def __init__(self, case: Case) -> None:
        self.keys = {
            place: key
            for asked in case.asked
            for place, key in zip(asked.ids, asked.keys, strict=True)
        }
        self.per_id = 1 + max(part for asked in case.asked for _, part in [(0, 0), *asked.ids])
        self.owners: dict[Segment, int] = {}

    def own(self, job: Job) -> None:
        self.owners[job.path[-1][0]] = job.index

    def key(self, segment: Segment, at: int, per_id: int) -> Key:
        if segment in self.owners:
            return ("own", self.owners[segment], at)
        number, part = divmod(at - segment.start, per_id)
        return self.keys[segment.ids[number], part]


def fast(case: Case) -> Outcome:
    names, outcome = Names(case), Outcome()
    per_id = _blocks_per_id(case)

    def look(pool: BlockPool) -> tuple[int, list[Key]]:
        assert pool.unhashed + pool.queue.blocks == pool.free_blocks
        return pool.unhashed, [names.key(segment, at, per_id) for segment, at in queue_of(pool)]

    def probe(server: VllmServer, job: Job, now_ns: int) -> None:
        names.own(job)
        if case.looked_into:
            server.settle(now_ns)
            outcome.seen.append(look(server.pool))

    requests = [asked.request for asked in case.asked]
    served = serve(case.setup, LATENCIES[case.latency], requests, probe=probe)
    server = served.server
    outcome.seen.append(look(server.pool))
    outcome.jobs = [_facts(job) for job in served.jobs]
    outcome.steps, outcome.preemptions = server.steps, server.preemptions
    outcome.gaps = server.gaps
    outcome.evicted = [names.key(segment, at, per_id) for segment, at in served.evicted]
    assert server.pool.evicted_blocks == len(outcome.evicted)
    assert server.pool.free_blocks == case.setup.usable_blocks
    _told_all_steps(served)
    return outcome


def _told_all_steps(served: Served) -> None:
    latency = served.server._latency
    if isinstance(latency, ContextSteps):
        assert latency.steps == served.server.steps


def _blocks_per_id(case: Case) -> int:
    log_size = case.asked[0].request.token_block_size
    return max((log_size or 1) // case.setup.block_tokens, 1)


def _facts(job: Job) -> dict[str, Any]:
    return {
        "status": job.status,
        "hit_tokens": job.hit_tokens,
        "readmission_hit_tokens": job.readmission_hit_tokens,
        "preemptions": job.preemptions,
        "scheduled_ns": job.scheduled_ns,
        "first_token_ns": job.first_token_ns,
        "end_ns": job.end_ns,
        "misses": job.misses,
    }


def slow(case: Case) -> Outcome:
    setup, outcome = case.setup, Outcome()
    latency = LATENCIES[case.latency]()
    server = SlowServer(
        setup.block_tokens, setup.usable_blocks, setup.max_batch_tokens, setup.max_seqs,
        latency.step_ns, ttl_ns=setup.ttl_ns,
    )  # fmt: skip
    jobs = [_slow_job(number, asked) for number, asked in enumerate(case.asked)]

    def look(pool: SlowPool) -> tuple[int, list[Key]]:
        keys = [block.key for block in pool.free]
        hashed = [key for key in keys if key is not None]
        assert keys == [None] * (len(keys) - len(hashed)) + hashed
        return len(keys) - len(hashed), hashed

    def probe(server: SlowServer, job: SlowJob, now_ns: int) -> None:
        if case.looked_into:
            outcome.seen.append(look(server.pool))

    def explain(job: SlowJob, hits: int) -> None:
        job.misses = _misses(job, hits, setup.block_tokens, server.pool, jobs)

    server.on_admit = explain
    serve_slowly(server, jobs, probe)
    outcome.seen.append(look(server.pool))
    outcome.jobs = [_slow_facts(job) for job in jobs]
    outcome.steps, outcome.gaps = server.steps, server.gaps
    outcome.preemptions = sum(job.preemptions for job in jobs)
    outcome.evicted = server.pool.evicted
    return outcome


def _slow_job(number: int, asked: Asked) -> SlowJob:
    request = asked.request
    assert request.prompt_tokens is not None
    assert request.output_tokens is not None
    arrival_ns = request.arrival_us * 1000
    return SlowJob(number, arrival_ns, request.prompt_tokens, request.output_tokens, asked.keys)


def _slow_facts(job: SlowJob) -> dict[str, Any]:
    ends = job.token_ends_ns
    return {
        "status": job.status,
        "hit_tokens": job.hit_tokens,
        "readmission_hit_tokens": job.readmission_hit_tokens,
        "preemptions": job.preemptions,
        "scheduled_ns": job.scheduled_ns,
        "first_token_ns": ends[0] if ends else None,
        "end_ns": ends[-1] if ends else None,
        "misses": job.misses,
    }


def _misses(
    job: SlowJob, hits: int, size: int, pool: SlowPool, jobs: list[SlowJob]
) -> tuple[tuple[str, int], ...]:
    """Block by block, why it was computed."""
    earlier = {key for other in jobs[: job.index] for key in other.keys}
    keys = [job.key(number) for number in range(job.prompt // size)]
    new = "new_content" if hits or (keys and keys[0] in earlier) else "cold_start"
    misses: dict[str, int] = {}
    for number in range(hits, len(keys)):
        if number == (job.prompt - 1) // size:  # it ends with the prompt's last token
            reason = "last_token_rule" if keys[number] in earlier else new
        elif keys[number] in pool.ever:
            reason = "evicted"
        else:
            reason = "concurrent_with_writer" if keys[number] in earlier else new
        misses[reason] = misses.get(reason, 0) + size
    if job.prompt % size:
        misses["block_rounding"] = job.prompt % size
    return tuple(misses.items())


@settings(max_examples=300)
@given(cases())
def test_every_result_of_every_request_equals_the_slow_servers(case: Case) -> None:
    found, expected = fast(case), slow(case)
    assert found == expected


@settings(max_examples=300)
@given(echoes())
def test_the_same_where_requests_wait_for_blocks_that_others_are_just_filling(case: Case) -> None:
    assert fast(case) == slow(case)


@settings(max_examples=100)
@given(cases(), st.sampled_from([0, 1, 2, 5, 20, 100]))
def test_with_a_ttl_on_top_too(case: Case, ttl_us: int) -> None:
    """When a block is looked at that outlived its TTL, so that it counts as evicted or as expired,
    is not the same in both; what a request finds is."""
    found, expected = (
        run(replace(case, setup=replace(case.setup, ttl_ns=ttl_us * 1000))) for run in (fast, slow)
    )
    for job in found.jobs + expected.jobs:
        del job["misses"]
    assert (found.jobs, found.steps, found.gaps) == (expected.jobs, expected.steps, expected.gaps)
