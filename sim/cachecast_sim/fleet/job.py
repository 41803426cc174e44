"""One request as a fleet serves it: its blocks, its progress on a server and what became of it."""

from cachecast_sim.fleet.extents import Holding
from cachecast_sim.fleet.prefixes import Path


class Job:
    """A request in a fleet. Times are integer nanoseconds from the log's origin.

    `path` are the pieces of its sequence (prompt, then output), the first `known_blocks` of them
    with content that other jobs may share; the rest is its own. `shared_blocks`: how many of its
    leading blocks an earlier request had. Results are None or empty until they are known.
    """

    __slots__ = (
        "arrival_ns", "blocks", "computed", "decode_server", "end_ns", "filled_blocks",
        "finish_step",
        "first_token_ns", "generated", "held", "hit_tokens", "index", "joined_step",
        "known_blocks", "last_token_ns", "loaded_tokens", "misses", "order", "output_tokens",
        "path", "preemptions", "prefilled", "prompt_tokens", "readmission_hit_tokens",
        "reason", "remaining", "request_id", "scheduled_ns", "server", "session_id",
        "shared_blocks", "status",
    )  # fmt: skip

    def __init__(
        self,
        request_id: str,
        index: int,
        arrival_ns: int,
        prompt_tokens: int,
        output_tokens: int,
        path: Path,
        known_blocks: int,
        shared_blocks: int = 0,
        session_id: str | None = None,
    ) -> None:
        self.request_id = request_id
        self.index = index
        self.arrival_ns = arrival_ns
        self.prompt_tokens = prompt_tokens
        self.output_tokens = output_tokens
        self.path = path
        self.known_blocks = known_blocks
        self.shared_blocks = shared_blocks
        self.session_id = session_id
        # progress on a server
        self.generated = 0
        self.computed = 0  # tokens with K and V; of a job that decodes: at its join
        self.remaining = 0  # tokens still to prefill
        self.held: list[Holding] = []
        self.blocks = 0  # of a job that prefills: blocks held
        self.filled_blocks = 0  # blocks that got their hash
        self.order = 0  # admissions before its own
        self.joined_step = 0
        self.finish_step = 0
        self.last_token_ns = 0
        self.prefilled = False  # another server has prefilled it, its blocks must come from there
        # results
        self.status = "waiting"
        self.server: int | None = None
        self.decode_server: int | None = None  # of a disaggregated fleet, counted from 0
        self.hit_tokens = 0
        self.loaded_tokens = 0
        self.readmission_hit_tokens: list[int] = []
        self.preemptions = 0
        self.scheduled_ns: int | None = None
        self.first_token_ns: int | None = None
        self.end_ns: int | None = None
        self.reason: str | None = None
        self.misses: tuple[tuple[str, int], ...] = ()
