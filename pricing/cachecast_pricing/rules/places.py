"""Marker policies written as places: `mark=tools:1h+system:1h+end:5m`.

A place names where a marker stands in any prompt, so that one policy holds for a whole log.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from cachecast_datasets.errors import BadInput
from cachecast_pricing.rules.markers import ANTHROPIC_MARKERS, MOST_MARKERS, Marks, holds_marker
from cachecast_pricing.rules.prompt import Prompt, system_end

# what a person does to follow it
PLACES: dict[str, str] = {
    "tools": "after the last tool definition",
    "system": "after the system text",
    "first_user": "after the first user message",
    "previous": "where the previous request's prompt ended",
    "end": "on the last block of the prompt",
}
EVERY = "every"
_MOST_STEPS = 1_000_000


class Place(NamedTuple):
    """A marker of `ttl` at a place: a name of PLACES, or the latest multiple of `step` blocks."""

    name: str
    ttl: str
    step: int | None = None


@lru_cache(maxsize=256)
def places_of(policy: str) -> tuple[Place, ...]:
    """The places of a `mark=` value; empty if it is not written as places.

    BadInput for an unknown lifetime, a place given twice and more than four of them.
    """
    parts = [part.partition(":") for part in policy.split("+")]
    if not any(":" in policy or _step(name) or name in PLACES for name, _, _ in parts):
        return ()
    if policy == "system+last":
        return ()
    found = [_place(policy, name, ttl or "5m") for name, _, ttl in parts]
    if len({place.name for place in found}) < len(found):
        raise BadInput(f"mark={policy}: a place is given twice")
    if len(found) > MOST_MARKERS:
        raise BadInput(f"mark={policy}: {len(found)} places, expected at most {MOST_MARKERS}")
    return tuple(found)


def _place(policy: str, name: str, ttl: str) -> Place:
    step = _step(name)
    if step is None and name not in PLACES:
        known = ", ".join((*PLACES, "everyN"))
        raise BadInput(f"mark={policy}: unknown place {name!r}; known: {known}")
    if ttl not in ANTHROPIC_MARKERS:
        raise BadInput(f"mark={policy}: {name}:{ttl}, expected {name}:5m or {name}:1h")
    return Place(name, ttl, step)


def _step(name: str) -> int | None:
    digits = name.removeprefix(EVERY)
    if digits == name or not (digits.isascii() and digits.isdigit()) or len(digits) > 6:
        return None
    return int(digits) if 0 < int(digits) < _MOST_STEPS else None


def steps_of(policy: str | None) -> tuple[int, ...]:
    """The steps of its everyN places."""
    if policy is None:
        return ()
    return tuple(place.step for place in places_of(policy) if place.step is not None)


def place_marks(prompt: Prompt, places: Iterable[Place], ttl: str | None) -> Marks:
    """The markers of one prompt. Places that it does not have are left out, equal ones are one.

    A 1h marker lifts those before it, which the provider would refuse as 5m ones. `ttl` replaces
    every marker's own.
    """
    found: dict[int, str] = {}
    for place in places:
        at = index_of(prompt, place)
        if at is not None:
            own = ttl or place.ttl
            found[at] = "1h" if "1h" in (own, found.get(at)) else own
    marks, life = [], "5m"
    for at in sorted(found, reverse=True):
        life = "1h" if "1h" in (found[at], life) else "5m"
        marks.append((at, life))
    return Marks(tuple(reversed(marks)))


def index_of(prompt: Prompt, place: Place) -> int | None:
    """Index of the position that the place stands for; None if the prompt has no such place."""
    if prompt.blocks is None:
        return _in_token_blocks(prompt, place)
    at = _in_blocks(prompt, place)
    while at is not None and not holds_marker(prompt.blocks[at]):
        at = at - 1 if at else None  # the nearest block before it that can hold one
    return at


def _in_blocks(prompt: Prompt, place: Place) -> int | None:
    names = prompt.names
    if place.step is not None:
        return _index(len(names) // place.step * place.step)
    if place.name == "tools":
        return _index(_run(names, 0, ("tools",)))
    if place.name == "system":
        return system_end(prompt)
    if place.name == "first_user":
        return _first_user_end(prompt)
    if place.name == "previous":
        return _previous_end(names)
    return _index(len(names))


def _index(count: int) -> int | None:
    return count - 1 if count else None


def _run(names: list[str], start: int, wanted: tuple[str, ...]) -> int:
    at = start
    while at < len(names) and names[at] in wanted:
        at += 1
    return at


def _first_user_end(prompt: Prompt) -> int | None:
    blocks = prompt.blocks
    assert blocks is not None
    if "user" not in prompt.names:
        return None
    at = prompt.names.index("user")
    message = blocks[at].message
    while at + 1 < len(blocks) and (blocks[at + 1].section, blocks[at + 1].message) == (
        "user",
        message,
    ):
        at += 1
    return at


def _previous_end(names: list[str]) -> int | None:
    """Before the latest answer: what follows it is this turn's own (and a prefilled answer)."""
    at = len(names)
    while at and names[at - 1] == "assistant":
        at -= 1
    while at and names[at - 1] != "assistant":
        at -= 1
    while at and names[at - 1] == "assistant":
        at -= 1
    return _index(at)


def _in_token_blocks(prompt: Prompt, place: Place) -> int | None:
    names, last = prompt.names, len(prompt.names) - 1
    if place.step is not None:
        return _grid_index(prompt, place.step)
    if place.name == "tools":
        return names.index("tools") if "tools" in names else None
    if place.name == "system":
        return system_end(prompt)
    if place.name == "previous":
        turns = [i for i in range(last) if names[i] == "turn"]
        return turns[-1] if turns else None
    if place.name == "end":
        return last if last >= 0 else None
    return None


def _grid_index(prompt: Prompt, step: int) -> int | None:
    """Where the latest multiple of `step` token blocks stands among positions with that grid."""
    request = prompt.request
    if request.token_blocks is None or request.token_block_size is None or not prompt.tokens:
        return None
    whole = len(request.token_blocks) // step * step
    if not whole:
        return None
    return prompt.tokens.index(min(whole * request.token_block_size, prompt.tokens[-1]))
