"""What the server needs from outside: jobs to serve and the durations of its steps."""

from collections.abc import Callable, Sequence
from typing import Protocol


class Job(Protocol):
    """A request on its way through a server; the second group is what the server fills in.

    `page_ids` names the whole pages of prompt and output in order; equal ids after equal prefixes
    are equal tokens. The first `known_pages` of them are used; a whole page beyond them holds
    output that the log does not show, and nobody else can share it. Ids are in [0, 2^63): a caller
    with 64-bit hashes numbers them, and gives separate scopes separate ids.
    """

    request_id: str
    index: int
    arrival_ns: int
    prompt_tokens: int
    output_tokens: int
    page_ids: Sequence[int]
    known_pages: int

    hit_tokens: int | None
    readmission_hit_tokens: list[int]
    preemptions: int
    scheduled_ns: int | None
    first_token_ns: int | None
    end_ns: int | None
    reason: str | None


class StepTimes(Protocol):
    """A latency model, as far as this server asks it; all in ns."""

    def step_ns(
        self,
        prefill_tokens: int,
        prefill_requests: int,
        prefill_context: int,
        decode_requests: int,
        decode_context: int,
        /,
    ) -> int:
        """Duration of a step that runs now. `prefill_context`: attention pairs of the new tokens."""
        ...

    def decode_ends_ns(self, requests: int, context: int, steps: int, /) -> Sequence[int]:
        """Ends of the next `steps` decode steps of the same requests, relative to now.

        `context` is the sum of their lengths before the first step, prompt and all output so far.
        """
        ...

    def taken(self, steps: int, /) -> None:
        """So many of the steps of the latest `decode_ends_ns` have run."""
        ...


OnFinish = Callable[[Job, int], None]
