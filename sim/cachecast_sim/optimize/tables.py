"""What the kernel reads: plain arrays under names."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Log(NamedTuple):
    """`Positions` and `Rows` of `layout.py`, as far as the kernel reads them."""

    offsets: Ints
    ids: npt.NDArray[np.int32]
    tokens: Ints
    ordinals: Ints
    placed: Ints
    server_mark: Ints
    minimum: Ints
    total: Ints
    size: Ints
    output: Ints
    first_us: Ints
    end_us: Ints
    lost: npt.NDArray[np.bool_]
    session: Ints
    scope_entries: Ints
    scope_sessions: Ints
    prices: Ints


class Events(NamedTuple):
    """A `Schedule` of `layout.py`."""

    scope_events: Ints
    time: Ints
    request: Ints
    ping: Ints
    price: Ints


class Policies(NamedTuple):
    """By policy: four places (-1: none), their lifetimes in us, the most pings."""

    chosen: Ints
    lives: Ints
    times: Ints


class Rules(NamedTuple):
    """The scenario's settings; `fixed_us` -1: the first token is estimated."""

    lookback: int
    grace_us: int
    upgrade: bool
    fixed_us: int
