"""Prefill on one server, decode on another: the K and V must travel first."""

import pytest
from fleets import MS, asked, fleet, served

from cachecast_datasets.errors import BadInput
from cachecast_sim.fleet.run import FleetRun

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


def test_a_fleet_with_prefill_servers_needs_decode_servers_and_a_way_between() -> None:
    with pytest.raises(BadInput, match="one of prefill_servers and decode_servers"):
        fleet(fleet={"prefill_servers": 1})
    with pytest.raises(BadInput, match=r"\[transfer\] is missing"):
        fleet(fleet={"prefill_servers": 1, "decode_servers": 1})
