"""Requests of a log, one after the other, into a `Layout`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_pricing.model_ids import ModelRef
from cachecast_pricing.rates import ClassPrices
from cachecast_pricing.rules.marked import MarkedBoundaries
from cachecast_pricing.rules.markers import prewarm_refusal, server_tool_result
from cachecast_pricing.rules.memory import scope_key
from cachecast_pricing.rules.places import Place, index_of
from cachecast_pricing.rules.prompt import Prompt
from cachecast_pricing.rules.settings import SECOND_US
from cachecast_sim.ledger import row_of
from cachecast_sim.optimize.layout import UNKNOWN, Ints, Layout, Positions, Rows
from cachecast_sim.optimize.policy import MOST_PINGS, PING_EVERY_S, step_of
from cachecast_sim.pricer import Pricer
from cachecast_sim.prompt_size import prompt_size
from cachecast_sim.provider import reported_outcome
from cachecast_sim.rulebook import Rulebook
from cachecast_sim.sessions import session_key
from cachecast_sim.whatif.change import conversation, processed

_GRID = ("in_tools", "in_system", "in_messages")
_FIELDS = tuple(Rows.__slots__)


class _Parts(NamedTuple):
    """One request's positions; `grid` is the number of the token block, 0 for a boundary.

    `segment`: every prompt with this prefix has this position.
    """

    keys: npt.NDArray[np.uint64]
    tokens: Ints
    ordinals: Ints
    grid: Ints
    segment: npt.NDArray[np.bool_]


@dataclass(slots=True)
class _Scope:
    rows: list[int]
    sessions: dict[object, int]


class LayoutMaker:
    """Give it every request in the log's order, then take `layout`.

    `names` are the places that may be judged; `grid` the steps of token blocks among them, which
    must all be multiples of the last (on logs that know only token blocks).
    """

    def __init__(
        self, pricer: Pricer, rulebook: Rulebook, names: Sequence[str], grid: Sequence[int]
    ) -> None:
        self._pricer = pricer
        self._rulebook = rulebook
        self._grid = tuple(grid)
        self._places = [Place(name, "5m", step_of(name)) for name in names]
        self._numbers: dict[str, list[int]] = {name: [] for name in _FIELDS}
        self._parts: list[_Parts] = []
        self._placed: list[list[int]] = []
        self._server: list[int] = []
        self._scopes: dict[tuple[str | None, ...], _Scope] = {}
        self._last: dict[tuple[str | None, ...], int | None] = {}
        self._prices: dict[tuple[int, ...], int] = {}
        self._ping_prices: dict[tuple[int, int, int], int] = {}
        self._dated: list[tuple[Request, ModelRef, int]] = []
        self._currency: str | None = None
        self._constant = 0

    def add(self, request: Request, order: int) -> None:
        """The next request. BadInput if no policy of markers can be asked of its model."""
        if not processed(request):
            return
        rules = self._rulebook.rules_of(request)
        row: int | None = None
        if rules is None or request.boundaries is None:
            self._pay_as_reported(request, order)
        elif not isinstance(rules, MarkedBoundaries):
            raise BadInput(
                f"{rules.model} takes no markers at places of one's choice, so there is nothing to "  # type: ignore[attr-defined]
                "optimise: its rules cache by themselves; optimize takes Anthropic's models"
            )
        elif prewarm_refusal(request) is None:
            row = self._add(request, order, rules)
        self._continue(request, row)

    def _pay_as_reported(self, request: Request, order: int) -> None:
        charge = row_of(reported_outcome(request, order), self._pricer).charge
        self._constant += 0 if charge is None else charge.total

    def _continue(self, request: Request, row: int | None) -> None:
        """The conversation's request before is followed by this one."""
        key = conversation(request)
        before = self._last.get(key)
        if before is not None:
            self._numbers["next_us"][before] = request.arrival_us
        self._last[key] = row

    def _add(self, request: Request, order: int, rules: MarkedBoundaries) -> int:
        prompt = rules.prompt_of(request, self._grid)
        row = len(self._parts)
        self._parts.append(_parts(prompt, rules, self._grid[-1]))
        self._placed.append([_or_none(index_of(prompt, place)) for place in self._places])
        self._server.append(_or_none(server_tool_result(prompt)))
        scope = self._scopes.setdefault(scope_key(request), _Scope([], {}))
        scope.rows.append(row)
        lost = request.status == "aborted" and request.first_token_s is None
        values = {
            "arrival": request.arrival_us,
            "order": order,
            "next_us": UNKNOWN,
            "minimum": rules.minimum,
            "total": prompt.total,
            "size": prompt_size(request) or 0,
            "output": prompt.output,
            "first_us": _microseconds(request.first_token_s),
            "end_us": _microseconds(request.end_s),
            "lost": lost,
            "pinged": not request.is_batch,
            "session": scope.sessions.setdefault(session_key(request), len(scope.sessions)),
            "price": self._price(request, prompt.total, row),
        }
        for name, value in values.items():
            self._numbers[name].append(value)
        return row

    def _price(self, request: Request, total: int, row: int) -> int:
        ref = self._pricer.model_of(request)
        assert ref is not None  # it has rules
        if self._pricer.by_arrival:
            slim = replace(request, blocks=None, boundaries=None, token_blocks=None)
            self._dated.append((slim, ref, row))
        return self._price_at(request, ref, total)

    def _price_at(self, request: Request, ref: ModelRef, total: int) -> int:
        moment = self._pricer.moment(request, ref)
        if moment is None:
            raise BadInput(f"{ref.model}: no price at {request.arrival_us / SECOND_US:.0f} s")
        prices = moment.prices(total)
        if self._currency not in (None, prices.currency):
            raise BadInput(f"cannot add {self._currency} and {prices.currency} in one policy")
        self._currency = prices.currency
        return self._prices.setdefault(_classes(prices, ref), len(self._prices))

    def layout(self) -> Layout:
        """The arrays. BadInput if there was no request to judge."""
        if not self._parts:
            raise BadInput("no request of the log has a prompt that markers could be put in")
        self._price_pings()
        scopes = list(self._scopes.values())
        order = np.array([row for scope in scopes for row in scope.rows], dtype=np.int64)
        sessions = np.concatenate(([0], np.cumsum([len(scope.sessions) for scope in scopes])))
        bounds = np.concatenate(([0], np.cumsum([len(scope.rows) for scope in scopes])))
        columns = {name: np.array(values) for name, values in self._numbers.items()}
        for scope, first in zip(scopes, sessions.tolist(), strict=False):
            columns["session"][scope.rows] += first
        place_of = np.argsort(order)
        return Layout(
            rows=Rows(**columns).taken(order),
            positions=self._positions(order, bounds),
            scope_requests=bounds.astype(np.int64),
            scope_sessions=sessions.astype(np.int64),
            prices=np.array(list(self._prices), dtype=np.int64),
            ping_prices={
                (int(place_of[row]), every, number): price
                for (row, every, number), price in self._ping_prices.items()
            },
            currency=self._currency or "",
            constant=self._constant,
        )

    def _price_pings(self) -> None:
        """Where prices follow the arrival, a ping can fall in another period or hour."""
        for request, ref, row in self._dated:
            until, total = self._numbers["next_us"][row], self._numbers["total"][row]
            for every in (s for steps in PING_EVERY_S.values() for s in steps):
                for number in range(1, MOST_PINGS + 1):
                    at = request.arrival_us + number * every * SECOND_US
                    if until != UNKNOWN and at >= until:
                        break
                    price = self._price_at(replace(request, arrival_us=at), ref, total)
                    if price != self._numbers["price"][row]:
                        self._ping_prices[row, every, number] = price

    def _positions(self, order: Ints, bounds: Ints) -> dict[int, Positions]:
        parts = [self._parts[row] for row in order.tolist()]
        self._parts = []
        counts = np.array([len(p.tokens) for p in parts], dtype=np.int64)
        offsets = np.concatenate(([0], np.cumsum(counts)))
        columns = _Parts(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        del parts
        placed = np.array(self._placed, dtype=np.int64)[order].reshape(len(order), -1)
        server = np.array(self._server, dtype=np.int64)[order]
        found = {}
        steps = (*self._grid, 0) if columns.grid.any() else (0,)
        for step in steps:
            kept = (columns.grid == 0) | (step > 0) & (columns.grid % max(step, 1) == 0)
            found[step] = _kept(columns, kept, offsets, placed, server, bounds)
        return found


def _kept(
    columns: _Parts,
    kept: npt.NDArray[np.bool_],
    offsets: Ints,
    placed: Ints,
    server: Ints,
    bounds: Ints,
) -> Positions:
    """The positions that are kept, entries numbered within each scope."""
    before = np.concatenate(([0], np.cumsum(kept)))
    starts = before[offsets]
    keys, tokens = columns.keys[kept], columns.tokens[kept]
    ids = np.empty(len(keys), dtype=np.int32)
    entries = []
    for first, last in zip(starts[bounds[:-1]].tolist(), starts[bounds[1:]].tolist(), strict=True):
        distinct, ids[first:last] = np.unique(keys[first:last], return_inverse=True)
        entries.append(len(distinct))
    at = offsets[:-1, None] + np.maximum(placed, 0)  # a request without positions has no places
    there = (placed >= 0) & np.append(kept, False)[np.where(placed >= 0, at, -1)]
    moved = np.where(there, before[np.where(there, at, 0)] - starts[:-1, None], UNKNOWN)
    return Positions(
        offsets=starts.astype(np.int64),
        ids=ids,
        tokens=tokens,
        ordinals=columns.ordinals[kept],
        is_segment=columns.segment[kept],
        placed=moved,
        server_mark=server,
        scope_entries=np.array(entries, dtype=np.int64),
    )


def _parts(prompt: Prompt, rules: MarkedBoundaries, finest: int) -> _Parts:
    ordinals = rules.ordinals(prompt)
    tokens = np.array(prompt.tokens, dtype=np.int64)
    grid = np.zeros(len(tokens), dtype=np.int64)
    segment = np.ones(len(tokens), dtype=np.bool_)
    if prompt.blocks is None:
        size = prompt.request.token_block_size or 1
        inside = [name in _GRID for name in prompt.names]
        grid[inside] = tokens[inside] // size
        # a boundary may stand where other prompts have a position of the grid
        segment = tokens % (finest * size) == 0
    return _Parts(
        np.array(prompt.keys, dtype=np.uint64),
        tokens,
        np.zeros(len(tokens), np.int64) if ordinals is None else np.array(ordinals, np.int64),
        grid,
        segment,
    )


def _classes(prices: ClassPrices, ref: ModelRef) -> tuple[int, ...]:
    found = {
        "fresh": prices.fresh, "cache_read": prices.cache_read,
        "cache_write_5m": prices.cache_write_5m, "cache_write_1h": prices.cache_write_1h,
        "output": prices.output,
    }  # fmt: skip
    missing = [name for name, price in found.items() if price is None]
    if missing:
        raise BadInput(f"{ref.model}: no {missing[0]} price, and policies differ in it")
    return tuple(price for price in found.values() if price is not None)


def _microseconds(seconds: float | None) -> int:
    return UNKNOWN if seconds is None else round(seconds * SECOND_US)


def _or_none(index: int | None) -> int:
    return UNKNOWN if index is None else index
