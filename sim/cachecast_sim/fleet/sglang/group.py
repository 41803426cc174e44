"""The requests that decode together: one token each a step, counted for all of them at once."""

from collections.abc import Iterator
from heapq import heappop, heappush

from cachecast_sim.fleet.sglang.active import Active


class DecodeGroup:
    """Running requests in SGLang's order. A step costs a few additions, not one a request.

    What grows by one for each of them is kept as a difference to `steps`, the decode steps since
    the server's start: when a request ends, and where in a page it stands.
    """

    __slots__ = (
        "_finishes", "_joined", "_last_finish", "_page_tokens", "_phases", "_sum_of_finishes",
        "context_tokens", "last_token_ns", "members", "new_members", "steps",
    )  # fmt: skip

    def __init__(self, page_tokens: int) -> None:
        self.members: dict[Active, None] = {}
        self.new_members: list[Active] = []  # those that have not decoded here yet
        self.steps = 0
        self.context_tokens = 0  # prompt and output so far, of all members
        self.last_token_ns = 0  # when the members that are not new got their last token
        self._page_tokens = page_tokens
        self._phases: dict[int, int] = {}  # (computed tokens - steps) % page: how many members
        self._finishes: list[tuple[int, int, Active]] = []  # a heap: step, order, who
        self._sum_of_finishes = 0
        self._last_finish = 0  # no member ends later
        self._joined = 0

    def __len__(self) -> int:
        return len(self.members)

    def join(self, active: Active) -> None:
        """`active` decodes from the next step on, the last in order."""
        active.joined_step = self.steps
        active.finish_step = self.steps + active.tokens_to_come
        phase = (active.computed_tokens - self.steps) % self._page_tokens
        self._phases[phase] = self._phases.get(phase, 0) + 1
        self.context_tokens += active.length_tokens
        self._joined += 1
        heappush(self._finishes, (active.finish_step, self._joined, active))
        self._sum_of_finishes += active.finish_step
        self._last_finish = max(self._last_finish, active.finish_step)
        self.members[active] = None
        self.new_members.append(active)

    def next_finish(self) -> int:
        """Steps until the first member ends."""
        return self._finishes[0][0] - self.steps

    def finished(self) -> Iterator[Active]:
        """Takes out the members that end with the latest step, in order."""
        while self._finishes and self._finishes[0][0] == self.steps:
            active = heappop(self._finishes)[2]
            self._leave(active)
            del self.members[active]
            yield active

    def dissolve(self) -> list[Active]:
        """Takes out all members, in order."""
        members = list(self.members)
        for active in members:
            self._leave(active)
        self.members.clear()
        self.new_members.clear()
        self._finishes.clear()
        self._last_finish = 0
        return members

    def pages_for(self, steps: int) -> int:
        """Pages that the next `steps` steps need beyond those that the members have."""
        page_tokens, before = self._page_tokens, self.steps - 1
        if page_tokens == 1:
            return steps * len(self.members)
        return sum(
            ((phase + before + steps) // page_tokens - (phase + before) // page_tokens) * members
            for phase, members in self._phases.items()
        )

    def pages_at_most(self, steps: int) -> int:
        """No fewer than `pages_for(steps)`, without looking at where the members stand."""
        return len(self.members) * ((steps - 1) // self._page_tokens + 1)

    def tokens_to_come(self, most: int) -> int:
        """Output that is still missing, at most `most` of each member."""
        if self._last_finish - self.steps <= most:
            return self._sum_of_finishes - self.steps * len(self.members)
        return sum(min(active.finish_step - self.steps, most) for active in self.members)

    def advance(self, steps: int, now_ns: int) -> None:
        """Every member has got `steps` tokens, the last one now."""
        self.steps += steps
        self.context_tokens += steps * len(self.members)
        self.last_token_ns = now_ns
        self.new_members.clear()

    def _leave(self, active: Active) -> None:
        steps = self.steps - active.joined_step
        phase = (active.computed_tokens - active.joined_step) % self._page_tokens
        self._phases[phase] -= 1
        if not self._phases[phase]:
            del self._phases[phase]
        self._sum_of_finishes -= active.finish_step
        active.computed_tokens += steps
        active.generated_tokens += steps
        active.grow()
        self.context_tokens -= active.length_tokens
        if steps:
            active.job.last_token_ns = self.last_token_ns
