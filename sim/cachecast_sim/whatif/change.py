"""What a change is: a transform of the log, of the rules, or of both."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from heapq import merge
from typing import Literal, NamedTuple

from cachecast_datasets.errors import EvidenceError
from cachecast_datasets.request import Request
from cachecast_sim.scenario import Scenario

Needs = Literal["blocks", "prompts", "counts"]


class Served(NamedTuple):
    """A request that was answered before it reached the provider."""

    request: Request


@dataclass(frozen=True, slots=True)
class ChangedLog:
    """A log on its way through changes, sorted by arrival.

    `extra` names the requests that a change sends besides, and whose cause each one is: the id of
    a request of the log. `served` never reach the provider.
    """

    requests: Iterable[Request]
    extra: Mapping[str, str] = field(default_factory=dict)
    served: tuple[Served, ...] = ()

    def with_extra(self, requests: list[Request], sent: list[tuple[Request, str]]) -> "ChangedLog":
        """The log with more requests, each behind those of the log that arrive with it."""
        more = sorted((request for request, _ in sent), key=_arrival)
        extra = {**self.extra, **{request.request_id: cause for request, cause in sent}}
        return replace(self, requests=list(merge(requests, more, key=_arrival)), extra=extra)


class Change:
    """A change that changes nothing; the others override what they touch.

    `text` is how it was asked for; `needs` what a log must tell for it: its content blocks, which
    prompts share what, or nothing but counts. Use an instance once: `assumptions` may count.
    `keeps_turns`: a usual next turn (no settings, flags or content blocks) is the same after `log`.
    """

    needs: Needs = "prompts"
    keeps_turns = False

    def __init__(self, text: str) -> None:
        self.text = text

    def scenario(self, scenario: Scenario) -> Scenario:
        """The rules and prices after the change."""
        return scenario

    def log(self, log: ChangedLog) -> ChangedLog:
        """The requests after the change; EvidenceError if they do not tell what it needs."""
        return log

    def assumptions(self) -> list[str]:
        """What the change takes for granted, in plain sentences, once it was applied."""
        return []


def check_evidence(change: Change, evidence: str) -> None:
    """EvidenceError if a log of this evidence does not tell what the change needs."""
    if evidence == "counts" and change.needs != "counts":
        raise EvidenceError(
            f"--change {change.text}: needs a log that tells which prompts share what, this one "
            "has counts only: its usage can be repriced (batch, tier, on, currency), not re-cached"
        )
    if change.needs == "blocks" and evidence not in ("text", "blocks"):
        raise EvidenceError(
            f"--change {change.text}: needs a log with content blocks, this one has none "
            "(docs/log-formats.md says which formats carry them)"
        )


def processed(request: Request) -> bool:
    """Whether the provider worked on it."""
    return request.status not in ("rejected", "error")


def conversation(request: Request) -> tuple[str | None, ...]:
    """What a request continues: its session and sub-agent in its account and model."""
    owner = request.account if request.account is not None else request.hash_scope
    return owner, request.model, request.session_id, request.agent_id


def _arrival(request: Request) -> int:
    return request.arrival_us
