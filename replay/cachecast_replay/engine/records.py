"""What the engine tells its caller: one record a step, one result a request."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class StepPart:
    """One request's share of a step: `new_tokens` behind `context_tokens` that were there."""

    request_id: str
    context_tokens: int
    new_tokens: int
    phase: Literal["prefill", "decode"]


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What one step did. How long it took is the caller's to measure: the caller owns the clock."""

    parts: tuple[StepPart, ...]  # in running order
    admitted: tuple[str, ...]  # request ids, readmissions included
    preempted: tuple[str, ...]
    yielded: tuple[tuple[str, int], ...]  # (request id, token id) at the end of the step
    finished: tuple[str, ...]
    held_tokens: int  # of the blocks that its requests hold, a shared block once

    @property
    def scheduled_tokens(self) -> int:
        """New tokens over all parts."""
        return sum(part.new_tokens for part in self.parts)

    @property
    def context_tokens(self) -> int:
        """Tokens before the new ones, over all parts."""
        return sum(part.context_tokens for part in self.parts)

    @property
    def prefill_requests(self) -> int:
        """Parts that compute prompt tokens, or any again after a preemption."""
        return sum(part.phase == "prefill" for part in self.parts)

    @property
    def decode_requests(self) -> int:
        """Parts that compute the one token put out last."""
        return len(self.parts) - self.prefill_requests


@dataclass(frozen=True, slots=True)
class RequestResult:
    """A request at its end. `hit_tokens` is of the first admission, None if it was rejected."""

    request_id: str
    status: Literal["completed", "rejected"]
    prompt_tokens: int
    hit_tokens: int | None
    resume_hits: tuple[int, ...]  # hit tokens of each readmission
    preemptions: int
    output_token_ids: tuple[int, ...]
