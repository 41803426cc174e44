"""What the controls offer, out of the catalogue and the facts of the log."""

from collections.abc import Sequence
from functools import cache

from cachecast.dashboard.catalogue import catalogue, models
from cachecast.dashboard.opened import Opened
from cachecast.scenarios import scenario_of
from cachecast_pricing.model_ids import ModelRef
from cachecast_pricing.rules.settings import TTL_US

_WITH_BLOCKS = ("text", "blocks")


def providers() -> tuple[str, ...]:
    """Providers of the models that may be chosen, by name."""
    return tuple(sorted({provider for _, provider in _made_by()}))


def models_of(provider: str) -> tuple[str, ...]:
    """The models of a provider."""
    return tuple(model for model, made_by in _made_by() if made_by == provider)


def provider_of(model: str) -> str:
    """Who makes a model. BadInput for an unknown one."""
    return catalogue().resolve(model).provider


def is_offered(model: str) -> bool:
    """Whether it is a model of a provider that may be chosen, by any of its names."""
    found = catalogue().find(model, None)
    return found is not None and found.provider in providers()


def lifetimes(opened: Opened, scenario: str, model: str | None) -> tuple[str, ...]:
    """Lifetimes of markers that any of the models has a write price for, the shortest first."""
    refs = _refs(opened, scenario, model)
    found = {
        ttl
        for card in catalogue().rows()
        if ModelRef(card.provider, card.model) in refs
        for ttl in TTL_US
        if getattr(card.prices(0), f"cache_write_{ttl}") is not None
    }
    return tuple(sorted(found, key=lambda ttl: TTL_US[ttl]))


def scenario_with(scenario: str, model: str | None) -> str:
    """The text of `--as` with another model."""
    if model is None:
        return scenario
    return ",".join([model, *scenario.split(",")[1:]])


def knows_blocks(opened: Opened) -> bool:
    """Whether the log tells what its prompts are made of, so that they can be changed."""
    evidence: str = opened.facts["evidence"]
    return evidence in _WITH_BLOCKS


def _refs(opened: Opened, scenario: str, model: str | None) -> set[ModelRef]:
    base = scenario_of(scenario, catalogue()).model
    if model is not None:
        return {catalogue().resolve(model)}
    if base is not None:
        return {base}
    own: Sequence[str] = opened.facts["models"]
    return {ref for ref in (catalogue().find(name, None) for name in own) if ref is not None}


@cache
def _made_by() -> tuple[tuple[str, str], ...]:
    """(model, its maker), for models whose caches can be simulated."""
    return tuple((model, catalogue().resolve(model).provider) for model in models())
