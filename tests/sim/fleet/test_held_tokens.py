"""What the requests of a step hold, as a latency model hears of it: a shared block once."""

from collections.abc import Sequence

from fleet_runs import ask
from fleets import FIXED, served

from cachecast_datasets.request import Request
from cachecast_sim.fleet.config import fleet_config
from cachecast_sim.fleet.run import FleetRun

SYSTEM = list(range(8))


def steps_of(requests: Sequence[Request], **engine: object) -> list[tuple[int, int, int]]:
    """(decoding requests, their context, held tokens) of every step, on blocks of 4 tokens."""
    found: list[tuple[int, int, int]] = []

    def on_step(
        tokens: int, prefills: int, pairs: int, decodes: int, context: int, held: int | None,
        duration_ns: int,
    ) -> None:  # fmt: skip
        assert held is not None
        found.append((decodes, context, held))

    config = fleet_config(
        {"engine": {"block_tokens": 4, "blocks": 101, **engine}, "latency": FIXED}
    )
    served(FleetRun(config, on_step=on_step), *requests)
    return found


def test_two_requests_that_share_8_tokens_hold_them_once() -> None:
    """Prompts of 10: two shared blocks and one of its own each, four in all. The second decode
    step writes token 12 and fills the block, the third needs a new one each."""
    both = [ask(0, [*SYSTEM, 90 + n, 80 + n], output=5) for n in (0, 1)]
    assert steps_of(both) == [(0, 0, 16), (2, 22, 16), (2, 24, 16), (2, 26, 24), (2, 28, 24)]


def test_two_requests_that_share_nothing_hold_all() -> None:
    """Three blocks each, and a fourth from token 13 on."""
    both = [ask(0, range(20 * n, 20 * n + 10), output=5) for n in (0, 1)]
    assert [held for _, _, held in steps_of(both)] == [24, 24, 24, 32, 32]


def test_what_nobody_holds_any_more_does_not_count() -> None:
    """The first request has ended when the second comes: its blocks are cached, not held."""
    apart = [ask(0, range(10), output=1), ask(2000, range(20, 24), output=1)]
    assert steps_of(apart) == [(0, 0, 12), (0, 0, 4)]
