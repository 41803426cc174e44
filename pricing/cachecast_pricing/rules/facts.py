"""What the sources say about each provider's rules, read from `models/<provider>.toml`."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

Level = Literal["tools", "system", "messages"]


class Minimum(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Shortest cached prefix in tokens: by model, and what is assumed for a model not listed."""

    default: int
    source: str
    models: dict[str, int]


class KeySetting(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A setting that is part of the key from `level` on; its `default` equals leaving it out."""

    name: str
    level: Level
    source: str
    default: str | None = None


class IntervalLife(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Idle seconds that an entry lives, by retention class."""

    extended: int
    in_memory: int


class IntervalExtended(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Models whose default retention is the 24h class."""

    models: list[str]


class Interval(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Breakpoint steps in tokens by model, lifetimes, and settings that do not isolate."""

    source: str
    not_in_key: list[str]
    steps: dict[str, int]
    life_s: IntervalLife
    extended: IntervalExtended


class Models(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Models that have a property, with the source that says so."""

    models: list[str]
    source: str


class Units(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Lifetime of a whole prefix unit, in seconds since its last use."""

    life_s: int
    source: str


class ProviderFacts(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One provider's cache rules as data."""

    provider: str
    family: str
    minimum: Minimum
    setting: list[KeySetting] = []
    interval: Interval | None = None
    units: Units | None = None
    twelve_hours: Models | None = None
    strips_thinking: Models | None = None

    def minimum_for(self, model: str) -> int:
        """Shortest cached prefix of `model`, in tokens."""
        return self.minimum.models.get(model, self.minimum.default)


@cache
def all_facts() -> dict[str, ProviderFacts]:
    """Every provider whose cache rules are known, by provider name."""
    folder = files("cachecast_pricing.rules") / "models"
    tables = [tomllib.loads(f.read_text()) for f in folder.iterdir() if f.name.endswith(".toml")]
    facts = [msgspec.convert(table, ProviderFacts) for table in tables]
    return {f.provider: f for f in sorted(facts, key=lambda f: f.provider)}
