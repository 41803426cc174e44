"""The engine: requests in, one forward pass a step, tokens out."""

from collections.abc import Sequence as Tokens
from typing import Literal

import torch

from cachecast_replay.engine.attention import BY_DEVICE, attention_of, fastest_attention
from cachecast_replay.engine.blocks import BlockManager
from cachecast_replay.engine.errors import EngineError
from cachecast_replay.engine.kv_cache import KVCache
from cachecast_replay.engine.model import Model
from cachecast_replay.engine.pages import WORTH_BYTES, use_large_pages
from cachecast_replay.engine.records import RequestResult, StepPart, StepRecord
from cachecast_replay.engine.room import check_room
from cachecast_replay.engine.scheduler import Part, Schedule, Scheduler
from cachecast_replay.engine.sequence import Sequence
from cachecast_replay.engine.shape import ModelShape
from cachecast_replay.engine.step_inputs import step_inputs
from cachecast_replay.engine.weights import Weights, size_bytes

MOST_THREADS = 1024  # more than machines have cores; OpenMP ends the process if it cannot have all


class Engine:
    """Continuous batching over a paged KV cache, on one device.

    `add` requests at any time and call `step` until it returns None; `results` has what is done.
    `threads` is set for the whole process: torch has one setting.
    """

    def __init__(
        self,
        shape: ModelShape,
        weights: Weights,
        *,
        blocks: int,
        block_tokens: int,
        max_batch_tokens: int,
        max_seqs: int,
        device: str = "cpu",
        threads: int = 1,
        attention: str | None = None,
    ) -> None:
        """`attention`: one of those for the device (attention/__init__.py); None = the fastest.

        Raises EngineError for settings that cannot be run here.
        """
        self.device = usable_device(device)
        if threads < 1:
            raise EngineError(f"threads is {threads}, expected >= 1")
        if threads > MOST_THREADS:
            raise EngineError(f"threads is {threads:,}, expected at most {MOST_THREADS:,}")
        if weights.device.type != self.device.type:
            raise EngineError(f"the weights lie on {weights.device}, the engine is for {device}")
        check_room(shape, blocks, block_tokens, self.device, weights.dtype)
        torch.set_num_threads(threads)
        self.shape = shape
        self.manager = BlockManager(blocks, block_tokens)
        self.scheduler = Scheduler(self.manager, max_batch_tokens, max_seqs)
        self.cache = KVCache(shape, blocks, block_tokens, self.device, weights.dtype)
        if attention is None:
            name, attend = fastest_attention(self.device, weights.dtype, shape.head_dim, threads)
        else:
            name = attention
            attend = attention_of(attention, self.device, weights.dtype, shape.head_dim, threads)
        self.attention_name = name
        self.model = Model(shape, weights, attend)
        self.memory_bytes = size_bytes(shape, weights.dtype) + self.cache.pages.nbytes
        self.results: dict[str, RequestResult] = {}
        self._unfinished: dict[str, Sequence] = {}

    def add(
        self,
        request_id: str,
        prompt_token_ids: Tokens[int],
        output_len: int,
        forced_output: Tokens[int] | None = None,
    ) -> None:
        """Queue a request; its output is `forced_output`, or what the model likes best (greedy).

        One that is larger than the whole pool is `rejected` in `results` at once. Raises
        EngineError for an id that was used before or token ids outside the vocabulary.
        """
        if request_id in self._unfinished or request_id in self.results:
            raise EngineError(f"request {request_id}: there was a request of this id before")
        sequence = Sequence(request_id, prompt_token_ids, output_len, forced_output)
        highest = max(max(sequence.tokens), max(sequence.forced or (0,)))
        if highest >= self.shape.vocab_size:
            raise EngineError(
                f"request {request_id}: token id {highest}, the model's vocabulary has "
                f"{self.shape.vocab_size:,}"
            )
        if self.scheduler.add(sequence):
            self._unfinished[request_id] = sequence
        else:
            self._end(sequence, "rejected")

    def step(self) -> StepRecord | None:
        """One forward pass over what the scheduler picks; None if no request is left.

        When it returns, the step's work is done on a GPU too, so a clock around it is right.
        """
        if not self._unfinished:
            return None
        schedule = self.scheduler.schedule()
        held = self.manager.usable_blocks - self.manager.free_blocks
        tokens = self._run(schedule)
        parts = tuple(_step_part(part) for part in schedule.parts)
        names = [sequence.request_id for sequence in schedule.yielding]
        finished = self.scheduler.complete(schedule, tokens)
        for sequence in finished:
            del self._unfinished[sequence.request_id]
            self._end(sequence, "completed")
        return StepRecord(
            parts,
            admitted=tuple(sequence.request_id for sequence in schedule.admitted),
            preempted=tuple(sequence.request_id for sequence in schedule.preempted),
            yielded=tuple(zip(names, tokens, strict=True)),
            finished=tuple(sequence.request_id for sequence in finished),
            held_tokens=held * self.manager.block_tokens,
        )

    def use_large_pages(self) -> int:
        """Move the memory that steps read to large pages, best after a warm-up; bytes moved.

        0 on a GPU, for a model so small that it gains nothing, and where the system gives none.
        """
        if self.device.type != "cpu" or self.memory_bytes < WORTH_BYTES:
            return 0
        return use_large_pages()

    def _run(self, schedule: Schedule) -> list[int]:
        """The forward pass, and the token that each of `schedule.yielding` puts out.

        The model's own choice is computed even where the output is forced: it is part of the work.
        """
        inputs = step_inputs(schedule, self.manager.block_tokens, self.device)
        hidden = self.model.hidden(inputs, self.cache)
        greedy = self.model.logits(hidden).argmax(dim=-1).tolist() if len(hidden) else []
        if not greedy and self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return [
            token if sequence.next_forced is None else sequence.next_forced
            for sequence, token in zip(schedule.yielding, greedy, strict=True)
        ]

    def _end(self, sequence: Sequence, status: Literal["completed", "rejected"]) -> None:
        self.results[sequence.request_id] = RequestResult(
            sequence.request_id,
            status,
            prompt_tokens=sequence.prompt_tokens,
            hit_tokens=sequence.hit_tokens,
            resume_hits=tuple(sequence.resume_hits),
            preemptions=sequence.preemptions,
            output_token_ids=tuple(sequence.output_token_ids),
        )


def usable_device(name: str) -> torch.device:
    """The device called `cpu` or `cuda` (or `cuda:1`). Raises EngineError if it is not there."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise EngineError(f"device {name!r} is unknown; known: {', '.join(BY_DEVICE)}") from None
    if device.type not in BY_DEVICE:
        raise EngineError(f"device {name!r} is not supported; known: {', '.join(BY_DEVICE)}")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise EngineError(f"device {name!r}: torch finds no CUDA GPU on this machine; use cpu")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        last = torch.cuda.device_count() - 1
        raise EngineError(f"device {name!r}: the last GPU of this machine is cuda:{last}")
    return device


def _step_part(part: Part) -> StepPart:
    phase: Literal["prefill", "decode"] = "decode" if part.is_decode else "prefill"
    return StepPart(part.sequence.request_id, part.start_tokens, part.new_tokens, phase)
