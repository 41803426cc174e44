"""Why one request missed: its reason, made finer by what became of the prompt before it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cachecast_datasets.request import Request
from cachecast_pricing.model_ids import ModelRef
from cachecast_pricing.rules.facts import KeySetting, all_facts
from cachecast_pricing.rules.families import takes_markers
from cachecast_pricing.rules.reasons import Explanation
from cachecast_pricing.rules.settings import TTL_US
from cachecast_sim.ledger import LedgerRow
from cachecast_sim.why.causes import NO_BREAK, NOTHING, Difference, Finding, Place
from cachecast_sim.why.conversations import (
    Conversations,
    another_prompt,
    goes_on,
    nearest,
    share_a_boundary,
)
from cachecast_sim.why.dates import Moments
from cachecast_sim.why.diagnosis import with_diagnosis
from cachecast_sim.why.differences import Side, of_blocks, of_scope, of_settings
from cachecast_sim.why.text_changes import alike

TextsOf = Callable[[str], Sequence[str] | None]  # a request's id -> the texts of its blocks
ModelOf = Callable[[Request], ModelRef | None]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SCOPES = ("model_changed", "account_changed", "host_changed")
# reasons that the difference from an earlier prompt explains
_BY_DIFFERENCE = frozenset(
    {
        "tools_reordered", "json_key_order", "tools_changed", "settings_changed", "volatile_value",
        "system_changed", "media_changed", "message_edited", "history_rewritten",
    }
)  # fmt: skip

# another conversation's messages differ without anybody having changed them
_OF_ONE_CONVERSATION = frozenset(
    {"message_edited", "history_rewritten", "history_summarised", "history_truncated", "rewind"}
)

# what a cache whose rules nobody published, or that promises nothing, may have done
_NOT_PROMISED = ("provider_miss", "below_minimum", "ttl_expired")


class Investigator:
    """Looks at the rows of one scenario in log order; remembers the last request of each session.

    `texts_of` gives the texts of a request's blocks, None where they were not kept. `own_model`
    is the catalogue's model of a request, whatever the scenario prices it as. `ttl` replaces the
    log's own lifetimes, as in the scenario.
    """

    def __init__(
        self, texts_of: TextsOf, own_model: ModelOf, *, absolute: bool, ttl: str | None = None
    ) -> None:
        self._texts_of = texts_of
        self._own_model = own_model
        self._absolute = absolute
        self._ttl = ttl
        self._conversations = Conversations()

    def finding(self, row: LedgerRow) -> tuple[Finding, Request | None]:
        """What is known of why this request missed, and the session's request before it.

        Call it once for each row, in order.
        """
        request, explanation = row.request, row.outcome.explanation
        before: Sequence[Request] = ()
        if row.outcome.status != "rejected":
            before = self._conversations.add(request)
        found = NOTHING if explanation.reason is None else self._of(row, explanation, before)
        same = row.model is not None and row.model == self._own_model(request)
        found = with_diagnosis(found, request, explanation.reason, same)
        return found, before[0] if before else None

    def _of(self, row: LedgerRow, explanation: Explanation, before: Sequence[Request]) -> Finding:
        reason, request = explanation.reason or "", row.request
        known = before if explanation.earlier is None else (*before, explanation.earlier)
        earlier, differences = nearest(known, request), []
        another = earlier is not None and self._another(earlier, request)
        if earlier is not None and not another:
            differences = self._differences(row, earlier, request)
        cause, candidates, evidence = _by_reason(reason, request, explanation, differences)
        if row.outcome.as_reported and cause is None and not candidates:
            candidates = _NOT_PROMISED
        if earlier is not None and _of_two_sessions(earlier, request):
            differences = [d for d in differences if d.cause not in _OF_ONE_CONVERSATION]
        if another and reason in _BY_DIFFERENCE:
            cause, candidates = None, ("auxiliary_call", reason)
        place = next((d.place for d in differences if d.place is not None), None)
        if place is None and reason in _BY_DIFFERENCE:
            place = _place_of(explanation)
        return Finding(
            cause=cause,
            candidates=candidates,
            also=tuple(d for d in differences if (d.cause, d.candidates) != (cause, candidates)),
            place=place,
            compared_with=None if earlier is None else earlier.request_id,
            evidence=evidence,
            # what may be no break is not counted as one
            breaks=NO_BREAK.isdisjoint((cause, *candidates)),
        )

    def _another(self, earlier: Request, now: Request) -> bool:
        """Whether the two are prompts of different kinds, by their texts too where they are known.

        A text that was edited shares no hash with the one before and most of its words.
        """
        if not another_prompt(earlier, now):
            return False
        a, b = self._texts_of(earlier.request_id), self._texts_of(now.request_id)
        return not a or not b or not alike(a[0], b[0])

    def _differences(self, row: LedgerRow, earlier: Request, now: Request) -> list[Difference]:
        """Everything that differs from the earlier request: scope, life, settings, blocks."""
        elapsed_us = now.arrival_us - earlier.arrival_us
        later = _EPOCH + timedelta(microseconds=now.arrival_us) if self._absolute else None
        ours_is, theirs_is = self._own_model(now), self._own_model(earlier)
        same_model = ours_is is not None and ours_is == theirs_is
        found: list[Difference] = []
        if now.blocks is not None or share_a_boundary(earlier, now):
            found += of_scope(earlier, now, same_model)
        provider = None if row.model is None else row.model.provider
        facts = all_facts().get(provider or "")
        settings: Sequence[KeySetting] = facts.setting if facts is not None else ()
        life_us = _longest_life_us(earlier, self._ttl) if takes_markers(row.model) else None
        if life_us is not None and elapsed_us > life_us:
            found.append(Difference("ttl_expired", evidence={"gap_s": elapsed_us / 1e6}))
        found += of_settings(earlier, now, settings)
        if earlier.blocks is None or now.blocks is None or goes_on(earlier, now):
            return found
        theirs = Side(earlier, self._texts_of(earlier.request_id))
        ours = Side(now, self._texts_of(now.request_id))
        return found + of_blocks(theirs, ours, Moments(elapsed_us, later))


def _of_two_sessions(earlier: Request, now: Request) -> bool:
    sessions = earlier.session_id, now.session_id
    return None not in sessions and sessions[0] != sessions[1]


def _longest_life_us(request: Request, ttl: str | None) -> int | None:
    """The longest lifetime that the request's markers asked for; None where it had none."""
    asked = {block.marker for block in request.blocks or () if block.marker in TTL_US}
    if request.cache_mode in ("auto", "auto:5m", "auto:1h"):
        asked.add("1h" if request.cache_mode == "auto:1h" else "5m")
    if not asked:
        return None
    lives = {ttl} if ttl is not None else asked
    return max(TTL_US[life] for life in lives if life is not None)


