"""Prefill on one server, decode on another: the K and V must travel first."""

import pytest
from fleets import MS, asked, fleet, served
from hypothesis import given, settings
from hypothesis import strategies as st

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_sim.fleet.routers import ROUTERS
from cachecast_sim.fleet.run import FleetRun
from cachecast_sim.fleet.vllm.server import VllmServer

# 2,000 tokens x 131,072 bytes / 25e9 bytes/s = 10.48576 ms, and 1 ms of latency
TRANSFER_NS = 11_485_760


def pair(**more: object) -> FleetRun:
    return fleet(
        fleet={"prefill_servers": 1, "decode_servers": 1},
        engine={"block_tokens": 16, "max_batch_tokens": 4096, **more},
        transfer={"bandwidth_bytes_per_s": 25e9, "latency_s": 0.001},
        kv_bytes_per_token=131_072,
    )


def prompt(first: int, blocks: int = 125) -> range:
    return range(first, first + blocks)


def test_decode_waits_for_the_transfer_of_the_whole_prompt() -> None:
    (job,) = served(pair(), asked(0.0, prompt(1), block=16, output=3))
    assert job.first_token_ns == 1000 * MS  # at the end of the prefill
    assert job.end_ns == 1000 * MS + TRANSFER_NS + 2 * 10 * MS  # two more tokens


def test_a_single_token_needs_no_transfer() -> None:
    (job,) = served(pair(), asked(0.0, prompt(1), block=16, output=1))
    assert (job.end_ns, job.decode_server) == (1000 * MS, None)


def test_what_the_decode_server_holds_need_not_travel() -> None:
    run = pair()
    _, second = served(
        run,
        asked(0.0, prompt(1), block=16, output=3),
        asked(5.0, [*prompt(1, 62), *prompt(500, 63)], block=16, output=2),
    )
    # 63 of 125 blocks are new: 1,008 tokens
    travels_ns = -(-1008 * 131_072 * 10**9 // (25 * 10**9)) + MS
    assert second.end_ns == 6000 * MS + travels_ns + 10 * MS
    assert second.hit_tokens == 62 * 16  # the prefill server's own; the transfer is no hit (BR-98)


def test_transfers_into_one_server_queue_behind_each_other() -> None:
    """Both prefill in one step of a second, and leave together."""
    first, second = served(
        pair(),
        asked(0.0, prompt(1), block=16, output=2, id="a"),
        asked(0.0, prompt(500), block=16, output=2, id="b"),
    )
    assert first.end_ns == 1000 * MS + TRANSFER_NS + 10 * MS
    # the second is on the link 10.48576 ms later, and joins at the end of the step then running
    assert TRANSFER_NS < 10_485_760 + TRANSFER_NS <= TRANSFER_NS + 20 * MS
    assert second.end_ns == 1000 * MS + 10_485_760 + TRANSFER_NS + 10 * MS


def test_blocks_stay_on_the_prefill_server_until_they_have_travelled() -> None:
    """126 usable blocks: one prompt of 125. The second waits for the first one's transfer."""
    first, second = served(
        pair(blocks=127),
        asked(0.0, prompt(1), block=16, output=2, id="a"),
        asked(0.5, prompt(500), block=16, output=1, id="b"),
    )
    assert first.end_ns == 1000 * MS + TRANSFER_NS + 10 * MS
    assert second.scheduled_ns == 1000 * MS + TRANSFER_NS


def test_what_fits_where_it_is_prefilled_but_not_where_it_is_decoded_is_rejected_at_once() -> None:
    """126 usable blocks of 16 tokens hold 125 of prompt and 16 of output; the last has no K and V.
    A request with one token more takes no blocks, so the one behind it is served."""
    whole, larger, behind = served(
        pair(blocks=127),
        asked(0.0, prompt(1), block=16, output=17, id="a"),
        asked(5.0, prompt(500), block=16, output=18, id="b"),
        asked(9.0, prompt(900), block=16, output=17, id="c"),
    )
    assert [job.status for job in (whole, larger, behind)] == ["ok", "rejected", "ok"]
    assert (larger.scheduled_ns, larger.first_token_ns, larger.end_ns) == (None, None, None)


REQUESTS = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 2), st.integers(0, 12), st.integers(1, 4),
        st.integers(1, 30),
    ),
    max_size=16,
)  # fmt: skip


@settings(max_examples=300)
@given(
    REQUESTS, st.integers(2, 14), st.integers(1, 2), st.integers(1, 2), st.integers(1, 4),
    st.integers(0, 12), st.sampled_from(sorted(ROUTERS)), st.booleans(),
    st.sampled_from(["open", "closed"]),
)  # fmt: skip
def test_with_however_little_memory_every_request_ends_or_is_rejected_and_leaves_no_block_held(
    said: list[tuple[int, int, int, int, int]], usable: int, givers: int, takers: int, seqs: int,
    more: int, router: str, tiered: bool, loop: str,
) -> None:  # fmt: skip
    requests, at_s = list[Request](), 0.0
    for number, (gap, family, shared, tail, output) in enumerate(said):
        at_s += gap / 4
        ids = [*range(100 * family, 100 * family + shared), 1000 + number]
        requests.append(asked(
            at_s, ids, tokens=4 * len(ids) - 4 + tail, output=output, id=str(number),
            session_id=str(family),
        ))  # fmt: skip
    run = fleet(
        fleet={
            "prefill_servers": givers, "decode_servers": takers, "router": router,
            "decode_router": router, "loop": loop,
        },
        engine={
            "blocks": usable + 1, "max_seqs": seqs, "max_batch_tokens": seqs + more,
        },
        transfer={"bandwidth_bytes_per_s": 1e6, "latency_s": 0.3},
        kv_bytes_per_token=10_000,
        tiers=[{"name": "cpu", "blocks": 5, "bandwidth_bytes_per_s": 1e5}] if tiered else [],
    )  # fmt: skip

    jobs = served(run, *requests)

    for job in jobs:
        fits = -(-(job.prompt_tokens + job.output_tokens - 1) // 4) <= usable
        assert job.status == ("ok" if fits else "rejected")
    for engine in run.engines:
        assert isinstance(engine, VllmServer)
        assert engine.pool.free_blocks == usable


def test_a_fleet_with_prefill_servers_needs_decode_servers_and_a_way_between() -> None:
    with pytest.raises(BadInput, match="one of prefill_servers and decode_servers"):
        fleet(fleet={"prefill_servers": 1})
    with pytest.raises(BadInput, match=r"\[transfer\] is missing"):
        fleet(fleet={"prefill_servers": 1, "decode_servers": 1})
