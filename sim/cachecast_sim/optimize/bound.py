"""The clairvoyant bound: what no policy of markers and pings can go below."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import compiled

Ints = npt.NDArray[np.int64]

SHORT_US = 300_000_000
LONG_US = 3_600_000_000
_FAR = 1 << 60


class Uses(NamedTuple):
    """`Positions` and `Rows` of `layout.py`; `answer` = picounits of each request's output.

    `cheapest_read` is what a ping pays for a token at least.
    """

    offsets: Ints
    ids: npt.NDArray[np.int32]
    tokens: Ints
    is_segment: npt.NDArray[np.bool_]
    arrival: Ints
    total: Ints
    answer: Ints
    price: Ints
    prices: Ints
    cheapest_read: int
    grace_us: int


class _Segments(NamedTuple):
    """By entry: `cost` with nothing stored, 5m, 1h; the last use, -1 for none; whether it was seen.

    Of a segment's tokens `held` are those before a boundary inside it that its first prompt shared
    with an earlier one: they may have been read even then. `width` are the others.
    """

    cost: Ints
    used: Ints
    held: Ints
    width: Ints
    known: npt.NDArray[np.bool_]


@compiled
def clairvoyant(scope_requests: Ints, scope_entries: Ints, uses: Uses) -> int:
    """Picounits that the log costs at least.

    Each segment of the prefix tree decides by itself and knows the future: nothing stored, an
    entry of 5m or one of 1h; between two uses it is kept alive by pings that pay its reads alone,
    or lapses. Whoever reads it may make it live an hour: a 1h marker behind a read pays only for
    the tokens between them. Segments end at positions that every prompt with that prefix has.
    What stands behind a prompt's last segment is read where an earlier prompt had such a position,
    else fresh.
    """
    most = np.max(scope_entries)
    segments = _Segments(
        np.empty((most, 3), np.int64), np.empty(most, np.int64), np.empty(most, np.int64),
        np.empty(most, np.int64), np.empty(most, np.bool_),
    )  # fmt: skip
    found = 0
    for scope in range(len(scope_entries)):
        entries = scope_entries[scope]
        segments.used[:entries] = -1
        segments.known[:entries] = False
        for request in range(scope_requests[scope], scope_requests[scope + 1]):
            found += _use(request, uses, segments)
        for entry in range(entries):
            if segments.used[entry] >= 0:
                found += np.min(segments.cost[entry]) * segments.width[entry]
    return found


@compiled
def _use(request: int, uses: Uses, segments: _Segments) -> int:
    """One request: its segments' costs go on; what it pays behind its last one, and its answer."""
    each = uses.prices[uses.price[request]]
    plain = min(each[0], each[2], each[3])
    start, held, behind = 0, 0, 0
    for at in range(uses.offsets[request], uses.offsets[request + 1]):
        entry = uses.ids[at]
        if segments.known[entry]:
            held = uses.tokens[at]
        if uses.is_segment[at]:
            if segments.used[entry] < 0:
                segments.held[entry] = max(held - start, 0)
                segments.width[entry] = uses.tokens[at] - start - segments.held[entry]
            behind += segments.held[entry] * min(each[1], plain)
            start = uses.tokens[at]
            _step(entry, uses.arrival[request], each, uses, segments)
        # set at once: a prompt holds each position once, so it is no earlier prompt's
        segments.known[entry] = True
    shared = max(held - start, 0)
    rest = uses.total[request] - start - shared
    behind += shared * min(each[1], plain) + rest * plain
    paid: int = behind + uses.answer[request]
    return paid


@compiled
def _step(entry: int, now: int, each: Ints, uses: Uses, segments: _Segments) -> None:
    """The least that the segment's uses up to now cost, a token, by what is stored afterwards."""
    cost = segments.cost[entry]
    if segments.used[entry] < 0:
        cost[0], cost[1], cost[2] = 0, _FAR, _FAR
    gap = now - segments.used[entry]
    least = min(cost[0], cost[1], cost[2])
    kept = each[1] + min(
        cost[1] + uses.cheapest_read * _pings_of_short(gap, uses.grace_us),
        cost[2] + uses.cheapest_read * _pings(gap, LONG_US + uses.grace_us),
    )
    cost[0] = least + each[0]
    cost[1] = least + each[2]
    cost[2] = min(least + each[3], kept)
    segments.used[entry] = now


@compiled
def _pings_of_short(gap: int, grace_us: int) -> int:
    """The same for a 5m entry, whose first ping can make it live an hour."""
    short = SHORT_US + grace_us
    return 0 if gap <= short else 1 + _pings(gap - short, LONG_US + grace_us)


@compiled
def _pings(gap: int, life: int) -> int:
    """How many pings keep an entry alive over a pause."""
    return max(0, (gap + life - 1) // life - 1)
