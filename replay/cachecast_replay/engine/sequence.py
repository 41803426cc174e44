"""One request while the engine runs it."""

from array import array
from collections.abc import Sequence as Tokens

from cachecast_replay.engine.errors import EngineError

MOST_TOKEN_ID = 2**31 - 1


class Sequence:
    """The tokens of one request, how far they are computed, and the blocks that hold them.

    It has no phase: every step brings `computed` closer to `len(tokens)`, and a step that closes
    the gap yields the next token.
    """

    __slots__ = (
        "blocks", "computed", "forced", "hashes", "hit_tokens", "output_len", "preemptions",
        "prompt_tokens", "request_id", "resume_hits", "tokens",
    )  # fmt: skip

    def __init__(
        self,
        request_id: str,
        prompt: Tokens[int],
        output_len: int,
        forced: Tokens[int] | None = None,
    ) -> None:
        """`forced`: the `output_len` tokens to put out; None = greedy. Raises EngineError."""
        if not len(prompt):
            raise EngineError(f"request {request_id}: an empty prompt, expected 1 token or more")
        if output_len < 1:
            raise EngineError(f"request {request_id}: output_len is {output_len}, expected >= 1")
        if forced is not None and len(forced) != output_len:
            raise EngineError(
                f"request {request_id}: {len(forced)} forced tokens for output_len {output_len}"
            )
        self.request_id = request_id
        self.prompt_tokens = len(prompt)
        self.output_len = output_len
        self.tokens = _ids(request_id, prompt)
        self.forced = None if forced is None else _ids(request_id, forced)
        self.computed = 0
        self.blocks: list[int] = []
        self.hashes: list[int] = []  # of the full blocks of `tokens`
        self.hit_tokens: int | None = None  # of the first admission
        self.resume_hits: list[int] = []  # of each readmission after a preemption
        self.preemptions = 0

    @property
    def output_token_ids(self) -> list[int]:
        """What it has put out so far."""
        return self.tokens[self.prompt_tokens :].tolist()

    @property
    def next_forced(self) -> int | None:
        """The token to put out next; None if the model's own choice is wanted."""
        return None if self.forced is None else self.forced[len(self.tokens) - self.prompt_tokens]

    @property
    def is_finished(self) -> bool:
        """Whether all its output tokens are there (the last one's K and V never are)."""
        return len(self.tokens) == self.prompt_tokens + self.output_len

    @property
    def most_tokens(self) -> int:
        """Tokens whose K and V it holds at its end: all but the last output token."""
        return self.prompt_tokens + self.output_len - 1


def _ids(request_id: str, ids: Tokens[int]) -> "array[int]":
    worst = min(ids) if min(ids) < 0 else max(ids)
    if not 0 <= worst <= MOST_TOKEN_ID:
        raise EngineError(
            f"request {request_id}: token id {worst}, expected 0 to {MOST_TOKEN_ID:,}"
        )
    return array("i", ids)
