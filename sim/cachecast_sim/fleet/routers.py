"""Routers: which server a job goes to, from what the servers look like at that moment.

A new router is one function here and its line in ROUTERS.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import xxhash

from cachecast_sim.fleet.job import Job

Route = Callable[[Job, int], int]  # (job, now_ns): the number of its server


class ServerView(Protocol):
    """What a router may look at."""

    @property
    def jobs(self) -> int:
        """Jobs that wait or run on the server."""
        ...

    def matched_tokens(self, job: Job, now_ns: int) -> int:
        """Prompt tokens at the front of `job` that the server holds at this moment."""
        ...


@dataclass(frozen=True, slots=True)
class RouterSettings:
    """`balance`: cache_aware leaves the longest match once its server has so many jobs more than
    the least loaded one. The default is ours; no source gives one."""

    balance: int = 32


def round_robin(servers: Sequence[ServerView], settings: RouterSettings) -> Route:
    """One server after the other."""
    turn = -1

    def route(job: Job, now_ns: int) -> int:
        nonlocal turn
        turn = (turn + 1) % len(servers)
        return turn

    return route


def least_loaded(servers: Sequence[ServerView], settings: RouterSettings) -> Route:
    """The server with the fewest jobs, the first of equals."""
    return lambda job, now_ns: _least(servers)


def prefix_hash(servers: Sequence[ServerView], settings: RouterSettings) -> Route:
    """Equal first blocks go to the same server, whatever it has to do."""

    def route(job: Job, now_ns: int) -> int:
        first = job.path[0][0].ids if job.path else ()
        key = first[0] if first else job.index
        return int(xxhash.xxh64_intdigest(int(key).to_bytes(8, "little"))) % len(servers)

    return route


def cache_aware(servers: Sequence[ServerView], settings: RouterSettings) -> Route:
    """The longest match, the less loaded of equals, unless that server is far too busy."""

    def route(job: Job, now_ns: int) -> int:
        best = max(
            range(len(servers)),
            key=lambda n: (servers[n].matched_tokens(job, now_ns), -servers[n].jobs, -n),
        )
        least = _least(servers)
        busy = servers[best].jobs - servers[least].jobs >= settings.balance
        return least if busy else best

    return route


def session_sticky(servers: Sequence[ServerView], settings: RouterSettings) -> Route:
    """All of a session to the server that was least loaded at its first request."""
    chosen: dict[str, int] = {}

    def route(job: Job, now_ns: int) -> int:
        if job.session_id is None:
            return _least(servers)
        server = chosen.get(job.session_id)
        if server is None:
            server = chosen[job.session_id] = _least(servers)
        return server

    return route


def _least(servers: Sequence[ServerView]) -> int:
    loads = [server.jobs for server in servers]
    return loads.index(min(loads))


ROUTERS: dict[str, Callable[[Sequence[ServerView], RouterSettings], Route]] = {
    "round_robin": round_robin,
    "least_loaded": least_loaded,
    "prefix_hash": prefix_hash,
    "cache_aware": cache_aware,
    "session_sticky": session_sticky,
}
