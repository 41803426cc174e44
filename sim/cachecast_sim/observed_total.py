"""The sums of what a log reported beside the sums of what was predicted for the same requests."""

from dataclasses import dataclass, field

from cachecast_datasets.request import Observed
from cachecast_pricing.usage import CLASSES, Usage


@dataclass(slots=True)
class ObservedTotal:
    """What the log reported, and what was predicted for the same requests.

    A class is None once any of the requests does not tell it.
    """

    requests: int = 0
    observed: dict[str, int | None] = field(default_factory=lambda: dict.fromkeys(CLASSES, 0))
    predicted: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CLASSES, 0))

    def add(self, observed: Observed, usage: Usage) -> None:
        """One request that carries observed usage."""
        self.requests += 1
        for name in CLASSES:
            self.predicted[name] += getattr(usage, name)
            seen, so_far = getattr(observed, name), self.observed[name]
            self.observed[name] = None if seen is None or so_far is None else so_far + seen

    def difference(self) -> dict[str, int | None]:
        """Predicted minus observed, by class; None where it is unknown."""
        return {
            name: None if seen is None else self.predicted[name] - seen
            for name, seen in self.observed.items()
        }
