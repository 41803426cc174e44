"""All differences of a prompt from an earlier one, in the order in which a provider meets them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cachecast_datasets.request import Request
from cachecast_pricing.rules.facts import KeySetting
from cachecast_pricing.rules.prompt import active_settings
from cachecast_sim.why.causes import Difference
from cachecast_sim.why.changed_messages import LAST_BLOCK, changed_messages
from cachecast_sim.why.changed_parts import changed_system, changed_tools
from cachecast_sim.why.dates import Moments
from cachecast_sim.why.prompts import items_of, parts_of


@dataclass(frozen=True, slots=True)
class Side:
    """One request, and the texts of its blocks where they are known."""

    request: Request
    texts: Sequence[str] | None = None


def of_blocks(theirs: Side, ours: Side, moments: Moments) -> list[Difference]:
    """Differences of the content blocks, by where they stand; [] if ours only goes on."""
    if theirs.request.blocks is None or ours.request.blocks is None:
        return []
    a = parts_of(items_of(theirs.request, theirs.texts))
    b = parts_of(items_of(ours.request, ours.texts))
    found = [
        *changed_tools(a.tools, b.tools, moments),
        *changed_system(a.system, b.system, moments),
        *changed_messages(a.messages, b.messages, moments),
    ]
    # the last question differs from turn to turn: it is a cause only if there is no other
    earlier = [difference for difference in found if not difference.evidence.get(LAST_BLOCK)]
    return sorted(earlier or found, key=_where)


def _where(difference: Difference) -> tuple[int, int]:
    place = difference.place
    if place is None or place.block is None:
        return 0, 0
    return place.block, place.offset or 0


def of_scope(theirs: Request, ours: Request, same_model: bool) -> Iterator[Difference]:
    """What isolates caches and differs. `same_model`: two names, one model of the catalogue."""
    if theirs.model != ours.model:
        cause = "model_alias_changed" if same_model else "model_changed"
        yield Difference(cause, evidence={"model": [theirs.model, ours.model]})
    if theirs.account != ours.account and None not in (theirs.account, ours.account):
        yield Difference("account_changed", evidence={"account": [theirs.account, ours.account]})
    was, now = (theirs.platform, theirs.region), (ours.platform, ours.region)
    if was != now:
        yield Difference("host_changed", evidence={"host": [_host(was), _host(now)]})


def _host(place: tuple[str | None, str | None]) -> str:
    return " ".join(part for part in place if part is not None) or "not stated"


def of_settings(
    theirs: Request, ours: Request, key_settings: Sequence[KeySetting]
) -> Iterator[Difference]:
    """The settings that a provider puts into the key and that differ, in one difference."""
    was, now = active_settings(theirs, key_settings), active_settings(ours, key_settings)
    changed = {
        n: [was.get(n), now.get(n)] for n in sorted({*was, *now}) if was.get(n) != now.get(n)
    }
    if changed:
        yield Difference("settings_changed", evidence={"changed": changed})
