"""What is set on an SGLang server."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal


@dataclass(frozen=True, slots=True)
class NewTokenRatio:
    """How much of the output still to come is set aside for each running request at admission.

    SGLang's heuristic: it starts at `first`, falls by an equal amount each decode step to `least`
    within `steps` steps, and is estimated anew at each preemption. The defaults are those of 0.5.23
    (`environ.py`: 0.7, 0.14 of it, 600). `NewTokenRatio.all_of_it()` sets everything aside, as
    SGLang does for requests that ignore the end-of-sequence token.
    """

    first: Fraction = Fraction(7, 10)
    least: Fraction = Fraction(98, 1000)
    steps: int = 600

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.first <= 1 or self.steps < 1:
            raise ValueError(
                f"new token ratio from {self.first} to {self.least} in {self.steps} steps:"
                " expected 0 <= least <= first <= 1 and steps >= 1"
            )

    @classmethod
    def all_of_it(cls) -> "NewTokenRatio":
        """No guess: the whole output of every running request is set aside."""
        return cls(first=Fraction(1), least=Fraction(1), steps=1)

    @property
    def fall(self) -> Fraction:
        """What one decode step takes off the ratio."""
        return (self.first - self.least) / self.steps


@dataclass(frozen=True, slots=True)
class SglangSettings:
    """One SGLang server. Raises ValueError where nothing could ever run.

    tokens: what its KV memory holds, cut to whole pages; there is no null page.
    page_tokens: `page_size`. max_batch_tokens: new prompt tokens in a prefill step, SGLang's
    `chunked_prefill_size` and `max_prefill_tokens` in one. max_seqs: `max_running_requests`.
    admission "sequential": a request starts when the one before has ended.
    """

    tokens: int
    page_tokens: int = 1
    max_batch_tokens: int = 8192
    max_seqs: int = 256
    admission: Literal["concurrent", "sequential"] = "concurrent"
    new_token_ratio: NewTokenRatio = field(default_factory=NewTokenRatio)

    def __post_init__(self) -> None:
        for name in ("page_tokens", "max_seqs"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected >= 1")
        for name in ("tokens", "max_batch_tokens"):
            if getattr(self, name) < self.page_tokens:
                raise ValueError(
                    f"{name} is {getattr(self, name)}, expected at least one page of"
                    f" {self.page_tokens} tokens"
                )

    @property
    def pages(self) -> int:
        """Whole pages in the memory."""
        return self.tokens // self.page_tokens

    @property
    def most_running(self) -> int:
        """How many requests may hold pages at a time."""
        return 1 if self.admission == "sequential" else self.max_seqs
