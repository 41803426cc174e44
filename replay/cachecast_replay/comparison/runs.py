"""What a comparison needs of a run: its requests and its steps, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Requests:
    """The completed requests of a run, in log order; times in nanoseconds.

    Counts are NaN, and readmissions None, where they are unknown: a server behind a socket says
    little. `itl_ns` is a request's mean time between tokens, NaN where it has a single one.
    """

    ids: Sequence[str]
    prompt_tokens: Floats
    output_tokens: Floats
    hit_tokens: Floats
    readmission_hit_tokens: Sequence[tuple[int, ...] | None]
    preemptions: Floats
    arrival_ns: Ints
    first_token_ns: Ints
    end_ns: Ints

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def ttft_ns(self) -> Floats:
        return (self.first_token_ns - self.arrival_ns).astype(np.float64)

    @property
    def e2e_ns(self) -> Floats:
        return (self.end_ns - self.arrival_ns).astype(np.float64)

    @property
    def itl_ns(self) -> Floats:
        gaps = self.output_tokens - 1
        spans = (self.end_ns - self.first_token_ns).astype(np.float64)
        found: Floats = np.divide(spans, gaps, out=np.full(len(gaps), np.nan), where=gaps > 0)
        return found

    def only(self, ids: Sequence[str]) -> "Requests":
        """The same for these ids, in their order; all must be there."""
        place = {name: number for number, name in enumerate(self.ids)}
        at = np.array([place[name] for name in ids], dtype=np.int64)
        return Requests(
            list(ids), self.prompt_tokens[at], self.output_tokens[at], self.hit_tokens[at],
            [self.readmission_hit_tokens[n] for n in at], self.preemptions[at],
            self.arrival_ns[at], self.first_token_ns[at], self.end_ns[at],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a run in order: when they began, how long the clock said they took, and what
    they computed: (steps, 6) prefill tokens, requests and pairs, decode requests and context, and
    the tokens that they held. `raw_ns` is how long they took by the wall, None where nothing was
    measured."""

    start_ns: Ints
    duration_ns: Ints
    work: Ints
    raw_ns: Ints | None = None

    def __len__(self) -> int:
        return len(self.start_ns)
