"""Which rules a model's provider follows: the one table to extend with a family."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from cachecast_datasets.errors import BadInput
from cachecast_pricing.model_ids import ModelRef
from cachecast_pricing.rules.facts import all_facts
from cachecast_pricing.rules.interval import IntervalBoundaries
from cachecast_pricing.rules.marked import MarkedBoundaries
from cachecast_pricing.rules.memory import Memory
from cachecast_pricing.rules.places import places_of
from cachecast_pricing.rules.protocol import CacheRules, Setup
from cachecast_pricing.rules.settings import MARK_POLICIES, RuleSettings
from cachecast_pricing.rules.units import WholePrefixUnits
from cachecast_pricing.rules.written import WrittenBoundaries

Family = Callable[[Setup], CacheRules]

FAMILIES: dict[str, Family] = {
    "marked": MarkedBoundaries,
    "written": WrittenBoundaries,
    "interval": IntervalBoundaries,
    "units": WholePrefixUnits,
}
PLACED: tuple[str, ...] = ("marked",)  # families whose markers may be asked for at named places
# Lifetimes that a caller may ask of each family's markers.
TTLS: dict[str, tuple[str, ...]] = {"marked": ("5m", "1h"), "written": ("30m", "12h")}


def has_rules(provider: str) -> bool:
    """Whether the provider's cache can be simulated."""
    return provider in all_facts()


def family_of(provider: str, model: str) -> str:
    """The family name of a model's cache rules; BadInput if the provider has none yet."""
    facts = all_facts().get(provider)
    if facts is None:
        known = ", ".join(all_facts())
        raise BadInput(
            f"{model}: cachecast has prices for {provider}, but no cache rules yet; "
            f"it can simulate {known}"
        )
    if facts.interval is not None and model in facts.interval.steps:
        return "interval"
    return facts.family


def takes_markers(ref: ModelRef | None) -> bool:
    """Whether the model's callers choose places and lifetimes; not where no rules are known."""
    if ref is None or not has_rules(ref.provider):
        return False
    return family_of(ref.provider, ref.model) in PLACED


class Sold(NamedTuple):
    """What a model's callers may ask of its cache: places of markers, and lifetimes by rising.

    `retention`: the longer class of OpenAI before GPT-5.6, where the shorter one was asked for.
    """

    places: bool
    lifetimes: tuple[str, ...]
    retention: bool = False


def sold(ref: ModelRef | None, settings: Mapping[str, str] = MappingProxyType({})) -> Sold:
    """What the model sells to a request of such settings; nothing where no rules are known."""
    if ref is None or not has_rules(ref.provider):
        return Sold(False, ())
    family = family_of(ref.provider, ref.model)
    facts = all_facts()[ref.provider]
    if family == "interval" and facts.interval is not None:
        short = settings.get("prompt_cache_retention") == "in_memory"
        return Sold(False, (), short and ref.model in facts.interval.extended.models)
    lifetimes = TTLS.get(family, ())
    half_days = facts.twelve_hours
    if "12h" in lifetimes and (half_days is None or ref.model not in half_days.models):
        lifetimes = tuple(ttl for ttl in lifetimes if ttl != "12h")
    return Sold(family in PLACED, lifetimes)


def offers(ref: ModelRef, ttl: str | None) -> bool:
    """Whether markers of this lifetime may be asked of the model (None: always)."""
    return ttl is None or ttl in TTLS.get(family_of(ref.provider, ref.model), ())


def takes_places(ref: ModelRef, mark: str | None) -> bool:
    """Whether the model's markers may be asked for like this (named policies: always)."""
    return not (mark and places_of(mark)) or family_of(ref.provider, ref.model) in PLACED


def rules_for(
    provider: str,
    model: str,
    settings: RuleSettings,
    carries_markers: bool,
    memory: Memory | None = None,
) -> CacheRules:
    """Rules of `model` for one scenario, empty unless `memory` is shared with others.

    Raises BadInput for a lifetime that the family does not offer.
    """
    family = family_of(provider, model)
    offered = TTLS.get(family)
    if settings.mark is not None and places_of(settings.mark) and family not in PLACED:
        raise BadInput(
            f"mark={settings.mark}: places hold Anthropic's markers, {provider} {model} takes "
            f"{', '.join(MARK_POLICIES)}"
        )
    if settings.ttl is not None and (offered is None or settings.ttl not in offered):
        accepted = "no ttl" if offered is None else " or ".join(offered)
        raise BadInput(f"ttl={settings.ttl}: {provider} {model} offers {accepted}")
    facts = all_facts()[provider]
    shared = Memory() if memory is None else memory
    return FAMILIES[family](Setup(facts, model, settings, carries_markers, shared))
