"""What SGLang 0.5.23's own radix cache found, request by request (../shared/golden)."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from sim.sglang_jobs import Call, jobs_of, serve

from cachecast_sim.fleet.sglang.settings import SglangSettings

# workload, page size, tokens of memory -> (free, evictable) tokens at the end
FILES = {
    ("steady", 1, 4800): (135, 4665),
    ("steady", 16, 4800): (224, 4576),
    ("repeat", 1, 1500): (16, 1484),
    ("repeat", 16, 1600): (32, 1568),
}


@pytest.mark.parametrize("file", FILES, ids=str)
def test_every_request_hits_as_many_tokens_as_in_sglang(
    shared: Path, file: tuple[str, int, int]
) -> None:
    workload, page_tokens, tokens = file
    golden = shared / "golden"
    with gzip.open(golden / f"workload_{workload}.jsonl.gz", "rt") as lines:
        jobs = jobs_of(map(_call, lines), page_tokens)
    told = (golden / f"sglang_{workload}_p{page_tokens}_t{tokens}.jsonl").read_text()
    real = [json.loads(line) for line in told.splitlines()]

    settings = SglangSettings(tokens, page_tokens, admission="sequential")
    server = serve(settings, jobs, look=lambda cache: None)

    assert [(job.prompt_tokens, job.hit_tokens) for job in jobs] == [
        (row["prompt_tokens"], row["hit_tokens"]) for row in real
    ]
    cache = server.cache
    left = (cache.free_pages * page_tokens, cache.evictable_pages * page_tokens)
    assert left == FILES[file]


def _call(line: str) -> Call:
    row: dict[str, Any] = json.loads(line)
    return Call(round(row["arrival"] * 1e6), row["prompt_token_ids"], row["output_token_ids"])
