"""Whether rendered requests keep their prefix: what `lint` checks in a CI job."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cachecast_sim.why.causes import Difference
from cachecast_sim.why.conversations import (
    Conversations,
    another_prompt,
    goes_on,
    nearest,
)
from cachecast_sim.why.dates import Moments
from cachecast_sim.why.differences import Side, of_blocks
from cachecast_sim.why.prompts import SYSTEM, items_of


@dataclass(frozen=True, slots=True)
class Break:
    """Two requests of which the second does not keep the first one's prefix.

    `lost_tokens` stand in the first one from the difference to the end of what should have stayed.
    """

    earlier: str
    later: str
    difference: Difference
    lost_tokens: int
    more: tuple[Difference, ...] = ()


def breaks(sides: Sequence[Side]) -> Iterator[Break]:
    """Each request against the one that it continues: of its session, else the one before it.

    What must stay: tools, system text and, where the two belong to one session or the second holds
    the first one's messages, all messages of the first. Of two conversations only what stands
    before the messages must be the same. Calls of another kind within a session are left out.
    """
    conversations, by_id = Conversations(), {side.request.request_id: side for side in sides}
    before: Side | None = None
    for side in sides:
        known = conversations.add(side.request)
        if side.request.session_id is None:
            earlier = before
        else:
            request = nearest(known, side.request)
            earlier = None if request is None else by_id[request.request_id]
            if earlier is not None and another_prompt(earlier.request, side.request):
                earlier = None
        before = side
        found = None if earlier is None else _break(earlier, side)
        if found is not None:
            yield found


def _break(earlier: Side, later: Side) -> Break | None:
    if goes_on(earlier.request, later.request):
        return None
    whole = _one_conversation(earlier, later)
    items = items_of(earlier.request, None)
    kept = items if whole else [i for i in items if i.block.section in ("tools", *SYSTEM)]
    end = sum(item.block.tokens for item in kept)
    moments = Moments(None)
    found = [d for d in of_blocks(earlier, later, moments) if whole or _before_messages(d)]
    if not found:
        return None
    first = found[0]
    start = 0 if first.place is None or first.place.tokens is None else first.place.tokens
    return Break(
        earlier.request.request_id,
        later.request.request_id,
        first,
        max(0, end - start),
        tuple(found[1:]),
    )


def _one_conversation(earlier: Side, later: Side) -> bool:
    a, b = earlier.request, later.request
    if a.session_id is not None and b.session_id is not None:
        return a.session_id == b.session_id
    messages = {
        block.hash for block in a.blocks or () if block.section not in ("tools", *SYSTEM)
    } & {block.hash for block in b.blocks or ()}
    return bool(messages)


def _before_messages(difference: Difference) -> bool:
    place = difference.place
    return place is None or place.section in ("tools", *SYSTEM)
