"""Requests that the server worked on in several iterations: what is billed is each of them.

The threshold of a price tier is tested for every iteration, never for their sum (BR-29), and an
iteration may name a model of its own (advisors, fallbacks).
"""

import json
from collections.abc import Iterable

from cachecast_datasets.request import Observed, Request
from cachecast_pricing.apis import anthropic
from cachecast_pricing.charge import Charge, charge, sum_of, without_cache
from cachecast_pricing.counts import UsageError
from cachecast_pricing.usage import Usage
from cachecast_sim.pricer import Moment, Pricer

_UNREADABLE = "iterations that do not tell all their tokens are priced as one request"
Part = tuple[Usage, Moment]


def parts_of(request: Request, seen: Observed, moment: Moment, pricer: Pricer) -> list[Part]:
    """Each reported iteration with the card that prices it; empty where there are none.

    Also empty, with an assumption, where they do not tell all their tokens or have no price.
    `moment` is that of the request's own model, which holds for iterations that name none.
    """
    if seen.iterations is None:
        return []
    try:
        # the sum at the top level is not what is wanted, and not what is stored
        whole = {"input_tokens": 0, "output_tokens": 0, "iterations": json.loads(seen.iterations)}
        found = anthropic.read(whole).iterations
    except UsageError:
        found = ()
    parts: list[Part] = []
    for part in found:
        its = moment if part.model is None else _moment(part.model, request, moment, pricer)
        if part.unknown or its is None:
            parts = []
            break
        parts.append((part.usage, its))
    if not parts:
        pricer.assumptions[_UNREADABLE] = None
    return parts


def _moment(model: str, request: Request, moment: Moment, pricer: Pricer) -> Moment | None:
    """The card of an iteration's own model; a scenario that names a model holds for all."""
    if pricer.scenario.model is not None:
        return moment
    ref = pricer.catalog.find(model, request.provider)
    return None if ref is None else pricer.moment(request, ref)


def charge_of(parts: Iterable[Part]) -> Charge:
    """All parts together. Raises NoPrice where a class has no price."""
    return sum_of([charge(usage, moment.prices(usage.prompt_tokens)) for usage, moment in parts])


def without_cache_of(parts: Iterable[Part]) -> int:
    """The same in picounits with every prompt token at the plain input price."""
    return sum(without_cache(usage, moment.prices(usage.prompt_tokens)) for usage, moment in parts)
