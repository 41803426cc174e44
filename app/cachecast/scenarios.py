"""`--as MODEL[,key=value]…` read into scenarios."""

from collections.abc import Sequence

from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog import Catalog
from cachecast_pricing.model_ids import is_regional
from cachecast_sim.scenario import Scenario
from cachecast_sim.scenario_keys import KNOWN_KEYS, SCENARIO_KEYS, with_scenario_key

__all__ = ["SCENARIO_KEYS", "scenario_of", "scenarios_of"]


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
    scenario = Scenario(name=text, model=ref, regional=True if is_regional(model) else None)
    seen: set[str] = set()
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals:
            known = ", ".join(KNOWN_KEYS)
            raise BadInput(f"--as {text}: {pair!r} is not key=value; known keys: {known}")
        if key in seen:
            raise BadInput(f"--as {text}: {key} is given twice")
        seen.add(key)
        scenario = with_scenario_key(scenario, key, value, f"--as {text}")
    return scenario
