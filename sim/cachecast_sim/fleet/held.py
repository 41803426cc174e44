"""Tokens of K and V that the requests of a server's next step hold, a shared block once.

A sum of contexts counts a shared block as often as it is read, though it comes out of memory once.
"""

from typing import TYPE_CHECKING

from cachecast_sim.fleet.vllm.server import VllmServer
from cachecast_sim.latency.model import HeldTokens

if TYPE_CHECKING:  # imported where a fleet has such servers
    from cachecast_sim.fleet.sglang.server import SglangServer


def held_by_vllm(server: VllmServer) -> HeldTokens:
    """Whole blocks; equal to what the replay's engine records for the same step."""
    pool, group, size = server.pool, server.group, server.block_tokens

    def held(ahead: int) -> int:
        now = pool.usable_blocks - pool.free_blocks  # the blocks of the step asked for are taken
        return (now + group.blocks_needed(ahead)) * size

    return held


def held_by_sglang(server: "SglangServer", page_tokens: int) -> HeldTokens:
    """Whole pages. In a prefill step those of decoding requests too, which it does not read."""

    def held(ahead: int) -> int:
        _, running, pages = server.load()
        decodes = running == len(server.running)  # else a prefill step, whose pages are taken
        return (pages + server.running.pages_for(ahead + 1 if decodes else 0)) * page_tokens

    return held
