"""What vLLM 0.32.0 itself did with the same requests, request by request: ../shared/golden."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_oracle import SlowJob, SlowServer, serve_slowly
from fleet_runs import Served, Setup, by_phase, linear, serve

from cachecast_datasets.request import Request

# file: (workload, num_gpu_blocks, max_batch_tokens, max_seqs, step base us, us a token)
RUNS = {
    "steady_seq_b16_n300": ("steady", 300, 2048, 1, 10_000, 50),
    "steady_seq_b16_n1000": ("steady", 1000, 2048, 1, 10_000, 50),
    "steady_con_b16_n300": ("steady", 300, 2048, 64, 10_000, 50),
    "burst_con_b16_n250": ("burst", 250, 2048, 64, 10_000, 50),
    "burst_con_b16_n800_chunk256": ("burst", 800, 256, 16, 5_000, 100),
    "storm_con_b16_n400": ("storm", 400, 1024, 64, 10_000, 50),
    "storm_con_b16_n250_chunk128": ("storm", 250, 128, 16, 10_000, 50),
    "storm_con_b16_n450": ("storm", 450, 1024, 16, 10_000, 50),
    "repeat_con_b16_n120": ("repeat", 120, 512, 8, 4_000, 50),
}
# from the table of ../shared/golden/README.md: requests, steps, hit tokens, prompt tokens
README = {
    "steady_seq_b16_n300": (200, 5856, 118_864, 154_470),
    "steady_seq_b16_n1000": (200, 5856, 129_296, 154_470),
    "steady_con_b16_n300": (200, 4345, 118_176, 154_470),
    "burst_con_b16_n250": (200, 2126, 90_544, 121_703),
    "burst_con_b16_n800_chunk256": (200, 2239, 97_536, 121_703),
    "storm_con_b16_n400": (159, 6011, 84_112, 158_646),
    "storm_con_b16_n250_chunk128": (159, 11_824, 60_912, 158_646),
    "storm_con_b16_n450": (159, 5218, 91_952, 158_646),
    "repeat_con_b16_n120": (160, 1522, 18_368, 37_219),
}
COUNTS = ("prompt_tokens", "hit_tokens", "preemptions", "resume_hits")
TIMES = ("t_sched", "t_first", "t_done")


def workload(path: Path) -> Iterator[Request]:
    with gzip.open(path, "rt") as lines:
        for row in map(json.loads, lines):
            yield Request(
                request_id=str(row["id"]),
                arrival_us=round(row["arrival"] * 1e6),
                token_ids=np.array(row["prompt_token_ids"], np.int32),
                output_token_ids=np.array(row["output_token_ids"], np.int32),
                prompt_tokens=len(row["prompt_token_ids"]),
                output_tokens=row["output_len"],
            )


def run(name: str, folder: Path) -> Served:
    log, blocks, batch, seqs, base_us, per_token_us = RUNS[name]
    setup = Setup(16, blocks - 1, batch, seqs)  # num_gpu_blocks counts the null block
    requests = workload(folder / f"workload_{log}.jsonl.gz")
    return serve(setup, lambda: linear(base_us, per_token_us), requests)


def test_every_vllm_file_of_the_folder_is_checked_here(shared: Path) -> None:
    found = {path.stem.removeprefix("vllm_") for path in (shared / "golden").glob("vllm_*.jsonl")}
    assert found == set(RUNS) == set(README)


@pytest.mark.parametrize("name", RUNS)
def test_each_request_hits_waits_and_ends_as_in_vllm(name: str, shared: Path) -> None:
    """Hits of the first admission, of each readmission, preemptions, and times to 1e-6 s."""
    served = run(name, shared / "golden")
    for line, job in zip(_lines(shared, name), served.jobs, strict=True):
        golden: dict[str, Any] = json.loads(line)
        found = (job.prompt_tokens, job.hit_tokens, job.preemptions, job.readmission_hit_tokens)
        assert found == tuple(golden[field] for field in COUNTS), golden
        times = (job.scheduled_ns, job.first_token_ns, job.end_ns)
        for found_ns, field in zip(times, TIMES, strict=True):
            assert found_ns is not None
            if field in golden:  # the sequential runs have no clock
                assert abs(found_ns / 1e9 - golden[field]) < 1e-6, (golden, field, found_ns)


@pytest.mark.parametrize("name", RUNS)
def test_the_slow_server_that_judges_ours_on_random_logs_does_as_vllm_did(
    name: str, shared: Path
) -> None:
    log, blocks, batch, seqs, base_us, per_token_us = RUNS[name]
    requests = workload(shared / "golden" / f"workload_{log}.jsonl.gz")
    names: dict[tuple[int, ...], int] = {}  # a number for each prefix: quicker to look up
    jobs = [slow_job(number, request, names) for number, request in enumerate(requests)]
    server = SlowServer(16, blocks - 1, batch, seqs, linear(base_us, per_token_us).step_ns)
    serve_slowly(server, jobs)
    for line, job in zip(_lines(shared, name), jobs, strict=True):
        golden: dict[str, Any] = json.loads(line)
        found = (job.prompt, job.hit_tokens, job.preemptions, job.readmission_hit_tokens)
        assert found == tuple(golden[field] for field in COUNTS), golden
        if "t_done" in golden:
            assert job.scheduled_ns is not None
            times = (job.scheduled_ns, job.token_ends_ns[0], job.token_ends_ns[-1])
            for found_ns, field in zip(times, TIMES, strict=True):
                assert abs(found_ns / 1e9 - golden[field]) < 1e-6, (golden, field, found_ns)


def slow_job(number: int, request: Request, names: dict[tuple[int, ...], int]) -> SlowJob:
    assert request.token_ids is not None
    assert request.output_token_ids is not None
    tokens = (*request.token_ids.tolist(), *request.output_token_ids.tolist())
    whole = (len(tokens) - 1) // 16
    prefixes = [tokens[: 16 * (block + 1)] for block in range(whole)]
    keys = [names.setdefault(prefix, len(names)) for prefix in prefixes]
    outputs = len(request.output_token_ids)
    return SlowJob(number, request.arrival_us * 1000, len(request.token_ids), outputs, keys)


def _lines(shared: Path, name: str) -> list[str]:
    return (shared / "golden" / f"vllm_{name}.jsonl").read_text().splitlines()


@pytest.mark.parametrize("name", README)
def test_the_steps_and_the_totals_are_those_of_the_table(name: str, shared: Path) -> None:
    requests, steps, hit_tokens, prompt_tokens = README[name]
    served = run(name, shared / "golden")
    assert len(served.jobs) == requests
    assert served.server.steps == steps
    assert sum(served.hits) == hit_tokens
    assert sum(job.prompt_tokens for job in served.jobs) == prompt_tokens


@pytest.fixture(scope="module")
def conversation(shared: Path) -> list[Request]:
    """The Mooncake conversation trace: 12,031 requests, ids of 512 tokens."""
    trace = shared / "traces" / "mooncake" / "conversation_trace.jsonl"
    return [
        Request(
            request_id=str(number),
            arrival_us=row["timestamp"] * 1000,
            token_block_size=512,
            token_blocks=np.array(row["hash_ids"], np.uint64),
            prompt_tokens=row["input_length"],
            output_tokens=row["output_length"],
        )
        for number, row in enumerate(map(json.loads, trace.read_bytes().splitlines()))
    ]


# serving-semantics §3: usable blocks, hit tokens
SERIAL = {500: 6_228_480, 2_000: 8_162_304, 8_000: 27_351_552, 200_000: 54_063_104}


@pytest.mark.parametrize("usable_blocks", SERIAL)
def test_the_conversation_trace_one_request_after_the_other_hits_block_for_block_as_in_vllm(
    usable_blocks: int, shared: Path, conversation: list[Request]
) -> None:
    golden = json.loads((shared / "golden" / "vllm_serial_conversation.json").read_text())
    expected = golden["cases"][str(usable_blocks)]
    served = serve(
        Setup(512, usable_blocks, max_batch_tokens=1 << 20, max_seqs=1),
        lambda: by_phase(1, 1), conversation, ignore_output=True,
    )  # fmt: skip
    assert [hit // 512 for hit in served.hits] == expected["hit_blocks_per_request"]
    assert sum(served.hits) == expected["hit_tokens"] == SERIAL[usable_blocks]
    assert sum(job.prompt_tokens for job in served.jobs) == 144_793_823


# ../shared/peers/README.md: block tokens: (TTFT mean, latency mean, ITL mean) in ms
AISIMULATE = {512: (709.10, 9_935.97, 27.01), 16: (709.48, 9_938.50, 27.02)}


@pytest.mark.parametrize("block_tokens", AISIMULATE)
def test_four_servers_on_the_conversation_trace_have_the_metrics_of_aisimulate(
    block_tokens: int, conversation: list[Request]
) -> None:
    usable = 2_000 * 512 // block_tokens
    served = serve(
        Setup(block_tokens, usable, max_batch_tokens=8192, max_seqs=256),
        lambda: by_phase(200_000, 20_000), conversation, servers=4,
    )  # fmt: skip
    ttft_ms = [(job.first_token_ns or 0) / 1e6 - job.arrival_ns / 1e6 for job in served.jobs]
    latency_ms = [(job.end_ns or 0) / 1e6 - job.arrival_ns / 1e6 for job in served.jobs]
    found = (float(np.mean(ttft_ms)), float(np.mean(latency_ms)), served.itl_mean_ns() / 1e6)
    assert tuple(round(value, 2) for value in found) == AISIMULATE[block_tokens]
    hit_share = sum(served.hits) / 144_793_823
    assert round(hit_share, 2) == 0.08
    if block_tokens == 512:
        assert round(float(np.quantile(ttft_ms, 0.9))) == 1_540
