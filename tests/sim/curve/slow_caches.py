"""The definition of the curves, word for word and slowly: one cache, one list or dict."""

from collections.abc import Sequence
from typing import NamedTuple


class Prompt(NamedTuple):
    """A request: when, the ids of its blocks, its length (None: not known)."""

    at_us: int
    ids: tuple[int, ...]
    tokens: int | None


class Hits(NamedTuple):
    """Over all requests."""

    blocks: int
    tokens: int


def lru_hits(prompts: Sequence[Prompt], capacity: int, block_tokens: int) -> Hits:
    """A list, the most recent block first; look, touch from the tail, trim."""
    cache: list[int] = []
    hits = Hits(0, 0)
    for prompt in prompts:
        run = _leading(prompt.ids, cache)
        hits = _added(hits, run, prompt, block_tokens)
        for block in reversed(prompt.ids):
            if block in cache:
                cache.remove(block)
            cache.insert(0, block)
        del cache[capacity:]
    return hits


def ttl_hits(prompts: Sequence[Prompt], ttl_us: int, refresh: bool, block_tokens: int) -> Hits:
    """A dict of the moments from which each block's life counts."""
    since: dict[int, int] = {}
    hits = Hits(0, 0)
    for prompt in prompts:
        alive = {block for block, moment in since.items() if prompt.at_us - moment <= ttl_us}
        hits = _added(hits, _leading(prompt.ids, alive), prompt, block_tokens)
        for block in prompt.ids:
            if refresh or block not in alive:
                since[block] = prompt.at_us
    return hits


def _leading(ids: Sequence[int], there: set[int] | list[int]) -> int:
    run = 0
    while run < len(ids) and ids[run] in there:
        run += 1
    return run


def _added(hits: Hits, run: int, prompt: Prompt, block_tokens: int) -> Hits:
    tokens = run * block_tokens
    if prompt.tokens is not None:
        tokens = min(tokens, prompt.tokens)
    return Hits(hits.blocks + run, hits.tokens + tokens)
