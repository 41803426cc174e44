"""Keep-alive pings: `keep-alive=290x3`, `keep-alive=290x3:paying`."""

from collections.abc import Iterator, Sequence

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_pricing.catalog import Catalog
from cachecast_pricing.rules.settings import SECOND_US, TTL_US
from cachecast_sim.whatif.change import Change, ChangedLog, conversation, processed
from cachecast_sim.whatif.prompts import aside

PING_OUTPUT_TOKENS = 1
MOST_PINGS = 1_000  # after one request; at 290 s three days, and no memory holds ten million


class KeepAlive(Change):
    """The last prompt of a conversation again, every so often, until its next request comes.

    `paying`: only in pauses that are longer than a lifetime and that the pings bridge, which
    nobody knows beforehand.
    """

    def __init__(self, text: str, every_s: int, times: int, paying: bool = False) -> None:
        super().__init__(text)
        self.every_us = every_s * SECOND_US
        self.times = times
        self.paying = paying
        self.pings = 0

    def log(self, log: ChangedLog) -> ChangedLog:
        """The log with its pings."""
        requests = list(log.requests)
        sent = list(self._pings(requests, log))
        self.pings = len(sent)
        return log.with_extra(requests, sent)

    def _pings(self, requests: Sequence[Request], log: ChangedLog) -> Iterator[tuple[Request, str]]:
        """In the order of the requests that they follow."""
        next_us = next_arrivals(requests)
        for request, until_us in zip(requests, next_us, strict=True):
            if processed(request):
                yield from self._between(request, until_us, log)

    def _between(
        self, request: Request, until_us: int | None, log: ChangedLog
    ) -> Iterator[tuple[Request, str]]:
        """Pings after `request`, the next of its conversation arriving at `until_us`."""
        if request.is_batch or not self._worth(request.arrival_us, until_us):
            return
        cause = log.extra.get(request.request_id, request.request_id)
        for n in range(1, self.times + 1):
            at = request.arrival_us + n * self.every_us
            if until_us is not None and at >= until_us:
                return
            yield aside(request, f"ping{n}", at, PING_OUTPUT_TOKENS), cause

    def _worth(self, from_us: int, until_us: int | None) -> bool:
        if not self.paying:
            return True
        if until_us is None:
            return False
        life_us = TTL_US["5m"] if self.every_us <= TTL_US["5m"] else TTL_US["1h"]
        return life_us < until_us - from_us <= self.times * self.every_us + life_us

    def assumptions(self) -> list[str]:
        """How pings are counted."""
        who = "pings are sent until the next request comes, also after the last one of a session"
        if self.paying:
            who = (
                "pings are sent only in pauses that they bridge: nobody knows those beforehand, so "
                "this is the most that pings can save"
            )
        return [
            f"{self.pings:,} pings, each the conversation's last prompt with "
            f"{PING_OUTPUT_TOKENS} output token; their charge is in the total",
            who,
        ]


def next_arrivals(requests: Sequence[Request]) -> list[int | None]:
    """For each request when the next one of its conversation arrives that is processed."""
    found: list[int | None] = [None] * len(requests)
    coming: dict[tuple[str | None, ...], int] = {}
    for i in range(len(requests) - 1, -1, -1):
        key = conversation(requests[i])
        found[i] = coming.get(key)
        if processed(requests[i]):
            coming[key] = requests[i].arrival_us
    return found


def make(text: str, value: str, catalog: Catalog) -> Change:
    """SECONDSxTIMES, with `:paying` behind it or not."""
    timing, _, mode = value.partition(":")
    every, _, times = timing.partition("x")
    if mode not in ("", "paying") or not (_count(every) and _count(times or "1")):
        raise BadInput(
            f"--change {text}: expected keep-alive=SECONDSxTIMES, as 290x3 or 290x3:paying"
        )
    if int(times or "1") > MOST_PINGS:
        raise BadInput(f"--change {text}: expected at most {MOST_PINGS:,} pings after a request")
    return KeepAlive(text, int(every), int(times or "1"), mode == "paying")


def _count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 8 and int(text) > 0
