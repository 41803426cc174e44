"""Any key of `--as` as a change: `mark=…`, `ttl=…`, `tier=batch`, `lookback=…`."""

from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog import Catalog
from cachecast_sim.scenario import Scenario
from cachecast_sim.scenario_keys import with_scenario_key
from cachecast_sim.whatif.change import Change


class ScenarioKey(Change):
    """One key of the scenario."""

    keeps_turns = True

    def __init__(self, text: str, key: str, value: str) -> None:
        super().__init__(text)
        self.key = key
        self.value = value
        self.needs = "counts" if key in ("tier", "on", "currency", "regional") else "prompts"

    def scenario(self, scenario: Scenario) -> Scenario:
        """The scenario with the key."""
        return with_scenario_key(scenario, self.key, self.value, f"--change {self.text}")


def make(text: str, value: str, catalog: Catalog) -> Change:
    """The key is what stands before the first `=`."""
    key = text.partition("=")[0]
    if not value:
        raise BadInput(f"--change {text}: expected {key}=VALUE, as in --as")
    return ScenarioKey(text, key, value)
