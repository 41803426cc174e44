"""Token ids for a real engine: the log's own, or fixed random ones that share what it shares.

A log without token ids still says which prompts share what. Each of its block ids (or content
hashes) stands for one fixed block of pseudo-random tokens, so equal ids give equal tokens and
different ids different ones; what no id covers is the request's own.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_sim.prompt_size import prompt_size

_PROMPT, _TAIL, _OUTPUT, _FILLER = 1, 2, 3, 4  # what a seed is for: streams that never meet


class PromptMaker:
    """Makes prompts and forced outputs of requests, with ids in [0, `vocabulary`).

    The log's own ids must lie there too, unless `known_ids_as_they_are`: only a server itself knows
    how many it has.
    """

    def __init__(self, vocabulary: int, *, known_ids_as_they_are: bool = False) -> None:
        if vocabulary < 2:
            raise BadInput(f"the engine's vocabulary has {vocabulary} tokens, expected at least 2")
        self.vocabulary = vocabulary
        self._as_they_are = known_ids_as_they_are

    def prompt(self, request: Request, index: int) -> list[int]:
        """The prompt's token ids, as many as `simulate` counts. BadInput if its content is unknown.

        `index` is the request's place in the log: what makes its own tokens its own.
        """
        size = prompt_size(request)
        if size is None or size < 1:
            shown = "unknown" if size is None else size
            raise BadInput(
                f"request {request.request_id}: prompt_tokens is {shown}, expected at least 1"
            )
        if request.token_ids is not None and len(request.token_ids) == size:
            return self._inside(request.token_ids, request.request_id)
        parts = self._shared(request)
        if parts is None:
            raise BadInput(
                f"request {request.request_id}: has no token ids, token blocks or content blocks, "
                "expected a log that knows which prompts share what"
            )
        known = sum(len(part) for part in parts)
        if known < size:
            parts.append(self._tokens(_TAIL, index, size - known))
        return [int(token) for token in np.concatenate(parts)[:size]]

    def output(self, request: Request, index: int) -> list[int]:
        """The tokens that the engine is made to put out; one where their number is unknown."""
        tokens = request.output_token_ids
        if tokens is not None and len(tokens):
            return self._inside(tokens, request.request_id)
        count = request.output_tokens or 1
        return [int(token) for token in self._tokens(_OUTPUT, index, count)]

    def filler(self, number: int, count: int) -> list[int]:
        """Tokens that no request of any log shares, for requests that are not of the log."""
        return [int(token) for token in self._tokens(_FILLER, number, count)]

    def _shared(self, request: Request) -> list[npt.NDArray[np.int64]] | None:
        """The tokens that other requests may share, block by block."""
        blocks, size = request.token_blocks, request.token_block_size
        if blocks is not None and size:
            return [self._tokens(_PROMPT, int(block), size) for block in blocks]
        if request.blocks is not None:
            return [self._tokens(_PROMPT, block.hash, block.tokens) for block in request.blocks]
        return None

    def _tokens(self, what: int, seed: int, count: int) -> npt.NDArray[np.int64]:
        bits = np.random.PCG64([what, seed & (2**64 - 1)])
        return np.random.Generator(bits).integers(0, self.vocabulary, count, dtype=np.int64)

    def _inside(self, tokens: Sequence[int] | npt.NDArray[np.int32], name: str) -> list[int]:
        found = [int(token) for token in tokens]
        if found and max(found) >= self.vocabulary and not self._as_they_are:
            raise BadInput(
                f"request {name}: token id {max(found)}, the engine's vocabulary has "
                f"{self.vocabulary:,} tokens; expected a model with a larger one"
            )
        return found
