"""Which earlier request a prompt continues, and which calls stand beside the conversation."""

from collections import OrderedDict, deque
from collections.abc import Sequence

from cachecast_datasets.request import ContentBlock, Request
from cachecast_sim.why.prompts import SYSTEM

REMEMBERED_SESSIONS = 2_048
_REMEMBERED = 4  # requests of a session: a title or a summary may have come in between

Key = tuple[str | None, str | None]  # session, sub-agent


class Conversations:
    """The last few requests of each session; what is asked for is bounded, so is the memory."""

    def __init__(self) -> None:
        self._recent: OrderedDict[Key, deque[Request]] = OrderedDict()

    def add(self, request: Request) -> Sequence[Request]:
        """The requests of the session before this one, the latest first; this one is kept."""
        if request.session_id is None:
            return ()
        key = (request.session_id, request.agent_id)
        recent = self._recent.pop(key, None)
        if recent is None:
            recent = deque(maxlen=_REMEMBERED)
            if len(self._recent) >= REMEMBERED_SESSIONS:
                self._recent.popitem(last=False)
        self._recent[key] = recent
        before = tuple(reversed(recent))
        recent.append(request)
        return before


def nearest(before: Sequence[Request], now: Request) -> Request | None:
    """The request that has most blocks in common with ours; the latest one of several."""
    if len(before) < 2 or now.blocks is None:
        return before[0] if before else None
    ours = _contents(now.blocks)
    return max(before, key=lambda request: len(ours & _contents(request.blocks or ())))


def _contents(blocks: Sequence[ContentBlock]) -> set[int]:
    return {h for b in blocks for h in (b.hash, b.canonical_hash, b.masked_hash) if h is not None}


def goes_on(earlier: Request, now: Request) -> bool:
    """Whether the earlier prompt stands whole at the start of ours."""
    a, b = earlier.boundaries, now.boundaries
    if a is None or b is None or not a.hashes or len(a.hashes) > len(b.hashes):
        return False
    return a.hashes[-1] == b.hashes[len(a.hashes) - 1]


def share_a_boundary(earlier: Request, now: Request) -> bool:
    """Whether the two prompts begin alike, as far as boundaries tell."""
    a, b = earlier.boundaries, now.boundaries
    return a is not None and b is not None and not set(a.hashes).isdisjoint(b.hashes)


def stood_beside(before: Request, call: Request, after: Request) -> bool:
    """Whether `call` was beside the conversation that leads from `before` to `after`.

    The conversation goes on as if it had not been there, and never takes up its last block.
    """
    if not call.blocks or after.blocks is None or not goes_on(before, after):
        return False
    return call.blocks[-1].hash not in {block.hash for block in after.blocks}


def another_prompt(earlier: Request, now: Request) -> bool:
    """Whether the two are prompts of different kinds: neither tools nor system text in common.

    A request that goes further in the same messages is the same conversation all the same. Token
    blocks do not tell.
    """
    if not earlier.blocks or not now.blocks:
        return False
    lead_a, lead_b = _lead(earlier.blocks), _lead(now.blocks)
    if not (lead_a and lead_b) or _contents(lead_a) & _contents(lead_b):
        return False
    common = _contents(earlier.blocks[len(lead_a) :]) & _contents(now.blocks[len(lead_b) :])
    return not common or len(now.blocks) - len(lead_b) <= len(earlier.blocks) - len(lead_a)


def _lead(blocks: Sequence[ContentBlock]) -> Sequence[ContentBlock]:
    """Tools and system text."""
    at = 0
    while at < len(blocks) and blocks[at].section in ("tools", *SYSTEM):
        at += 1
    return blocks[:at]
