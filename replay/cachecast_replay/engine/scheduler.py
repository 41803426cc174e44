"""Which tokens run in the next step: vLLM's rules, written here a second time on purpose.

Rules: serving-semantics §1a (7, 9-12, 17-21) and §1d (1-7, 10), read from vLLM 0.32.0 in 2026-11.
No clock and no tensors: the caller says when requests arrive and runs what `schedule` returns.
"""

from collections import deque
from dataclasses import dataclass

from cachecast_replay.engine.blocks import TOKEN_BYTES, BlockManager
from cachecast_replay.engine.errors import EngineError
from cachecast_replay.engine.sequence import Sequence


@dataclass(frozen=True, slots=True)
class Part:
    """The next `new_tokens` of one request, behind `start_tokens` whose K and V are there."""

    sequence: Sequence
    start_tokens: int
    new_tokens: int
    yields: bool  # the request puts out a token at the end of the step

    @property
    def end_tokens(self) -> int:
        """Tokens whose K and V are there after the step."""
        return self.start_tokens + self.new_tokens

    @property
    def is_decode(self) -> bool:
        """Whether it computes just the token put out last, and no prompt token."""
        last_alone = self.yields and self.new_tokens == 1
        return last_alone and self.end_tokens > self.sequence.prompt_tokens


@dataclass(frozen=True, slots=True)
class Schedule:
    """One step: its parts in running order, and who came in and who was thrown out for it."""

    parts: tuple[Part, ...]
    admitted: tuple[Sequence, ...]
    preempted: tuple[Sequence, ...]

    @property
    def yielding(self) -> list[Sequence]:
        """The requests that put out a token at the end of this step, in running order."""
        return [part.sequence for part in self.parts if part.yields]


class Scheduler:
    """Waiting and running requests over one block manager."""

    def __init__(self, manager: BlockManager, max_batch_tokens: int, max_seqs: int) -> None:
        for name, value in (("max_batch_tokens", max_batch_tokens), ("max_seqs", max_seqs)):
            if value < 1:
                raise EngineError(f"{name} is {value}, expected >= 1")
        self.manager = manager
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self._max_batch_tokens = max_batch_tokens
        self._max_seqs = max_seqs

    def add(self, sequence: Sequence) -> bool:
        """Put a request at the end of the queue; False if it is larger than the pool ever is.

        Such a request would wait at the head of the queue for ever, and all others behind it.
        """
        if sequence.most_tokens > self.manager.usable_blocks * self.manager.block_tokens:
            return False
        sequence.hashes = self.manager.hashes_of(sequence.tokens.tobytes())
        self.waiting.append(sequence)
        return True

    def schedule(self) -> Schedule:
        """The next step; no parts if nothing waits and nothing runs.

        Blocks are taken and published, and `computed` is advanced: the caller must now compute
        what the parts name, all in one forward pass, and hand the tokens to `complete`.
        """
        parts: list[Part] = []
        preempted: list[Sequence] = []
        budget = self._continue_running(parts, preempted)
        first_new = len(parts)
        if not preempted:  # a step that had to throw someone out lets nobody in
            self._admit(parts, budget)
        for part in parts:
            part.sequence.computed += part.new_tokens
        if not parts and (self.waiting or self.running):
            raise AssertionError(
                f"the scheduler is stuck: {len(self.waiting)} waiting, {len(self.running)} "
                f"running, {self.manager.free_blocks} blocks free"
            )
        return Schedule(
            tuple(parts), tuple(part.sequence for part in parts[first_new:]), tuple(preempted)
        )

    def complete(self, schedule: Schedule, tokens: list[int]) -> list[Sequence]:
        """Append the step's `tokens`, one for each of `schedule.yielding`; who is finished now."""
        yielded = schedule.yielding
        for sequence, token in zip(yielded, tokens, strict=True):
            sequence.tokens.append(token)
            if len(sequence.tokens) % self.manager.block_tokens == 0:
                sequence.hashes += self.manager.hashes_of(
                    sequence.tokens.tobytes(), sequence.hashes
                )
        finished = [sequence for sequence in yielded if sequence.is_finished]
        for sequence in finished:
            self._release(sequence)
        if finished:
            self.running = [sequence for sequence in self.running if not sequence.is_finished]
        return finished

    def _continue_running(self, parts: list[Part], preempted: list[Sequence]) -> int:
        """Running requests first, oldest first; the token budget that is left."""
        budget = self._max_batch_tokens
        number = 0
        while number < len(self.running) and budget:
            sequence = self.running[number]
            new = min(len(sequence.tokens) - sequence.computed, budget)
            while not self._grow(sequence, new):
                victim = self.running.pop()
                self._preempt(victim)
                preempted.append(victim)
                if victim is sequence:
                    return budget
            parts.append(_part(sequence, new))
            budget -= new
            number += 1
        return budget

    def _admit(self, parts: list[Part], budget: int) -> None:
        """Waiting requests in order; the first that does not fit holds up all behind it."""
        size = self.manager.block_tokens
        while self.waiting and budget and len(self.running) < self._max_seqs:
            sequence = self.waiting[0]
            length = len(sequence.tokens)
            # the last token is always computed: its logits are what is asked for
            found = self.manager.match(
                sequence.hashes, sequence.tokens.tobytes(), (length - 1) // size
            )
            needed = _ceil_div(length, size) - len(found) + self.manager.unreferenced(found)
            if needed > self.manager.free_blocks:  # all of it must fit, not only the first chunk
                return
            self.waiting.popleft()
            self.running.append(sequence)
            self.manager.take(found)
            sequence.blocks = found
            hit_tokens = sequence.computed = len(found) * size
            if sequence.hit_tokens is None:
                sequence.hit_tokens = hit_tokens
            else:
                sequence.resume_hits.append(hit_tokens)
            new = min(length - hit_tokens, budget)
            grown = self._grow(sequence, new)
            assert grown, "a chunk does not fit where the whole request does"
            parts.append(_part(sequence, new))
            budget -= new

    def _grow(self, sequence: Sequence, new_tokens: int) -> bool:
        """Blocks for `new_tokens` more, published where they will be full; False if none are left.

        Output tokens fill and publish blocks like prompt tokens.
        """
        size = self.manager.block_tokens
        end = sequence.computed + new_tokens
        needed = _ceil_div(end, size) - len(sequence.blocks)
        if needed > self.manager.free_blocks:
            return False
        sequence.blocks += self.manager.allocate(needed)
        step = size * TOKEN_BYTES
        tokens = sequence.tokens.tobytes() if end // size > sequence.computed // size else b""
        for number in range(sequence.computed // size, end // size):
            self.manager.publish(
                sequence.blocks[number],
                sequence.hashes[number],
                tokens[number * step : (number + 1) * step],
                sequence.blocks[number - 1] if number else None,
            )
        return True

    def _preempt(self, sequence: Sequence) -> None:
        """Give up its blocks and put it first in the queue; readmission finds what survived."""
        self._release(sequence)
        sequence.computed = 0
        sequence.preemptions += 1
        self.waiting.appendleft(sequence)

    def _release(self, sequence: Sequence) -> None:
        self.manager.release(sequence.blocks)
        sequence.blocks = []


def _part(sequence: Sequence, new_tokens: int) -> Part:
    yields = sequence.computed + new_tokens == len(sequence.tokens)
    return Part(sequence, sequence.computed, new_tokens, yields)


def _ceil_div(tokens: int, size: int) -> int:
    return -(-tokens // size)
