"""How long a prompt is."""

from cachecast_datasets.request import Request


def prompt_size(request: Request) -> int | None:
    """The prompt's tokens; where the log has no count, what its blocks are estimated at.

    None if it has neither.
    """
    if request.prompt_tokens is not None:
        return request.prompt_tokens
    if request.boundaries is None or not len(request.boundaries.tokens):
        return None
    return int(request.boundaries.tokens[-1])
