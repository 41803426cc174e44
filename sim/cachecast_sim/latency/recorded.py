"""`recorded`: the durations of a replay's own steps, one after the other."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from cachecast_datasets.errors import BadInput
from cachecast_sim.latency.fields import text
from cachecast_sim.latency.files import LatencyFiles
from cachecast_sim.latency.model import LatencyModel

FIELDS = {"file": "the run folder of the replay whose step durations are used, in order"}


class RecordedModel(LatencyModel):
    """Hands out the next duration, whatever the step computes.

    Driven by it, simulator and engine must agree on every request: durations alone determine the
    schedule. `place` names the run in messages.
    """

    __slots__ = ("_durations_ns", "_place", "_taken")

    def __init__(self, durations_ns: Sequence[int], place: str) -> None:
        for number, duration in enumerate(durations_ns, 1):
            if duration < 1:
                raise BadInput(f"{place}: step {number} lasts {duration} ns, expected at least 1")
        self._durations_ns = durations_ns
        self._place = place
        self._taken = 0

    def step_ns(
        self, prefill_tokens: int, prefill_requests: int, prefill_context: int,
        decode_requests: int, decode_context: int,
    ) -> int:  # fmt: skip
        """The next duration, which is then used up; BadInput where there is none."""
        (duration,) = self._next(1)
        self._taken += 1
        return duration

    def decode_ends_ns(self, requests: int, context: int, steps: int) -> Sequence[int]:
        """Ends by the next durations, which `taken` uses up; BadInput where they do not suffice.

        Every recorded step computes at most one token of a request, so a stretch that this run
        also had is never longer than what is left.
        """
        return list(accumulate(self._next(steps)))

    def taken(self, steps: int) -> None:
        """Use up that many durations."""
        self._taken += steps

    def assumptions(self) -> tuple[str, ...]:
        """That durations were left over, which shows that it was not the same run."""
        left = len(self._durations_ns) - self._taken
        if not left:
            return ()
        return (f"{left} of {len(self._durations_ns)} recorded steps of {self._place} not used",)

    def _next(self, steps: int) -> Sequence[int]:
        found = self._durations_ns[self._taken : self._taken + steps]
        if len(found) < steps:
            raise BadInput(
                f"{self._place} has {len(self._durations_ns)} recorded steps, the simulation needs "
                f"at least {self._taken + steps}: log or fleet are not those of the replay"
            )
        return found


def recorded_model(table: Mapping[str, object], files: LatencyFiles) -> RecordedModel:
    """The durations of the run that `latency.file` names; BadInput if it has none."""
    place = text(table, "latency", "file")
    return RecordedModel(files.step_durations_ns(place), place)
