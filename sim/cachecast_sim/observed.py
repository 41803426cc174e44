"""What the source itself reported of a request, as a usage."""

from cachecast_datasets.request import Observed, Request
from cachecast_pricing.usage import PROMPT_CLASSES, Usage


def reported(request: Request) -> tuple[Usage, int] | None:
    """(usage as far as it was reported, prompt tokens whose class was not).

    None where not even the prompt's size can be told. Where the size is known, what the reported
    classes leave of it is of unknown class and counts as fresh.
    """
    seen = request.observed or Observed()
    known = {name: getattr(seen, name) for name in PROMPT_CLASSES}
    told = {name: tokens for name, tokens in known.items() if tokens is not None}
    unknown = 0
    if request.prompt_tokens is not None:
        if len(told) < len(known):
            unknown = max(0, request.prompt_tokens - sum(told.values()))
    elif seen.fresh is None or seen.cache_read is None:
        return None
    told["fresh"] = told.get("fresh", 0) + unknown
    output = seen.output if seen.output is not None else request.output_tokens
    return Usage(**told, output=output or 0), unknown
