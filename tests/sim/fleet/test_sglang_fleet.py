"""A fleet of SGLang servers from its file."""

from typing import Any

import pytest
from fleets import asked, fleet, served

from cachecast_datasets.errors import BadInput
from cachecast_sim.fleet.run import FleetRun

A, B = [1, 2, 3, 4], [11, 12, 13, 14]


def sglang(fleet_table: dict[str, Any] | None = None, **engine: Any) -> FleetRun:
    table = {"engine": "sglang", **(fleet_table or {})}
    return fleet(fleet=table, engine={"tokens": 40, **engine})


def test_a_prompt_comes_back_and_is_found_but_for_its_last_page() -> None:
    """Pages of 4: of 16 tokens 12 are found; both prefills last a second."""
    first, second = served(sglang(), asked(0.0, A), asked(5.0, A))

    assert (first.hit_tokens, second.hit_tokens) == (0, 12)
    assert (second.first_token_ns, second.end_ns) == (6_000_000_000, 6_000_000_000)


def test_all_pages_are_usable_and_evictions_are_counted() -> None:
    """Ten pages of 4, no null page: A and B have 4 each, C needs 3, so A's leaf goes whole."""
    run = sglang()
    served(run, asked(0.0, A), asked(2.0, B), asked(4.0, [21, 22, 23]))

    assert run.evicted_blocks == 4


def test_cache_aware_follows_what_the_trees_hold() -> None:
    """Unlike vLLM's blocks, pages are there only once they are computed, after a second."""
    requests = [asked(0.0, A), asked(0.1, B), asked(1.2, B), asked(1.3, A)]
    jobs = served(sglang({"router": "cache_aware", "servers": 2}), *requests)

    assert [job.server for job in jobs] == [0, 1, 1, 0]


def test_a_request_that_is_larger_than_the_pool_is_rejected() -> None:
    jobs = served(sglang(), asked(0.0, list(range(11))), asked(1.0, A))

    assert [job.status for job in jobs] == ["rejected", "ok"]


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ({"max_batch_tokens": 3}, "engine.max_batch_tokens is 3, expected at least one page"),
        ({"tokens": 3}, "engine.tokens is 3, expected at least one page"),
        ({"ttl_s": 1.0}, 'engine.ttl_s needs engine = "vllm"'),
    ],
)
def test_an_engine_that_could_run_nothing_is_bad_input(
    engine: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        sglang(**engine)
