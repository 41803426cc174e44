"""A log as arrays for judging policies: what each request holds, pays and waits for."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions of all requests, one after the other.

    Request r has `offsets[r]` to `offsets[r + 1]`: `ids` (entries, counted within the scope),
    `tokens`, `ordinals` (look-back positions, all 0 where look-back is off), `is_segment` (every
    prompt with this prefix has this position); `placed[r, place]` is an index among the request's
    own positions, -1 for none, `server_mark` likewise. `scope_entries` counts each scope's ids.
    """

    offsets: Ints
    ids: npt.NDArray[np.int32]
    tokens: Ints
    ordinals: Ints
    is_segment: npt.NDArray[np.bool_]
    placed: Ints
    server_mark: Ints
    scope_entries: Ints


@dataclass(frozen=True, slots=True)
class Rows:
    """Requests in the order of scopes, then of arrival; microseconds, -1 for unknown or none.

    `order` is the place in the log, `next_us` the conversation's next arrival, `total` the prompt
    that is billed and `size` the one that the first token waits for; `lost`: no response started;
    `session` counts over the log, those of a scope one after the other. `price` is a row of
    `Layout.prices`.
    """

    arrival: Ints
    order: Ints
    next_us: Ints
    minimum: Ints
    total: Ints
    size: Ints
    output: Ints
    first_us: Ints
    end_us: Ints
    lost: npt.NDArray[np.bool_]
    pinged: npt.NDArray[np.bool_]
    session: Ints
    price: Ints

    def taken(self, rows: npt.NDArray[np.int64]) -> "Rows":
        """These rows in this order."""
        return Rows(*(getattr(self, name)[rows] for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Layout:
    """The whole log. `positions` by the finest step of token blocks in it (0: none).

    `scope_requests` and `scope_sessions` are offsets by scope; `prices[p]` = picounits of fresh,
    read, written 5m, written 1h, output. `constant` is what requests cost that no policy touches.
    """

    rows: Rows
    positions: dict[int, Positions]
    scope_requests: Ints
    scope_sessions: Ints
    prices: Ints
    ping_prices: dict[tuple[int, int, int], int]  # (row, seconds, number) where it is another
    currency: str
    constant: int

    def places_there(self, names: Sequence[str]) -> list[str]:
        """Those of the places that any request has."""
        there = [positions.placed >= 0 for positions in self.positions.values()]
        found = np.logical_or.reduce([mask.any(axis=0) for mask in there])
        return [name for name, known in zip(names, found.tolist(), strict=True) if known]

    @property
    def scopes(self) -> int:
        """How many caches there are."""
        return len(self.scope_requests) - 1


@dataclass(frozen=True, slots=True)
class Schedule:
    """Arrivals and pings in the order in which they reach each scope.

    Events of scope s are `scope_events[s]` to `scope_events[s + 1]`; `ping` is 0 for a request of
    the log, else its number; `price` a row of `Layout.prices`.
    """

    scope_events: Ints
    time: Ints
    request: Ints
    ping: Ints
    price: Ints


def schedule(layout: Layout, every_s: int | None, most: int) -> Schedule:
    """The events with up to `most` pings every `every_s` seconds (None: without)."""
    rows = layout.rows
    request = [np.arange(len(rows.arrival), dtype=np.int64)]
    ping = [np.zeros(len(rows.arrival), dtype=np.int64)]
    time = [rows.arrival]
    if every_s is not None:
        for number in range(1, most + 1):
            at = rows.arrival + number * every_s * 1_000_000
            sent = np.flatnonzero(rows.pinged & ((rows.next_us == UNKNOWN) | (at < rows.next_us)))
            request.append(sent)
            ping.append(np.full(len(sent), number, dtype=np.int64))
            time.append(at[sent])
    joined = np.concatenate(request), np.concatenate(ping), np.concatenate(time)
    scope = np.searchsorted(layout.scope_requests, joined[0], side="right") - 1
    # a request of the log comes before a ping of the same moment
    found = np.lexsort((joined[1], rows.order[joined[0]], joined[1] > 0, joined[2], scope))
    requests, pings, times = (part[found] for part in joined)
    price = rows.price[requests]
    if every_s is not None and layout.ping_prices:
        for i in np.flatnonzero(pings).tolist():
            key = (int(requests[i]), every_s, int(pings[i]))
            price[i] = layout.ping_prices.get(key, price[i])
    events = np.searchsorted(scope[found], np.arange(layout.scopes + 1))
    return Schedule(events.astype(np.int64), times, requests, pings, price)
