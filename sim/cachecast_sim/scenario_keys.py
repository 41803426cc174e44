"""Every key of a scenario, `key=value` as in `--as`, applied to it."""

from dataclasses import replace
from datetime import date

from cachecast_datasets.errors import BadInput
from cachecast_pricing.moments import When, parse_when
from cachecast_pricing.rates import SERVICE_TIERS
from cachecast_pricing.rules.settings import RULE_KEYS, with_key
from cachecast_sim.scenario import Scenario

SCENARIO_KEYS: tuple[str, ...] = ("on", "tier", "currency", "regional", "name")
KNOWN_KEYS: tuple[str, ...] = (*RULE_KEYS, *SCENARIO_KEYS)


def with_scenario_key(scenario: Scenario, key: str, value: str, where: str) -> Scenario:
    """The scenario with one key set; BadInput names `where` it was written."""
    if key == "on":
        return replace(scenario, on=_when(value, where))
    if key == "tier":
        if value not in SERVICE_TIERS:
            raise BadInput(f"tier={value}: expected one of {', '.join(SERVICE_TIERS)}")
        return replace(scenario, tier=value)
    if key == "currency":
        return replace(scenario, currency=value.upper())
    if key == "regional":
        if value not in ("on", "off"):
            raise BadInput(f"regional={value}: expected on or off")
        return replace(scenario, regional=value == "on")
    if key == "name":
        if not value:
            raise BadInput(f"{where}: name= is empty")
        return replace(scenario, name=value)
    if key not in RULE_KEYS:
        raise BadInput(f"{where}: unknown key {key!r}; known keys: {', '.join(KNOWN_KEYS)}")
    return replace(scenario, settings=with_key(scenario.settings, key, value))


def _when(value: str, where: str) -> When:
    try:
        return parse_when(value, date.min)
    except BadInput as problem:
        raise BadInput(f"{where}: {problem}") from None
