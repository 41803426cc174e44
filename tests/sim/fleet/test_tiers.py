"""Tiers below the GPU: what they save, what they cost, who goes first."""

from typing import Any

import pytest
from fleets import MS, asked, fleet, served

from cachecast_datasets.errors import BadInput
from cachecast_sim.fleet.run import FleetRun

TOKEN_BYTES = 1000
# a block of 4 tokens is 4,000 bytes: 4 ms at 1 MB/s
CPU = {"name": "cpu", "blocks": 3, "bandwidth_bytes_per_s": 1e6, "latency_s": 0.002}
LONG, OTHER = range(1, 7), range(11, 17)  # six blocks each


def stack(*tiers: dict[str, Any], blocks: int = 8, **engine: Any) -> FleetRun:
    """A GPU of `blocks` - 1 usable blocks: one prompt of six blocks, and nothing beside it."""
    return fleet(
        engine={"blocks": blocks, **engine},
        tiers=list(tiers),
        kv_bytes_per_token=TOKEN_BYTES,
        latency={"kind": "linear", "step_base_s": 0.0, "per_token_s": 0.01},
    )


def test_without_a_tier_an_evicted_prompt_is_computed_again() -> None:
    run = stack()
    *_, again = served(run, asked(0, LONG), asked(1, OTHER), asked(2, LONG))
    # the second prompt evicts the tail of the first: one block of LONG is left
    assert (again.hit_tokens, again.reason) == (4, "evicted")
    assert again.first_token_ns == 2000 * MS + 20 * 10 * MS


def test_a_cpu_tier_of_three_blocks_saves_three_blocks_of_prefill_and_costs_their_transfer() -> (
    None
):
    """Five blocks of LONG were evicted, its tail first: the tier of three has blocks 2 to 4."""
    run = stack(CPU)
    *_, again = served(run, asked(0, LONG), asked(1, OTHER), asked(2, LONG))
    assert (again.hit_tokens, again.loaded_tokens) == ((1 + 3) * 4, 3 * 4)
    transfer_ns = 3 * 4 * MS + 2 * MS
    assert again.first_token_ns == 2000 * MS + transfer_ns + (20 - 12) * 10 * MS
    assert run.tiers[0].read_blocks == 3


def test_a_tier_of_two_blocks_saves_two() -> None:
    """Known fault 23: a tier smaller than what goes into it at once stored nothing."""
    *_, again = served(stack({**CPU, "blocks": 2}), asked(0, LONG), asked(1, OTHER), asked(2, LONG))
    assert again.loaded_tokens == 2 * 4


def test_write_through_stores_blocks_as_they_fill() -> None:
    run = stack({**CPU, "blocks": 100, "write": "through"})
    served(run, asked(0, LONG))
    assert run.tiers[0].written_blocks == 6  # nothing was evicted yet


def test_what_one_tier_evicts_the_next_one_takes() -> None:
    disk = {**CPU, "name": "disk", "blocks": 10, "latency_s": 0.5}
    *_, again = served(stack(CPU, disk), asked(0, LONG), asked(1, OTHER), asked(2, LONG))
    # blocks 5 and 6 of LONG left the CPU tier first; the last token is always computed
    assert again.hit_tokens == 5 * 4
    assert again.loaded_tokens == (3 + 1) * 4


def test_a_shared_tier_serves_what_another_server_computed() -> None:
    remote = {**CPU, "name": "redis", "blocks": 100, "write": "through"}
    hits = {}
    for shared in (False, True):
        run = fleet(
            fleet={"servers": 2}, tiers=[{**remote, "shared": shared}],
            kv_bytes_per_token=TOKEN_BYTES,
        )  # fmt: skip
        hits[shared] = [job.hit_tokens for job in served(run, asked(0, LONG), asked(5, LONG))]
    assert hits == {False: [0, 0], True: [0, 20]}


def test_a_tiers_ttl_counts_from_the_last_use_and_includes_its_last_moment() -> None:
    """LONG is evicted at 1 s, when OTHER is admitted, and asked for again at 1 s + TTL."""
    for ttl_s, loaded in ((1.0, 12), (0.999, 0)):
        run = stack({**CPU, "ttl_s": ttl_s})
        *_, again = served(run, asked(0, LONG), asked(1, OTHER), asked(2, LONG))
        assert again.loaded_tokens == loaded


def hits_under(policy: str, **more: Any) -> list[int]:
    """A is used again and again, B and C come once each; the tier holds two blocks."""
    tier = {**CPU, "blocks": 2, "write": "through", "policy": policy, **more}
    a, b, c = [1, 2], [11, 12], [21, 22]
    run = stack(tier, blocks=3)  # the GPU holds one prompt of two blocks
    log = [asked(0, a), asked(1, b), asked(2, a), asked(3, c), asked(4, a)]
    return [job.loaded_tokens for job in served(run, *log)]


def test_each_policy_keeps_other_blocks() -> None:
    """Only the first block of each prompt is ever needed from below: the last token is computed.

    lru and fifo have lost A when it is wanted; who knows the future drops B and C instead.
    """
    assert hits_under("lru") == hits_under("fifo") == [0, 0, 0, 0, 0]
    assert hits_under("clairvoyant") == [0, 0, 4, 0, 4]


def test_lru_keeps_what_fifo_lets_go() -> None:
    a, b, c = [1, 2], [11, 12], [21, 22]
    loaded = {}
    for policy in ("fifo", "lru"):
        tier = {**CPU, "blocks": 4, "write": "through", "policy": policy}
        log = [asked(0, a), asked(1, b), asked(2, a), asked(3, c), asked(4, a)]
        run = stack(tier, blocks=3)
        loaded[policy] = [job.loaded_tokens for job in served(run, *log)]
    # at 3 s C needs two places: fifo drops A, the first written, lru drops B, the least used
    assert loaded == {"fifo": [0, 0, 4, 0, 0], "lru": [0, 0, 4, 0, 4]}


def test_under_the_ttl_policy_a_use_does_not_lengthen_a_life() -> None:
    """Written at 0 s, used at 2 s, wanted again at 4 s with a life of 3 s."""
    a, b, c = [1, 2], [11, 12], [21, 22]
    loaded = {}
    for policy in ("lru", "ttl"):
        tier = {**CPU, "blocks": 100, "write": "through", "policy": policy, "ttl_s": 3.0}
        log = [asked(0, a), asked(1, b), asked(2, a), asked(3, c), asked(4, a)]
        loaded[policy] = [job.loaded_tokens for job in served(stack(tier, blocks=3), *log)]
    assert loaded["lru"][4] == 4
    assert loaded["ttl"][4] == 0


def test_a_tier_needs_its_size_and_the_bytes_of_a_token() -> None:
    with pytest.raises(BadInput, match="expected one of blocks and gib"):
        stack({"name": "cpu", "bandwidth_bytes_per_s": 1e9})
    with pytest.raises(BadInput, match="KV bytes of a token"):
        fleet(tiers=[CPU])
    with pytest.raises(BadInput, match="did you mean 'lru'"):
        stack({**CPU, "policy": "lur"})
