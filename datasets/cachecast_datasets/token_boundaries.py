"""The boundaries of logs that know only token blocks (design section 3), one request at a time."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachecast_datasets.hashing import content_hash
from cachecast_datasets.request import Boundaries, Request

TURNS = 20  # how many earlier ends of a session become boundaries

# What bounds the memory. Beyond these caps a `turn` or `shared` boundary can be missing, never
# wrong: about 250 MB if all are reached.
ENDS_PER_SESSION = 60  # sub-agents interleave with the main thread, so more than TURNS
ENDS_WITHOUT_SESSION = 100_000
MAX_SESSIONS = 20_000  # least recently used first out
SHARED_BLOCKS = 2_000_000  # hashes in each of two generations

_Hashes = npt.NDArray[np.uint64]


@dataclass(slots=True)
class _End:
    """Where an earlier request ended: `blocks` blocks, `tokens` tokens, `position` or unknown."""

    blocks: int
    tokens: int
    hash: int
    position: int | None
    outputs: int | None  # content blocks of its answer


class TokenBoundaryTracker:
    """Sees requests in arrival order and knows where earlier ones ended and what they held."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str | None], OrderedDict[int, _End]] = OrderedDict()
        self._held = _HeldBlocks(SHARED_BLOCKS)

    def boundaries(self, request: Request) -> Boundaries:
        """The request's boundaries, ascending; afterwards it counts as an earlier request.

        `tools`, `system` and `end` as in the design; `turn` = the ends of the last 20 earlier
        requests of the session (of the scope, without one) whose chain is a prefix; `shared` =
        the longest run of leading blocks held by any earlier request of the scope. Where several
        fall on one position the first of end, system, tools, turn, shared names it.
        """
        blocks, size = request.token_blocks, request.token_block_size
        assert blocks is not None
        assert size is not None
        count = len(blocks)
        if count == 0:
            return Boundaries([], [], [], [])
        length = count * size
        if request.prompt_tokens is not None:
            length = min(length, request.prompt_tokens)  # a kept partial block ends at L
        scope = request.account or request.hash_scope or ""
        shared = self._held.longest_run(blocks, request.account)
        ends = self._ends(scope, request.session_id)
        turns = list(_turns(ends, blocks, request.session_id is not None))
        fixed = _fixed(request, size, count)
        end = _End(count, length, blocks.item(count - 1), None, _number(request.output_types))
        end.position = _end_position(request, end, turns, len(fixed))

        # the weakest name first, so that a stronger one on the same position replaces it
        found: dict[int, tuple[int, str, int | None]] = {}
        if shared:
            found[min(shared * size, length)] = (shared, "shared", None)
        for turn in reversed(turns):
            found[turn.tokens] = (turn.blocks, "turn", turn.position)
        for order, (name, blocks_before) in enumerate(fixed, start=1):
            position = None if request.input_types is None else order
            found[blocks_before * size] = (blocks_before, name, position)
        found[length] = (count, "end", end.position)
        result = _assembled(found, blocks, end.position is not None)
        end.position = result.positions[-1]
        self._remember(ends, end, request.session_id is not None)
        return result

    def _ends(self, scope: str, session: str | None) -> OrderedDict[int, _End]:
        key = (scope, session)
        ends = self._sessions.get(key)
        if ends is None:
            ends = self._sessions[key] = OrderedDict()
            if len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        else:
            self._sessions.move_to_end(key)
        return ends

    @staticmethod
    def _remember(ends: OrderedDict[int, _End], end: _End, in_session: bool) -> None:
        ends[end.hash] = end
        ends.move_to_end(end.hash)
        if len(ends) > (ENDS_PER_SESSION if in_session else ENDS_WITHOUT_SESSION):
            ends.popitem(last=False)


def _turns(ends: OrderedDict[int, _End], blocks: _Hashes, in_session: bool) -> Iterator[_End]:
    """The latest earlier ends on this chain, latest first (longest first without a session)."""
    count, left = len(blocks), TURNS
    if in_session:
        for end in reversed(ends.values()):
            if end.blocks <= count and blocks.item(end.blocks - 1) == end.hash:
                yield end
                left -= 1
                if not left:
                    return
        return
    for number in range(count, 0, -1):  # many ends, few blocks: ask for each block instead
        found = ends.get(blocks.item(number - 1))
        if found is not None and found.blocks == number:
            yield found
            left -= 1
            if not left:
                return


def _fixed(request: Request, size: int, count: int) -> list[tuple[str, int]]:
    """(name, blocks before it) of the tools and system boundaries that exist."""
    tools, system = request.tools_tokens or 0, request.system_tokens or 0
    at_tools, at_system = tools // size, (tools + system) // size
    found = []
    if 0 < at_tools <= count and request.tools_tokens:
        found.append(("tools", at_tools))
    if 0 < at_system <= count and request.system_tokens:
        if found and at_system == at_tools:
            found = []  # equal ones are one
        found.append(("system", at_system))
    return found


def _number(types: list[str] | None) -> int | None:
    return None if types is None else len(types)


def _end_position(request: Request, end: _End, turns: list[_End], fixed: int) -> int | None:
    """How many content blocks the whole prompt holds, None where the lists are missing."""
    if request.input_types is None:
        return None
    if not turns:
        return fixed + len(request.input_types)
    before = max(turns, key=lambda turn: turn.blocks)
    if before.blocks == end.blocks:
        return before.position  # the same prompt again
    if before.position is None or before.outputs is None:
        return None
    return before.position + max(1, before.outputs + len(request.input_types))


def _assembled(
    found: dict[int, tuple[int, str, int | None]], blocks: _Hashes, counted: bool
) -> Boundaries:
    result = Boundaries([], [], [], [])
    position: int | None = None
    for tokens in sorted(found):
        number, name, known = found[tokens]
        # A run may stop inside a content block: it holds what the boundary before it holds. And a
        # longer prefix never holds less, though a rewritten history is counted from its start.
        if known is not None or name == "shared":
            position = max(known or 1, position or 1)
        result.tokens.append(tokens)
        result.hashes.append(blocks.item(number - 1))
        result.names.append(name)
        unknown = known is None and name != "shared"
        result.positions.append(None if unknown or not counted else position)
    return result


class _HeldBlocks:
    """Block hashes of earlier prompts, in two generations: the older is dropped when the younger
    is full.

    Each generation is closed under prefixes (a prompt puts in everything behind the run that is
    already there), so the longest held run is found by bisection.
    """

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._young: set[int] = set()
        self._old: set[int] = set()

    def longest_run(self, blocks: _Hashes, account: str | None) -> int:
        """How many leading blocks an earlier prompt of the scope held; adds this prompt."""
        if account is not None:  # else the hashes themselves carry the source's scope
            blocks = blocks ^ np.uint64(content_hash(account.encode()))
        young = _run(self._young, blocks)
        old = _run(self._old, blocks) if self._old and young < len(blocks) else 0
        self._young.update(blocks[young:].tolist())
        if len(self._young) >= self._cap:
            self._old, self._young = self._young, set()
        return max(young, old)


def _run(held: set[int], blocks: _Hashes) -> int:
    low, high = 0, len(blocks)
    while low < high:
        middle = (low + high) // 2
        if blocks.item(middle) in held:
            low = middle + 1
        else:
            high = middle
    return low
