"""From a log's request to a fleet's job: which of its blocks are the same as whose."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachecast_datasets.hashing import scoped_ids, token_block_hashes
from cachecast_datasets.request import Boundaries, Request
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.prefixes import ENDLESS, Piece, PrefixTree, Segment
from cachecast_sim.prompt_size import prompt_size

US = 1000  # nanoseconds
_MANY = 256  # ids of a prompt
_MIX = np.uint64(0x9E37_79B9_7F4A_7C15)  # an odd number spreads the block numbers over 64 bits


class ContentError(ValueError):
    """A request that cannot be cut into the engine's blocks: what is wrong with it."""


class NoPrompt(ContentError):
    """A request whose prompt has no known size: there is nothing to serve."""


@dataclass(slots=True)
class Content:
    """What was taken for granted about requests on the way, for the result's assumptions."""

    prompts_estimated: int = 0  # requests without prompt tokens: the sum of their content blocks
    outputs_unknown: int = 0  # requests without output tokens: taken as one token
    from_content_blocks: int = 0  # requests whose token blocks follow from content blocks


class JobMaker:
    """Makes jobs of requests, in log order, for an engine with blocks of `block_tokens` tokens."""

    def __init__(self, block_tokens: int, ignore_output: bool = False) -> None:
        self.block_tokens = block_tokens
        self.ignore_output = ignore_output
        self.seen = Content()
        self._trees: dict[int, PrefixTree] = {}
        self._log_block: int | None = None
        self._made = 0

    def job(self, request: Request) -> Job:
        """ContentError if the request has no blocks that this engine could cache."""
        prompt = prompt_size(request)
        if prompt is None or prompt < 1:
            shown = "unknown" if prompt is None else prompt
            raise NoPrompt(f"prompt_tokens is {shown}, expected at least 1")
        self.seen.prompts_estimated += request.prompt_tokens is None
        output = request.output_tokens
        if output is None:
            self.seen.outputs_unknown += 1
        output = 1 if self.ignore_output or not output else output
        ids, per_id, known = self._ids(request, prompt, output)
        tree = self._trees.get(per_id)
        if tree is None:
            tree = self._trees[per_id] = PrefixTree(per_id)
        path, shared = self._enter(tree, ids, per_id, known)
        path.append((Segment(known), known, ENDLESS))
        index = self._made
        self._made += 1
        return Job(
            request.request_id, index, request.arrival_us * US, prompt, output, path, known,
            shared, request.session_id,
        )  # fmt: skip

    def _enter(
        self, tree: PrefixTree, ids: Sequence[int], per_id: int, known: int
    ) -> tuple[list[Piece], int]:
        """The path over `known` blocks; an id of which only a part counts stands alone."""
        whole = known // per_id
        try:
            path, shared = tree.enter(ids[:whole])
            if known % per_id:
                piece, seen_to = tree.enter_partial(path, ids[whole], whole * per_id, known)
                path.append(piece)
                shared = max(shared, seen_to)
        except ValueError as problem:
            raise ContentError(str(problem)) from None
        return path, shared

    def _ids(self, request: Request, prompt: int, output: int) -> tuple[Sequence[int], int, int]:
        """(ids, engine blocks an id, engine blocks with known content) of a request."""
        size = self.block_tokens
        if request.token_ids is not None and len(request.token_ids) == prompt:
            hashes = _token_hashes(request, prompt, output, size, self.ignore_output)
            if request.hash_scope is not None:  # a salt in the first block isolates all behind it
                hashes = scoped_ids(request.hash_scope, hashes)
            return _in_place(hashes), 1, len(hashes)
        blocks, log_size = request.token_blocks, request.token_block_size
        if blocks is not None and log_size:
            self._check_size(log_size)
            if log_size < size:  # the id of the last block inside one of ours names all of it
                step = log_size and size // log_size
                ids = _in_place(blocks[step - 1 :: step])
                return ids, 1, min(len(ids), prompt // size)
            per_id = log_size // size
            return _in_place(blocks), per_id, min(len(blocks) * per_id, prompt // size)
        if request.boundaries is not None and request.boundaries.tokens:
            self.seen.from_content_blocks += 1
            hashes = _content_hashes(request.boundaries, prompt, size)
            return _in_place(hashes), 1, len(hashes)
        raise ContentError(
            "has no token blocks, token ids or content blocks, expected a log that knows which "
            "prompts share what"
        )

    def _check_size(self, log_size: int) -> None:
        size = self.block_tokens
        if log_size % size and size % log_size:
            raise ContentError(
                f"has blocks of {log_size} tokens, engine.block_tokens is {size}, expected a "
                f"divisor or a multiple of {log_size}"
            )
        if self._log_block not in (None, log_size):
            raise ContentError(
                f"has blocks of {log_size} tokens, earlier requests {self._log_block}, expected "
                "one size in the whole log"
            )
        self._log_block = log_size


def _in_place(ids: npt.NDArray[np.uint64]) -> Sequence[int]:
    """Many are read where they lie, since most of a prompt's ids are never looked at; of few a list
    is faster."""
    return np.ascontiguousarray(ids).data if len(ids) > _MANY else ids.tolist()


def _token_hashes(
    request: Request, prompt: int, output: int, size: int, ignore_output: bool
) -> npt.NDArray[np.uint64]:
    """Of prompt and forced output; the last output token's K and V are never computed."""
    assert request.token_ids is not None
    outputs = request.output_token_ids
    if outputs is None or ignore_output:
        return token_block_hashes(request.token_ids, size)
    everything = np.concatenate([request.token_ids, outputs])
    return token_block_hashes(everything[: prompt + output - 1], size)


def _content_hashes(boundaries: Boundaries, prompt: int, size: int) -> npt.NDArray[np.uint64]:
    """An id for each whole block: what its last content block chains up to, and its number.

    A content block that differs anywhere shares none of its token blocks, which may be too few.
    """
    tokens = np.asarray(boundaries.tokens, dtype=np.int64)
    count = min(int(tokens[-1]), prompt) // size
    numbers = np.arange(1, count + 1, dtype=np.int64)
    ends = np.searchsorted(tokens, numbers * size)
    hashes = np.asarray(boundaries.hashes, dtype=np.uint64)
    return hashes[ends] ^ (numbers.astype(np.uint64) * _MIX)
