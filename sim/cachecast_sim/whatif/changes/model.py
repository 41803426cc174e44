"""Another model, of this provider or another: `model=gpt-6-sol`."""

from dataclasses import replace

from cachecast_pricing.catalog import Catalog
from cachecast_pricing.model_ids import ModelRef
from cachecast_sim.scenario import Scenario
from cachecast_sim.whatif.change import Change


class OtherModel(Change):
    """The same prompts under another model's rules and prices."""

    needs = "counts"
    keeps_turns = True

    def __init__(self, text: str, model: ModelRef) -> None:
        super().__init__(text)
        self.model = model

    def scenario(self, scenario: Scenario) -> Scenario:
        """The scenario under the model."""
        return replace(scenario, model=self.model)

    def assumptions(self) -> list[str]:
        """What a replay cannot know."""
        return [f"prompts and answers under {self.model.model} are as long as those of the log"]


def make(text: str, value: str, catalog: Catalog) -> Change:
    """A model as in `--as`; BadInput lists close names."""
    return OtherModel(text, catalog.resolve(value))
