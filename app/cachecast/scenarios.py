"""`--as MODEL[,key=value]…` read into scenarios."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog import Catalog
from cachecast_pricing.moments import When, parse_when
from cachecast_pricing.rates import SERVICE_TIERS
from cachecast_pricing.rules.settings import RULE_KEYS, with_key
from cachecast_sim.scenario import Scenario

SCENARIO_KEYS: tuple[str, ...] = ("on", "tier", "currency", "name")


def scenarios_of(texts: Sequence[str], catalog: Catalog) -> list[Scenario]:
    """One scenario a text; `log` where none was given. Names are made unique."""
    found: list[Scenario] = []
    for text in texts or ("log",):
        scenario = scenario_of(text, catalog)
        same = [s for s in found if s.name == scenario.name]
        if same:
            raise BadInput(f"--as {text}: two scenarios are named {scenario.name!r}; add name=…")
        found.append(scenario)
    return found


def scenario_of(text: str, catalog: Catalog) -> Scenario:
    """The scenario of one `--as`; BadInput for an unknown model or key, or a bad value."""
    model, *pairs = text.split(",")
    ref = None if model.strip() == "log" else catalog.resolve(model.strip())
    scenario = Scenario(name=text, model=ref)
    seen: set[str] = set()
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals:
            raise BadInput(f"--as {text}: {pair!r} is not key=value; known keys: {_known()}")
        if key in seen:
            raise BadInput(f"--as {text}: {key} is given twice")
        seen.add(key)
        scenario = _with(scenario, key, value, text)
    return scenario


def _with(scenario: Scenario, key: str, value: str, text: str) -> Scenario:
    if key == "on":
        return replace(scenario, on=_when(value, text))
    if key == "tier":
        if value not in SERVICE_TIERS:
            raise BadInput(f"tier={value}: expected one of {', '.join(SERVICE_TIERS)}")
        return replace(scenario, tier=value)
    if key == "currency":
        return replace(scenario, currency=value.upper())
    if key == "name":
        if not value:
            raise BadInput(f"--as {text}: name= is empty")
        return replace(scenario, name=value)
    if key not in RULE_KEYS:
        raise BadInput(f"--as {text}: unknown key {key!r}; known keys: {_known()}")
    return replace(scenario, settings=with_key(scenario.settings, key, value))


def _known() -> str:
    return ", ".join((*RULE_KEYS, *SCENARIO_KEYS))


def _when(value: str, text: str) -> When:
    try:
        return parse_when(value, date.min)
    except BadInput as problem:
        raise BadInput(f"--as {text}: {problem}") from None
