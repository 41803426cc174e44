"""The head of a session's prompt, sent before it: `prewarm=SECONDS`."""

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_pricing.catalog import Catalog
from cachecast_pricing.rules.settings import SECOND_US
from cachecast_sim.whatif.change import Change, ChangedLog
from cachecast_sim.whatif.prompts import aside, head_length, with_blocks


class Prewarm(Change):
    """Before a session's first request its tools and system text alone, without an answer."""

    needs = "blocks"

    def __init__(self, text: str, before_s: int) -> None:
        super().__init__(text)
        self.before_us = before_s * SECOND_US
        self.sent = 0

    def log(self, log: ChangedLog) -> ChangedLog:
        """The log with its prewarming requests."""
        requests = list(log.requests)
        sent = []
        seen: set[tuple[object, ...]] = set()
        for request in requests:
            key = (request.account, request.model, request.session_id)
            if request.session_id is None or request.blocks is None or key in seen:
                continue
            seen.add(key)
            first = self._head(request)
            if first is not None:
                sent.append((first, log.extra.get(request.request_id, request.request_id)))
        self.sent = len(sent)
        return log.with_extra(requests, sent)

    def _head(self, request: Request) -> Request | None:
        assert request.blocks is not None
        head = list(request.blocks[: head_length(request.blocks)])
        if not head or request.arrival_us < self.before_us:
            return None
        if all(block.marker is None for block in head):
            head[-1] = head[-1]._replace(marker="5m")
        made = aside(request, "prewarm", request.arrival_us - self.before_us, 0)
        return with_blocks(made, head)

    def assumptions(self) -> list[str]:
        """Who knows when a session will start."""
        return [
            f"{self.sent:,} prewarming requests (tools and system text, no output), each before "
            "the first request of a session: somebody has to know when one will start"
        ]


def make(text: str, value: str, catalog: Catalog) -> Change:
    """How many seconds before."""
    if not (value.isascii() and value.isdigit() and len(value) < 8 and int(value)):
        raise BadInput(f"--change {text}: expected prewarm=SECONDS, as prewarm=5")
    return Prewarm(text, int(value))
