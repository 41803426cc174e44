"""Which two runs `compare` sets beside each other."""

from pathlib import Path
from typing import Any

import pytest

from cachecast.alike import check_alike
from cachecast_datasets.errors import BadInput

ONE = {
    "input_hash": "sha256:1", "clock": "virtual", "normalised": True, "speed_up": 1.0,
    "device": "cpu", "threads": 1, "loop": "open",
}  # fmt: skip


def check(**changes: Any) -> None:
    check_alike(Path("one"), ONE, Path("other"), ONE | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"device": "cuda"},
            "one ran on cpu, other ran on cuda, expected the same: replay both with one --device",
        ),
        (
            {"threads": 2},
            "one ran with --threads 1, other ran with --threads 2, expected the same: replay both "
            "with one --threads",
        ),
        (
            {"loop": "closed"},
            "one ran in an open loop, other ran in a closed loop, expected the same: replay both "
            "in one loop",
        ),
    ],
)
def test_two_replays_by_other_means_are_not_compared(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as caught:
        check(**changes)
    assert str(caught.value) == message


def test_what_a_simulation_does_not_say_is_no_difference() -> None:
    check()
    check(clock=None, device=None, threads=None, loop=None)
