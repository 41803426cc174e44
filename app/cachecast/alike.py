"""Which runs may stand beside each other: of one log, on one kind of clock, at one speed, and where
both were measured by the same means."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cachecast_datasets.errors import BadInput

Info = Mapping[str, Any]


def check_alike(one: Path, info: Info, other: Path, other_info: Info) -> None:
    """BadInput unless the two runs can be compared; what a run does not say is no difference.

    A simulation has a clock only where its step times are those of a replay.
    """
    if info.get("input_hash") != other_info.get("input_hash"):
        raise BadInput(f"{one} and {other}: runs of different logs, expected the same")
    for name, words, remedy in _SAME:
        values = info.get(name), other_info.get(name)
        if None not in values and values[0] != values[1]:
            first, second = (words(value) for value in values)
            raise BadInput(f"{one} {first}, {other} {second}, expected the same: {remedy}")


def check_lock_step(predicted: Path, info: Info) -> None:
    """BadInput for step times that a real clock took: it also runs between the steps."""
    if info.get("clock") == "real":
        raise BadInput(
            f"{predicted} is driven by the steps of a replay on the real clock, which also runs "
            "between them; expected those of a replay with --clock virtual"
        )


def _clock(value: object) -> str:
    return f"ran on the {value} clock"


def _scale(value: object) -> str:
    return f"has {'normalised' if value else 'raw'} durations"


def _speed(value: object) -> str:
    return f"had arrivals {value:g} times as fast" if isinstance(value, float) else f"{value}"


def _device(value: object) -> str:
    return f"ran on {value}"


def _threads(value: object) -> str:
    return f"ran with --threads {value}"


def _loop(value: object) -> str:
    return f"ran in {'a closed' if value == 'closed' else 'an open'} loop"


_SAME = (
    ("clock", _clock, "replay both with one --clock"),
    ("normalised", _scale, "use --normalise for both calibrate and replay, or for neither"),
    ("speed_up", _speed, "replay both with one --speed-up"),
    ("device", _device, "replay both with one --device"),
    ("threads", _threads, "replay both with one --threads"),
    ("loop", _loop, "replay both in one loop"),
)
