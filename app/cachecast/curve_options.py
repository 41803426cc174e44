"""What `cachecast curve` takes on its command line, checked."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cachecast_datasets.errors import BadInput
from cachecast_datasets.limits import MAX_S

if TYPE_CHECKING:  # prices are loaded where they are asked for
    from cachecast_sim.curve.worth import TokenWorth

_MOST_BLOCKS = 10**15


def capacities_of(text: str) -> tuple[int, ...]:
    """Capacities in blocks, in the order given. BadInput for anything but whole numbers >= 1."""
    return tuple(_capacity(word) for word in _words(text, "--capacity", "1000,3000"))


def _capacity(word: str) -> int:
    if not (word.isascii() and word.isdigit() and 1 <= int(word) <= _MOST_BLOCKS):
        raise BadInput(
            f"--capacity: {word!r} is no number of blocks, expected whole numbers from 1 to 10^15 "
            "with commas between them, for instance 1000,3000"
        )
    return int(word)


def lives_us_of(text: str) -> tuple[int, ...]:
    """Lifetimes in microseconds, in the order given. BadInput for anything but seconds > 0."""
    return tuple(_life_us(word) for word in _words(text, "--ttl", "60,300"))


def _life_us(word: str) -> int:
    try:
        found = float(word)
    except ValueError:
        found = math.nan
    if not 1e-6 <= found <= MAX_S:
        raise BadInput(
            f"--ttl: {word!r} is no lifetime, expected seconds from 0.000001 to 10^10 with commas "
            "between them, for instance 60,300"
        )
    return round(found * 1_000_000)


def _words(text: str, option: str, example: str) -> Sequence[str]:
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise BadInput(f"{option}: {text!r} has an empty place, expected for instance {example}")
    return words


def rate_of(sample: float | None) -> float | None:
    """The share of blocks to follow, None for all. BadInput outside (0, 1]."""
    if sample is None:
        return None
    if not 0 < sample <= 1:
        raise BadInput(f"--sample is {sample:g}, expected a share above 0 and at most 1")
    return sample


def bytes_per_token_of(gib: bool, model: str | None, stated: int | None) -> int | None:
    """Bytes of KV cache a token, None if no memory is asked for. BadInput if it cannot be known."""
    if model is not None and stated is not None:
        raise BadInput("--model and --kv-bytes-per-token both say it, expected one of them")
    if gib and model is None and stated is None:
        raise BadInput(
            "--gib needs to know what a token takes, expected --model SHAPE or "
            "--kv-bytes-per-token N beside it"
        )
    if model is None:
        return stated
    from cachecast.kv_bytes import kv_bytes_of  # the fleet's files take half a second

    return kv_bytes_of(model)


def worth_of(model_as: str | None) -> "TokenWorth | None":
    """What a hit token saves at an API's prices. BadInput for an unknown model, key or price."""
    if model_as is None:
        return None
    from cachecast.scenarios import scenario_of
    from cachecast_pricing.catalog import load_catalog
    from cachecast_sim.curve.worth import token_worth

    catalog = load_catalog()
    return token_worth(scenario_of(model_as, catalog), catalog)
