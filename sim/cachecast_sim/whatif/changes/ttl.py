"""The lifetime of markers: `ttl=1h` for all, `ttl=1h/5m` for the first and the others."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import ContentBlock, Request
from cachecast_pricing.catalog import Catalog
from cachecast_pricing.rules.markers import ANTHROPIC_MARKERS
from cachecast_sim.whatif.change import Change, ChangedLog
from cachecast_sim.whatif.changes import scenario_key


class MarkerLives(Change):
    """Each request's markers in order get these lifetimes; the last one serves the rest."""

    needs = "blocks"

    def __init__(self, text: str, lives: Sequence[str]) -> None:
        super().__init__(text)
        self.lives = lives

    def log(self, log: ChangedLog) -> ChangedLog:
        """The log with other lifetimes on its markers."""
        requests = list(log.requests)
        return replace(log, requests=[self._changed(request) for request in requests])

    def _changed(self, request: Request) -> Request:
        if request.blocks is None:
            return request
        return replace(request, blocks=list(self._blocks(request.blocks)))

    def _blocks(self, blocks: Sequence[ContentBlock]) -> Iterator[ContentBlock]:
        seen = 0
        for block in blocks:
            if block.marker in ANTHROPIC_MARKERS:
                block = block._replace(marker=self.lives[min(seen, len(self.lives) - 1)])
                seen += 1
            yield block


def make(text: str, value: str, catalog: Catalog) -> Change:
    """One lifetime for all markers, or several with slashes for the first, the second and so on."""
    lives = value.split("/")
    if len(lives) == 1:
        return scenario_key.make(text, value, catalog)
    if not set(lives) <= set(ANTHROPIC_MARKERS):
        raise BadInput(f"--change {text}: expected lifetimes such as ttl=1h or ttl=1h/5m")
    return MarkerLives(text, lives)