Cause = tuple[str | None, tuple[str, ...], dict[str, Any]]


def _by_reason(
    reason: str,
    request: Request,
    explanation: Explanation,
    differences: Sequence[Difference],
) -> Cause:
    """The cause of a reason, the candidates where it is not certain, and the evidence."""
    evidence = dict(explanation.evidence)
    if reason == "not_requested":
        return _not_requested(request, explanation), (), evidence
    if reason in ("cold_start", *_SCOPES):
        return _by_scope(reason, differences, evidence)
    if reason == "settings_changed":
        changed = next((d for d in differences if d.cause == reason), None)
        return reason, (), evidence | (dict(changed.evidence) if changed is not None else {})
    if reason in _BY_DIFFERENCE:
        return _by_difference(reason, differences, evidence)
    if reason == "unknown":
        return None, explanation.candidates, evidence
    return reason, (), evidence


def _not_requested(request: Request, explanation: Explanation) -> str:
    """Never asked for, or asked for at another place."""
    elsewhere = "note" in explanation.evidence and _asks(request)
    return "marker_misplaced" if elsewhere else "not_requested"


def _by_scope(reason: str, differences: Sequence[Difference], evidence: dict[str, Any]) -> Cause:
    """The scope that changed since the session's last request; else the reason itself."""
    scopes = [d for d in differences if d.cause in (*_SCOPES, "model_alias_changed")]
    if not scopes:
        return reason, (), evidence
    same = [d for d in scopes if d.cause == reason]
    if reason == "model_changed" and not same:
        same = [d for d in scopes if d.cause == "model_alias_changed"]
    first = (same or scopes)[0]
    return first.cause, (), evidence | dict(first.evidence)


def _by_difference(
    reason: str, differences: Sequence[Difference], evidence: dict[str, Any]
) -> Cause:
    """The first difference of the blocks; the reason itself where none was found."""
    first = next((d for d in differences if d.place is not None), None)
    if first is None:
        return reason, (), evidence
    return first.cause, first.candidates, evidence | dict(first.evidence)


def _asks(request: Request) -> bool:
    """Whether the request itself asks for caching anywhere."""
    marked = any(block.marker is not None for block in request.blocks or ())
    return marked or request.cache_mode not in (None, "none")


def _place_of(explanation: Explanation) -> Place | None:
    """Where the rules saw the prompts part, where no text or block says more."""
    seen = explanation.evidence
    tokens = seen.get("diverged_at_tokens")
    if tokens is None:
        return None
    section = seen.get("section") or ("tools" if explanation.reason == "tools_changed" else None)
    if section is None:
        section = "system" if explanation.reason == "system_changed" else "messages"
    return Place(section, seen.get("diverged_at_block"), tokens, seen.get("label"))


def as_auxiliary(finding: Finding) -> Finding:
    """The finding of a call that turned out to stand beside the conversation."""
    return replace(finding, cause="auxiliary_call", candidates=(), also=(), breaks=False)
