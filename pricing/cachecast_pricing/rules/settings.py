"""The settings of one scenario's cache rules: design §10's keys of `--as`, parsed strictly."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from cachecast_datasets.errors import BadInput
from cachecast_pricing.rules.places import places_of

SECOND_US = 1_000_000
TTL_US: dict[str, int] = {
    "5m": 300 * SECOND_US,
    "30m": 1_800 * SECOND_US,
    "1h": 3_600 * SECOND_US,
    "12h": 43_200 * SECOND_US,
}
OWN_TTL = "own"  # each marker's own lifetime
_MOST_DIGITS = 18  # what 64 bits hold
MARK_POLICIES: tuple[str, ...] = ("log", "auto", "last", "system+last", "none", "translate")


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """Named answers to what sources leave open or dispute, with the documented defaults.

    `mark=None` lets the log decide: `log` where its source can carry markers, else `auto`.
    `first_token_s=None` estimates the first token (design §3). `upgrade`: a 1h marker that reads a
    5m entry makes it a 1h entry. `group_tools`: a run of tool_use or of tool_result blocks is one
    look-back position. `lookup`: OpenAI's list of looked-up breakpoints, as (first, latest).
    `hidden` / `tail`: OpenAI's uncounted first and never cached last tokens. `interval`, `unit`:
    DeepSeek's interval units and its 2024 storage unit, in tokens. `overflow`: requests a minute
    and key beyond which OpenAI moves on to another machine.
    """

    ttl: str | None = None
    mark: str | None = None
    first_token_s: float | None = None
    grace_s: float = 0.0
    lookback: int = 20
    group_tools: bool = True
    lookup: tuple[int, int] = (2, 50)
    upgrade: bool = False
    tool_choice: bool = True
    hidden: int = 0
    tail: int = 0
    interval: int | None = None
    unit: int | None = None
    output_units: bool = True
    build_delay_s: float = 2.0
    overflow: int | None = None

    @property
    def grace_us(self) -> int:
        """Life beyond the promised minimum, in microseconds."""
        return round(self.grace_s * SECOND_US)

    @property
    def build_delay_us(self) -> int:
        """How long DeepSeek takes to make a unit readable, in microseconds."""
        return round(self.build_delay_s * SECOND_US)


def _on_off(key: str, text: str) -> bool:
    if text not in ("on", "off"):
        raise BadInput(f"{key}={text}: expected on or off")
    return text == "on"


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


def _count(key: str, text: str, least: int = 0) -> int:
    if not _is_count(text) or int(text) < least:
        raise BadInput(f"{key}={text[:40]}: expected a whole number of at least {least}")
    return int(text)


def _off_or_count(key: str, text: str) -> int | None:
    if text == "off":
        return None
    if not _is_count(text) or int(text) < 1:
        raise BadInput(f"{key}={text[:40]}: expected off or a whole number of at least 1")
    return int(text)


def _seconds(key: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e10:  # also refuses nan
        raise BadInput(f"{key}={text}: expected seconds, 0 or more")
    return value


def _choice(key: str, text: str, known: tuple[str, ...]) -> str:
    if text not in known:
        raise BadInput(f"{key}={text}: expected one of {', '.join(known)}")
    return text


def _ttl(key: str, text: str) -> str | None:
    """A lifetime of all markers; `own` takes one back that was set before."""
    found = _choice(key, text, (*TTL_US, OWN_TTL))
    return None if found == OWN_TTL else found


def _mark(key: str, text: str) -> str:
    """A named policy, or places with lifetimes (`tools:1h+end:5m`)."""
    return text if places_of(text) else _choice(key, text, MARK_POLICIES)


def _lookup(key: str, text: str) -> tuple[int, int]:
    known = {"2+50": (2, 50), "50": (0, 50), "80": (0, 80)}
    return known[_choice(key, text, tuple(known))]


# key of --as -> (field, parser); the scenario's own keys (on, tier, currency, name) are not rules
_PARSERS: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "ttl": ("ttl", _ttl),
    "mark": ("mark", _mark),
    "first_token": ("first_token_s", _seconds),
    "grace": ("grace_s", _seconds),
    "lookback": ("lookback", lambda k, v: _count(k, v, 1)),
    "group_tools": ("group_tools", _on_off),
    "lookup": ("lookup", _lookup),
    "upgrade": ("upgrade", _on_off),
    "tool_choice": ("tool_choice", _on_off),
    "hidden": ("hidden", _count),
    "tail": ("tail", _count),
    "interval": ("interval", _off_or_count),
    "unit": ("unit", _off_or_count),
    "output_units": ("output_units", _on_off),
    "build_delay": ("build_delay_s", _seconds),
    "overflow": ("overflow", _off_or_count),
}
RULE_KEYS: tuple[str, ...] = tuple(_PARSERS)


def with_key(settings: RuleSettings, key: str, text: str) -> RuleSettings:
    """`settings` with one `key=text` of `--as` applied; BadInput for a bad value or unknown key."""
    if key not in _PARSERS:
        raise BadInput(f"unknown key {key!r} in --as; known: {', '.join(RULE_KEYS)}")
    field_name, parse = _PARSERS[key]
    change: dict[str, Any] = {field_name: parse(key, text)}
    return replace(settings, **change)


# which families a key concerns; the others take no notice of it
CONCERNS: dict[str, tuple[str, ...]] = {
    "ttl": ("marked", "written"),
    "mark": ("marked", "written", "interval"),
    "lookback": ("marked",),
    "group_tools": ("marked",),
    "lookup": ("written",),
    "upgrade": ("marked",),
    "tool_choice": ("marked",),
    "hidden": ("interval",),
    "tail": ("written",),
    "interval": ("units",),
    "unit": ("units",),
    "output_units": ("units",),
    "build_delay": ("units",),
    "overflow": ("written",),
}


def without_effect(settings: RuleSettings, family: str) -> list[str]:
    """Keys of `--as` that were changed and that this family takes no notice of."""
    default = RuleSettings()
    return [
        key
        for key, (field_name, _) in _PARSERS.items()
        if getattr(settings, field_name) != getattr(default, field_name)
        and family not in CONCERNS.get(key, (family,))
    ]
