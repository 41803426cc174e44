"""A scenario as the controls hold it, and as the text of `--change`."""

from dataclasses import dataclass, fields

from cachecast_pricing.rules.settings import MARK_POLICIES, TTL_US
from cachecast_sim.optimize.policy import MOST_PINGS, PING_EVERY_S

PINGS_EVERY_S = tuple(sorted(every for times in PING_EVERY_S.values() for every in times))
PING_TIMES = tuple(range(1, MOST_PINGS + 1))
VOLATILE = ("drop", "move")
ORDERS = ("stable", "tools", "keys")
_PAYING = ":paying"
_MOST_STEPS = 8


@dataclass(frozen=True, slots=True)
class Draft:
    """What the controls ask for; None and False leave the log as it is.

    `every_s` and `times` are keep-alive pings, `more` other changes as `--change` takes them.
    `fleet` are own servers as `fleets.Fleet.text` writes them; beside one nothing else counts.
    """

    model: str | None = None
    ttl: str | None = None
    mark: str | None = None
    volatile: str | None = None
    order: str | None = None
    summary: bool = False
    batch: bool = False
    more: str = ""
    every_s: int | None = None
    times: int = 1
    paying: bool = False
    fleet: str | None = None

    @property
    def text(self) -> str:
        """The scenario as `--change` takes it; empty for the log as it is.

        Pings come last: they repeat the prompts that the other changes made.
        """
        if self.fleet is not None:
            return f"fleet={self.fleet}"
        values = (
            ("model", self.model), ("ttl", self.ttl), ("mark", self.mark),
            ("volatile", self.volatile), ("order", self.order),
            ("summary", "last" if self.summary else None), ("batch", "on" if self.batch else None),
        )  # fmt: skip
        parts = [f"{name}={value}" for name, value in values if value is not None]
        parts += [part.strip() for part in self.more.split(",") if part.strip()]
        if self.every_s is not None:
            paying = _PAYING if self.paying else ""
            parts.append(f"keep-alive={self.every_s}x{self.times}{paying}")
        return ",".join(parts)

    @property
    def steps(self) -> list[str]:
        """The scenarios on the way to this one: its first change, its first two, … all of them.

        Of more changes than a person makes (an address may name any number) only the last.
        """
        parts = self.text.split(",") if self.text else []
        if len(parts) > _MOST_STEPS:
            return [self.text]
        return [",".join(parts[:count]) for count in range(1, len(parts) + 1)]


def draft_of(text: str) -> Draft:
    """The text read back; what no control shows is left in `more`, in its order."""
    found: dict[str, object] = {}
    more = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (piece.strip() for piece in part.partition("="))
        fitting = _fields(name, value)
        if fitting and not set(fitting) & set(found):
            found |= fitting
        else:
            more.append(part)
    if "fleet" in found and (more or len(found) > 1):
        more.append(f"fleet={found.pop('fleet')}")  # stands alone: asking says so
    return Draft(**found, more=",".join(more))  # type: ignore[arg-type]


def _fields(name: str, value: str) -> dict[str, object]:
    """The fields of one change; none if the controls cannot show it."""
    if name in ("model", "mark", "fleet") and value:
        return {name: value}
    if (name, value) in _SHOWN:
        return {name: value}
    if (name, value) == ("summary", "last") or (name == "batch" and value in ("", "on")):
        return {name: True}
    return _pings(value) if name == "keep-alive" else {}


_SHOWN = {
    *(("ttl", ttl) for ttl in TTL_US),
    *(("volatile", way) for way in VOLATILE),
    *(("order", way) for way in ORDERS),
}


def _pings(value: str) -> dict[str, object]:
    timing, colon, mode = value.partition(":")
    every, _, times = timing.partition("x")
    times = times or "1"
    if colon + mode not in ("", _PAYING):
        return {}
    if every not in map(str, PINGS_EVERY_S) or times not in map(str, PING_TIMES):
        return {}
    return {"every_s": int(every), "times": int(times), "paying": bool(mode)}


FIELDS = tuple(field.name for field in fields(Draft))
MARKS = MARK_POLICIES
