"""A response cache before the provider: `response=exact`, `response=exact:SECONDS`."""

import re
from collections.abc import Hashable
from dataclasses import replace

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_pricing.catalog import Catalog
from cachecast_pricing.rules.settings import SECOND_US
from cachecast_sim.provider import first_token_us
from cachecast_sim.whatif.change import Change, ChangedLog, Served, processed

_SECONDS = re.compile("0*[1-9][0-9]{0,8}")  # an answer that lives no second is no cache


class ResponseCache(Change):
    """Exact repeats of a whole prompt with all its settings get the answer of the first.

    `life_us` None: answers are kept for ever. They can be given once the first answer has ended.
    """

    def __init__(self, text: str, life_us: int | None) -> None:
        super().__init__(text)
        self.life_us = life_us
        self.repeats = 0
        self.requests = 0
        self.rounded = False
        self.unended = 0

    def log(self, log: ChangedLog) -> ChangedLog:
        """The log without what the response cache answers."""
        answers: dict[Hashable, tuple[int, int]] = {}  # key -> (readable from, written at)
        prompts: set[Hashable] = set()
        kept: list[Request] = []
        served = list(log.served)
        for request in log.requests:
            key = self._key(request)
            if request.request_id not in log.extra:
                self.requests += 1
                self.repeats += key is not None and key in prompts
            if key is None:
                kept.append(request)
                continue
            prompts.add(key)
            if self._answered(answers.get(key), request.arrival_us):
                served.append(Served(request))
                continue
            kept.append(request)
            if request.status != "aborted":
                answers[key] = (request.arrival_us + self._took_us(request), request.arrival_us)
        return replace(log, requests=kept, served=tuple(served))

    def _answered(self, answer: tuple[int, int] | None, now_us: int) -> bool:
        if answer is None or answer[0] > now_us:
            return False
        return self.life_us is None or now_us - answer[1] <= self.life_us

    def _took_us(self, request: Request) -> int:
        if request.end_s is not None:
            return round(request.end_s * SECOND_US)
        self.unended += 1
        return first_token_us(request.prompt_tokens or 0, 0, request.first_token_s, None, None)

    def _key(self, request: Request) -> Hashable:
        """Everything that the answer depends on, as far as the log tells; None if it does not."""
        boundaries = request.boundaries
        if boundaries is None or not boundaries.hashes or not processed(request):
            return None
        self.rounded = self.rounded or request.blocks is None
        owner = request.account if request.account is not None else request.hash_scope
        settings = tuple(sorted(request.settings.items()))
        return (
            owner, request.model, request.platform, request.speed, settings, boundaries.hashes[-1],
            request.prompt_tokens,
        )  # fmt: skip

    def assumptions(self) -> list[str]:
        """The share that it could ever serve, and how exact "exact" is here."""
        part = self.repeats / self.requests if self.requests else 0.0
        found = [
            f"a response cache could ever serve {self.repeats:,} of {self.requests:,} requests "
            f"({100 * part:.1f} %): exact repeats of an earlier prompt and its settings"
        ]
        if self.rounded:
            found.append(
                "the log knows prompts by token blocks: two that differ only in their last, "
                "incomplete block count as equal, so the repeats are an upper bound"
            )
        if self.unended:
            found.append(
                f"{self.unended:,} answers have no end in the log: theirs is the first token's time"
            )
        return found


def make(text: str, value: str, catalog: Catalog) -> Change:
    """`exact`, and how many seconds answers are kept."""
    if value == "exact":
        return ResponseCache(text, None)
    kind, _, life = value.partition(":")
    if kind != "exact" or not _SECONDS.fullmatch(life):
        raise BadInput(
            f"--change {text}: expected response=exact or response=exact:SECONDS, "
            "1 to 999999999 of them"
        )
    return ResponseCache(text, int(life) * SECOND_US)
