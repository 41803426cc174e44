"""How long a prompt is."""

from cachecast_datasets.request import Request


def prompt_size(request: Request) -> int | None:
    """The prompt's tokens; where the log has no count, what its blocks are estimated at.

    None if it has neither.
    """
    if request.prompt_tokens is not None:
        return request.prompt_tokens
    tokens = request.boundaries.tokens if request.boundaries is not None else ()
    return int(tokens[-1]) if len(tokens) else None
