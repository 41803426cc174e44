"""A shortcut for the usual request: a next turn that reads all that an earlier one stored.

On logs that know only token blocks most requests are of this kind, and nothing about them needs the
general path. Whatever is unusual goes there; property tests hold both equal.
"""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from cachecast_datasets.request import Request
from cachecast_pricing.rules.memory import Memory, Scope
from cachecast_pricing.rules.protocol import CacheRules, Match
from cachecast_pricing.rules.reasons import Explanation, Segment
from cachecast_pricing.rules.store import EntryStore, Plan

NOT_USUAL = -1
ANY_POSITION = 1 << 62  # no look-back window


class BoundaryLists(Protocol):
    """Boundaries as parallel lists: one request's own, or a whole batch's one after the other."""

    @property
    def tokens(self) -> list[int]:
        """Prefix lengths."""
        ...

    @property
    def hashes(self) -> list[int]:
        """Chained hashes."""
        ...

    @property
    def names(self) -> list[str]:
        """What ends there."""
        ...

    @property
    def positions(self) -> list[int | None]:
        """Content blocks up to there, None if unknown."""
        ...


class TokenBlocks(NamedTuple):
    """A prompt's token blocks of `size` tokens; `ids` None: they were not read.

    `head_tokens` are those of the tools and the system text, None if the log knows neither.
    """

    ids: npt.NDArray[np.uint64] | None
    size: int | None
    head_tokens: int | None


def usual_hit(
    memory: Memory,
    scope: Scope,
    lists: BoundaryLists,
    first: int,
    end: int,
    minimum: int,
    lookback: int,
    now_us: int,
) -> int:
    """Index of the entry that is read, among the boundaries `first <= i < end` of one request.

    NOT_USUAL unless the longest prefix ever held in the scope is stored, alive and within reach.
    """
    last = end - 1
    if last <= first or lists.tokens[last] < minimum:
        return NOT_USUAL
    hashes, names = lists.hashes, lists.names
    entries, held, written_in = scope.entries, scope.held, memory.written_in
    for i in range(last, first - 1, -1):
        value = hashes[i]
        entry = entries.get(value)
        if entry is not None:
            break
        if value in held or value in written_in or names[i] == "shared":
            return NOT_USUAL
    else:
        return NOT_USUAL
    if not entry.ready_us <= now_us <= entry.expiry_us:
        return NOT_USUAL
    top, start = lists.positions[last], lists.positions[i]
    if top is None or start is None or top - start >= lookback:
        return NOT_USUAL
    return i


def usual_explanation(read: int, limit: int, total: int) -> Explanation:
    """Only new text and the rounding of the last block were not read."""
    if limit <= read:
        return Explanation((Segment(read, total, "block_rounding"),) if total > read else (), None)
    new = Segment(read, limit, "new_content")
    if total > limit:
        return Explanation((new, Segment(limit, total, "block_rounding")), None)
    return Explanation((new,), None)


class UsualRules(CacheRules, Protocol):
    """Rules that offer the shortcut for usual next turns.

    `placed`: only if they are told of token blocks, since markers may stand at any of them.
    """

    memory: Memory
    store: EntryStore
    shortcut: bool
    placed: bool

    def usual(
        self,
        scope: Scope,
        session: str | None,
        lists: BoundaryLists,
        first: int,
        end: int,
        total: int,
        now_us: int,
        blocks: TokenBlocks | None = None,
    ) -> Plan | None:
        """The plan of a usual next turn, announced and remembered; None for any other request.

        Its boundaries are `first <= i < end` of `lists`.
        """
        ...


def usual_match(rules: UsualRules, request: Request, now_us: int) -> Match | None:
    """The match of a usual next turn; None for any other request, and where settings matter."""
    total, lists = request.prompt_tokens, request.boundaries
    if not rules.shortcut or request.blocks is not None or request.settings:
        return None
    if total is None or lists is None or (request.speed, request.cache_mode) != (None, None):
        return None
    scope = rules.memory.scope(request)
    plan = rules.usual(scope, request.session_id, lists, 0, len(lists.hashes), total, now_us)
    if plan is None:
        return None
    read, limit = plan.usage.cache_read, plan.writes[-1][1]
    plan.usage = plan.usage._replace(output=request.output_tokens or 0)
    explanation = usual_explanation(read, limit, total)
    if plan.busy:
        explanation = explanation._replace(candidates=("routed_elsewhere",))
    return Match(read, explanation, plan)
