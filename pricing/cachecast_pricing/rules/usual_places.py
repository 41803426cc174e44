"""The usual next turn where markers stand at places, at every N-th token block perhaps.

Positions are looked at from the end of the prompt backwards, as far as the entry that is read. What
lies before it was there in an earlier prompt already, and nothing of it matters: so a prompt's
cost follows what is new in it and not its length. A property test holds it equal to the general
path, which lists every position.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple, Protocol

from cachecast_pricing.rules.memory import Memory, Scope
from cachecast_pricing.rules.next_turn import BoundaryLists, TokenBlocks
from cachecast_pricing.rules.places import Place
from cachecast_pricing.rules.settings import TTL_US, RuleSettings
from cachecast_pricing.rules.store import EntryStore, Plan
from cachecast_pricing.usage import Usage


class Row(NamedTuple):
    """One request's boundaries, `first <= i < end` of `lists`, and its token blocks."""

    lists: BoundaryLists
    first: int
    end: int
    blocks: TokenBlocks


class _Mark(NamedTuple):
    tokens: int
    key: int
    ttl: str


class _Seen(NamedTuple):
    """What a look from the end backwards found: the entry's position, the tokens that an earlier
    prompt held, and the keys down to there."""

    read: int
    key: int
    held: int
    keys: list[int]


class PlacedRules(Protocol):
    """What is needed of the rules."""

    memory: Memory
    store: EntryStore
    minimum: int
    settings: RuleSettings
    places: tuple[Place, ...]
    grid: tuple[int, ...]


def usual_at_places(
    rules: PlacedRules, scope: Scope, row: Row, total: int, now_us: int
) -> Plan | None:
    """The plan of a usual next turn, announced and remembered; None for any other request."""
    lists, first, end, blocks = row
    if end <= first or None in lists.positions[first:end]:
        return None
    marks = _marks(rules, row)
    if not marks or marks[-1].tokens < rules.minimum:
        return None
    seen = _look_back(rules, scope, row, marks[-1].tokens, now_us)
    if seen is None:
        return None
    read, limit = seen.read, marks[-1].tokens
    unstored = min(seen.held, limit) - read
    if unstored and blocks.head_tokens is not None and read < blocks.head_tokens:
        return None  # tools or system text changed there
    usable = [mark for mark in marks if mark.tokens >= rules.minimum]
    hours = [mark.tokens for mark in usable if mark.ttl == "1h" and mark.tokens > read]
    if hours and hours[-1] != limit:
        return None  # what is written is of two prices
    short, hour = (0, limit - read) if hours else (limit - read, 0)
    usage = Usage(total - limit, read, short, 0, hour)
    writes = [(mark.key, mark.tokens, TTL_US[mark.ttl]) for mark in usable]
    plan = Plan(scope, now_us, writes, scope.entries[seen.key], usage)
    plan.unstored_tokens = unstored
    rules.store.announce(plan)
    rules.memory.hold(scope, seen.keys, 0, len(seen.keys), now_us)
    return plan


def _look_back(
    rules: PlacedRules, scope: Scope, row: Row, last_mark: int, now_us: int
) -> _Seen | None:
    """The entry that is read, if nothing on the way to it has another story than being new."""
    entries, held, written_in = scope.entries, scope.held, rules.memory.written_in
    lookback, marked_at, known = rules.settings.lookback, -1, 0
    shared, keys = _shared(row), list[int]()
    for tokens, key, ordinal in _backwards(row, rules.grid):
        if not known:
            keys.append(key)
            if key in held:
                known = tokens
            elif tokens == shared:
                return None  # held, but by whom is not known any more
        if tokens <= last_mark:
            if marked_at < 0:
                marked_at = ordinal
            entry = entries.get(key)
            if entry is not None:
                alive = entry.ready_us <= now_us <= entry.expiry_us
                near = marked_at - ordinal < lookback
                return _Seen(tokens, key, known, keys) if known and alive and near else None
        if written_in.get(key, scope) is not scope:
            return None
    return None


def _shared(row: Row) -> int:
    """Tokens up to the boundary `shared`, 0 without one."""
    names = row.lists.names[row.first : row.end]
    return row.lists.tokens[row.first + names.index("shared")] if "shared" in names else 0


def _backwards(row: Row, steps: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """(tokens, key, content blocks so far) of every position, the last first.

    A position of the grid holds as many content blocks as the boundary before it (`with_grid`).
    """
    lists, first, end, (ids, size, _) = row
    tokens, hashes, positions = lists.tokens, lists.hashes, lists.positions
    for i in range(end - 1, first - 1, -1):
        own = positions[i]
        assert own is not None, "the caller has looked"
        yield tokens[i], hashes[i], own
        if ids is None or size is None or not steps:
            continue
        low, before = (tokens[i - 1], positions[i - 1]) if i > first else (0, 1)
        assert before is not None, "the caller has looked"
        most = min((tokens[i] - 1) // size, len(ids) - 1)
        for number in _multiples(steps, low // size, most):
            yield number * size, ids.item(number - 1), before


def _multiples(steps: Sequence[int], low: int, most: int) -> Sequence[int]:
    """`low < n <= most` that are multiples of any of the steps, the largest first."""
    if len(steps) == 1:  # the usual case, and a range costs nothing
        (step,) = steps
        return range(most // step * step, low, -step)
    found = chain.from_iterable(range(most // step * step, low, -step) for step in steps)
    return sorted(set(found), reverse=True)


def _marks(rules: PlacedRules, row: Row) -> list[_Mark]:
    """What `place_marks` makes of the places; empty too where that cannot be told from here."""
    found: dict[int, tuple[int, str]] = {}
    for place in rules.places:
        at = _where(place, row)
        if at is _ELSEWHERE:
            return []
        if at is None:
            continue
        tokens, key = at
        own = rules.settings.ttl or place.ttl
        found[tokens] = (key, "1h" if "1h" in (own, found.get(tokens, (0, ""))[1]) else own)
    marks, life = [], "5m"
    for tokens in sorted(found, reverse=True):
        key, own = found[tokens]
        life = "1h" if "1h" in (own, life) else "5m"
        marks.append(_Mark(tokens, key, life))
    return marks[::-1]


_ELSEWHERE = (-1, 0)


def _where(place: Place, row: Row) -> tuple[int, int] | None:
    """(tokens, key) of a place in a prompt of token blocks; None if it has none there."""
    lists, first, end, (ids, size, head_tokens) = row
    last = end - 1
    if place.step is not None:
        if ids is None or size is None:
            return None
        number = len(ids) // place.step * place.step
        if number and number * size < lists.tokens[last]:
            return number * size, ids.item(number - 1)
        return (lists.tokens[last], lists.hashes[last]) if number else None
    if place.name == "end":
        return lists.tokens[last], lists.hashes[last]
    names = lists.names[first:end]
    if place.name == "system" and (head_tokens is None or "system" not in names):
        return _ELSEWHERE  # a boundary can be both system and end
    if place.name == "previous":
        turns = [i for i, name in enumerate(names[:-1]) if name == "turn"]
        at = turns[-1] if turns else None
    else:
        at = names.index(place.name) if place.name in names else None
    return None if at is None else (lists.tokens[first + at], lists.hashes[first + at])
