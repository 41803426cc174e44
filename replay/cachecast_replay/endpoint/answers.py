"""What a server did with each request, and the totals of that."""

from array import array
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Answer:
    """One request as the client saw it; None is unknown. Times in nanoseconds of the log's clock.

    `prompt_tokens`, `output_tokens` and `hit_tokens` are the server's counts (the prompt's our own
    where ids were sent and the server does not count); `sent_ids` is how many ids were sent, None
    for text. `sent_ns` is the first try, `retries` the
    tries after it; the arrival stays the log's, so waiting for a free slot or another try counts
    in the TTFT. `error` says why there is no answer.
    """

    request_id: str
    index: int
    session_id: str | None
    arrival_ns: int
    asked_tokens: int
    sent_ns: int
    retries: int
    sent_ids: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    hit_tokens: int | None = None
    first_token_ns: int | None = None
    end_ns: int | None = None
    finish: str | None = None
    error: str | None = None

    @property
    def stopped_early(self) -> bool:
        """Whether the answer is shorter than it was asked to be."""
        if self.error is not None:
            return False
        if self.output_tokens is None:
            return self.finish == "stop"
        return self.output_tokens < self.asked_tokens


@dataclass(slots=True)
class AnswerTotals:
    """Sums over answers. The hit ratio is over requests whose cached tokens are known."""

    requests: int = 0
    completed: int = 0
    failed: int = 0
    retries: int = 0
    retried_requests: int = 0
    stopped_early: int = 0
    recounted: int = 0  # prompts of which the server counts more or fewer tokens than were sent
    prompt_tokens: int = 0
    output_tokens: int = 0
    unknown_hits: int = 0
    hit_tokens: int = 0
    known_prompt_tokens: int = 0
    first_error: str | None = None
    first_arrival_ns: int | None = None
    last_end_ns: int | None = None
    delay_ns: "array[int]" = field(default_factory=lambda: array("q"))  # arrival to first try
    ttft_ns: "array[int]" = field(default_factory=lambda: array("q"))
    e2e_ns: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, answer: Answer) -> None:
        """One more request that has ended, well or not."""
        self.requests += 1
        self.retries += answer.retries
        self.retried_requests += answer.retries > 0
        if self.first_arrival_ns is None or answer.arrival_ns < self.first_arrival_ns:
            self.first_arrival_ns = answer.arrival_ns
        if answer.error is not None or answer.first_token_ns is None or answer.end_ns is None:
            self.failed += 1
            self.first_error = self.first_error or answer.error
            return
        self.completed += 1
        self.stopped_early += answer.stopped_early
        self.recounted += answer.sent_ids not in (None, answer.prompt_tokens)
        self.prompt_tokens += answer.prompt_tokens or 0
        self.output_tokens += answer.output_tokens or 0
        if answer.hit_tokens is None or answer.prompt_tokens is None:
            self.unknown_hits += 1
        else:
            self.hit_tokens += answer.hit_tokens
            self.known_prompt_tokens += answer.prompt_tokens
        self.delay_ns.append(answer.sent_ns - answer.arrival_ns)
        self.ttft_ns.append(answer.first_token_ns - answer.arrival_ns)
        self.e2e_ns.append(answer.end_ns - answer.arrival_ns)
        self.last_end_ns = max(answer.end_ns, self.last_end_ns or answer.end_ns)

    @property
    def token_hit_ratio(self) -> float | None:
        return self.hit_tokens / self.known_prompt_tokens if self.known_prompt_tokens else None

    @property
    def makespan_s(self) -> float:
        """From the first arrival to the last end."""
        if self.first_arrival_ns is None or self.last_end_ns is None:
            return 0.0
        return (self.last_end_ns - self.first_arrival_ns) / 1e9
