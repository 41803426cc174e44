"""Running the grid on an engine: every step's work and its time."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cachecast_replay.calibration.grid import Point, Scene
from cachecast_replay.engine.records import StepRecord
from cachecast_replay.measuring import Stopwatch
from cachecast_replay.runner import Engine, step_of

Counts = tuple[int, int, int, int, int, int]
_SPARE = 4  # steps of a scene beyond those that its prompts and its points need


@dataclass(frozen=True, slots=True)
class Sample:
    """One measured step: which point of which scene, its six counts (prefill tokens, requests and
    pairs, decode requests and context, held tokens), and its nanoseconds."""

    scene: int
    point: int
    counts: Counts
    duration_ns: int


def in_rounds(
    fresh: Callable[[int], "GridRun"], scenes: Sequence[Scene], rounds: int, at_most_s: float
) -> list[list[Sample]]:
    """Every scene once a round, each round on the GridRun that `fresh` makes for its number.

    The same engine is some 2 % slower or faster for where its memory happens to lie, so rounds
    share none. After `at_most_s` seconds no scene is begun; the first round is always whole.
    """
    until_s = time.monotonic() + at_most_s
    found = [fresh(0).samples(scenes)]
    for number in range(1, rounds):
        if time.monotonic() > until_s:
            break
        found.append(fresh(number).samples(scenes, until_s))
    return found


class GridRun:
    """Measures scenes on an engine, in shuffled order.

    `step_tokens` is the engine's token budget. The same sequences and prefixes come back in every
    scene, longer or shorter, so that the engine computes each of them only once; each sequence has
    blocks of its own, as real ones have, but for the `shared` tokens of a scene.
    `measured_scene` hears of every scene.
    """

    def __init__(
        self, engine: Engine, vocabulary: int, stopwatch: Stopwatch, step_tokens: int,
        seed: int = 0, measured_scene: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._engine = engine
        self._vocabulary = vocabulary
        self._stopwatch = stopwatch
        self._draw = random.Random(seed)
        self._measured_scene = measured_scene
        self._named = 0
        self._step_tokens = step_tokens
        self._streams: dict[str, list[int]] = {}
        self._record: StepRecord | None = None

    def samples(self, scenes: Sequence[Scene], until_s: float | None = None) -> list[Sample]:
        """One round; no scene is begun after `until_s` of the monotonic clock, if one is given."""
        order = list(range(len(scenes)))
        self._draw.shuffle(order)
        found: list[Sample] = []
        for number in order:
            if until_s is not None and time.monotonic() > until_s:
                break
            found += self._scene(number, scenes[number])
            self._measured_scene()
        return found

    def _scene(self, number: int, scene: Scene) -> list[Sample]:
        prefixes = {p.prefix: self._stream("prefix", p.prefix) for p in scene.points if p.prefix}
        prompts = scene.sequences * scene.context + sum(prefixes) + len(prefixes)
        output = -(-prompts // self._step_tokens) + len(scene.points) + _SPARE
        for sequence in range(scene.sequences):
            own = self._stream(f"sequence {sequence}", scene.context)
            self._add([*self._stream("shared", scene.shared), *own[scene.shared :]], output)
        for prefix in prefixes.values():
            self._add([*prefix, self._token()], 1)
        while not self._only_decodes(scene.sequences):
            pass
        order = list(enumerate(scene.points))
        self._draw.shuffle(order)
        found = [Sample(number, place, *self._measured(point, prefixes)) for place, point in order]
        self._drain()
        return found

    def _measured(self, point: Point, prefixes: dict[int, list[int]]) -> tuple[Counts, int]:
        for _ in range(point.prompts):
            prefix = prefixes.get(point.prefix, [])
            self._add([*prefix, *self._tokens(point.new_tokens)], 1)
        took = self._stopwatch.time(self._advance)
        assert self._record is not None, "a scene has something to compute"
        step = step_of(0, 0, took, self._record)
        counts = (
            step.prefill_tokens, step.prefill_requests, step.prefill_pairs, step.decode_requests,
            step.decode_context, step.held_tokens,
        )  # fmt: skip
        return counts, took.duration_ns

    def _only_decodes(self, sequences: int) -> bool:
        """One step further; whether all sequences decode and nothing else is left."""
        if not sequences:
            self._drain()
            return True
        self._advance()
        record = self._record
        assert record is not None, "decoding sequences are left"
        return record.decode_requests == sequences and not record.prefill_requests

    def _drain(self) -> None:
        """Until nothing is left."""
        self._advance()
        while self._record is not None:
            self._advance()

    def _advance(self) -> None:
        self._record = self._engine.step()

    def _add(self, prompt: list[int], output: int) -> None:
        self._named += 1
        forced = self._tokens(output)
        self._engine.add(f"calibration-{self._named}", prompt, output, forced)

    def _stream(self, name: str, count: int) -> list[int]:
        """The first `count` tokens of what is called so."""
        found = self._streams.setdefault(name, [])
        found += self._tokens(count - len(found))
        return found[:count]

    def _tokens(self, count: int) -> list[int]:
        return [self._token() for _ in range(count)]

    def _token(self) -> int:
        return self._draw.randrange(self._vocabulary)
