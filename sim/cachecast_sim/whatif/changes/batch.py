"""Everything by the batch API: `batch=on`."""

from collections.abc import Iterator
from dataclasses import replace

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_pricing.catalog import Catalog
from cachecast_sim.scenario import Scenario
from cachecast_sim.whatif.change import Change, ChangedLog


class Batch(Change):
    """Batch prices, at the log's own times."""

    needs = "counts"
    keeps_turns = True

    def scenario(self, scenario: Scenario) -> Scenario:
        """The scenario at batch prices."""
        return replace(scenario, tier="batch")

    def log(self, log: ChangedLog) -> ChangedLog:
        """The log as batch requests."""
        return replace(log, requests=_batched(log))

    def assumptions(self) -> list[str]:
        """Batches promise no hits (Anthropic, 2026-08-22)."""
        return [
            "batch requests are processed at the log's own times; a batch promises no hits "
            "(Anthropic quotes 30 % to 98 %, 2026-08-22), so the reads are an upper bound"
        ]


def _batched(log: ChangedLog) -> Iterator[Request]:
    for request in log.requests:
        yield replace(request, is_batch=True)


def make(text: str, value: str, catalog: Catalog) -> Change:
    """`batch=on`, or just `batch`."""
    if value not in ("", "on"):
        raise BadInput(f"--change {text}: expected batch=on")
    return Batch(text)
