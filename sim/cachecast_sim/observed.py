"""Logs that only have counts: what the source reported is the usage, and nothing is simulated."""

from collections.abc import Iterable, Iterator

from cachecast_datasets.request import Observed, Request
from cachecast_pricing.rules.reasons import Explanation
from cachecast_pricing.usage import PROMPT_CLASSES, Usage
from cachecast_sim.provider import Outcome, refused

_NOTHING = Explanation((), None)


def observed_outcomes(requests: Iterable[Request]) -> Iterator[Outcome]:
    """Each request with its observed usage; prompt tokens of unknown class count as fresh.

    `unknown_tokens` of an outcome says how many those are: their charge is an interval.
    """
    for ordinal, request in enumerate(requests):
        if request.status in ("rejected", "error"):
            yield refused(request, ordinal, {"status": request.status})
            continue
        usage, unknown = reported(request)
        yield Outcome(request, ordinal, "ok", usage, usage.cache_read, _NOTHING, unknown)


def reported(request: Request) -> tuple[Usage, int]:
    """(usage as far as it was reported, prompt tokens whose class was not)."""
    seen = request.observed or Observed()
    known = {name: getattr(seen, name) for name in PROMPT_CLASSES}
    told = {name: tokens for name, tokens in known.items() if tokens is not None}
    unknown = 0
    if request.prompt_tokens is not None and len(told) < len(known):
        unknown = max(0, request.prompt_tokens - sum(told.values()))
    told["fresh"] = told.get("fresh", 0) + unknown
    output = seen.output if seen.output is not None else request.output_tokens
    return Usage(**told, output=output or 0), unknown
