"""The policy space: up to four marker places with a lifetime each, and keep-alive pings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

from cachecast_pricing.rules.markers import MOST_MARKERS
from cachecast_pricing.rules.places import EVERY, PLACES, Place

# Steps of the everyN places: content blocks, and token blocks where a log has no others.
BLOCK_STEPS = (40, 20, 10)
TOKEN_BLOCK_STEPS = (256, 64, 16)
# Seconds between pings that keep each lifetime alive, and how many are sent at most.
PING_EVERY_S: dict[str, tuple[int, ...]] = {"5m": (240, 290), "1h": (3_300,)}
MOST_PINGS = 6


class Pings(NamedTuple):
    """A conversation's last prompt again, until its next request comes."""

    every_s: int
    times: int


@dataclass(frozen=True, slots=True)
class Policy:
    """What every request of a log does. No places: nothing is cached."""

    places: tuple[Place, ...]
    pings: Pings | None = None

    @property
    def mark(self) -> str:
        """The `mark=` value of a scenario that does the same."""
        return "+".join(f"{place.name}:{place.ttl}" for place in self.places) or "none"

    @property
    def change(self) -> str | None:
        """The `--change keep-alive=` value for its pings."""
        return None if self.pings is None else f"{self.pings.every_s}x{self.pings.times}"

    def instructions(self) -> list[str]:
        """What a person has to do, a sentence each."""
        if not self.places:
            return ["put no marker anywhere: caching costs more than it saves here"]
        found = [f"put a {place.ttl} marker {where(place)}" for place in self.places]
        if self.pings is not None:
            times = "once" if self.pings.times == 1 else f"up to {self.pings.times} times"
            found.append(
                f"send a conversation's last prompt again every {self.pings.every_s} s, {times}, "
                "until its next request (1 output token)"
            )
        return found


def where(place: Place) -> str:
    """The place in words."""
    if place.step is None:
        return PLACES[place.name]
    unit = "token block" if place.step in TOKEN_BLOCK_STEPS else "block"
    return f"on the latest {unit} whose number is a multiple of {place.step}"


def place_names(steps: Sequence[int]) -> tuple[str, ...]:
    """The places in the order in which they stand in a usual prompt."""
    front = ("tools", "system", "first_user")
    return (*front, *(f"{EVERY}{step}" for step in steps), "previous", "end")


def candidates(names: Sequence[str]) -> list[Policy]:
    """Every policy over these places (in the order of `place_names`), the simplest first."""
    policies = [Policy(())]
    for count in range(1, MOST_MARKERS + 1):
        for chosen in combinations(names, count):
            policies += [Policy(places) for places in _with_lives(chosen)]
    pinged = [Policy(p.places, pings) for p in policies for pings in _pings(p)]
    return policies + pinged


def _with_lives(names: Sequence[str]) -> Iterator[tuple[Place, ...]]:
    """5m or 1h each; a 5m marker never stands before a 1h one where their order is known."""
    for lives in product(("5m", "1h"), repeat=len(names)):
        pairs = combinations(zip(names, lives, strict=True), 2)
        if all(_fits(before, after) for before, after in pairs):
            yield tuple(
                Place(name, ttl, step_of(name)) for name, ttl in zip(names, lives, strict=True)
            )


def _fits(before: tuple[str, str], after: tuple[str, str]) -> bool:
    if before[0].startswith(EVERY) and after[0] == "previous":
        return True  # either may stand first
    return (before[1], after[1]) != ("5m", "1h")


def step_of(name: str) -> int | None:
    """The step of an everyN place."""
    return int(name.removeprefix(EVERY)) if name.startswith(EVERY) else None


def _pings(policy: Policy) -> Iterator[Pings]:
    for ttl, every in PING_EVERY_S.items():
        if any(place.ttl == ttl for place in policy.places):
            for every_s in every:
                for times in range(1, MOST_PINGS + 1):
                    yield Pings(every_s, times)
