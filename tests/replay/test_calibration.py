"""The grid that a calibration measures, its rounds, and the probe beside it."""

from collections import Counter

import pytest
import torch

from cachecast_replay.calibration.grid import Limits, Point, Scene, scenes
from cachecast_replay.calibration.measure import Sample, in_rounds
from cachecast_replay.engine.pages import WORTH_BYTES
from cachecast_replay.probe import ModelProbe, _inputs


def test_decoding_sequences_double_with_a_step_between() -> None:
    """No decoding at all once; every other number with contexts of 64, 256 and 1,024 tokens. In
    short scenes the numbers that are left up to 8, with the least and the most of these."""
    grid = [scene for scene in scenes(Limits(512, 16, 1024), seed=1) if not scene.shared]
    found = Counter(scene.sequences for scene in grid)
    assert found == {0: 1, 5: 2, 7: 2, **dict.fromkeys((1, 2, 3, 4, 6, 8, 12, 16), 3)}
    assert [s.context for s in grid if s.sequences == 5] == [64, 1024]


def test_some_scenes_share_three_quarters_of_the_longest_context() -> None:
    grid = scenes(Limits(512, 16, 1024), seed=1)
    found = [(s.sequences, s.context, s.shared) for s in grid if s.shared]
    assert found == [(count, 1024, 768) for count in (2, 4, 8, 16)]


def test_decoding_alone_is_measured_three_times_a_scene() -> None:
    grid = scenes(Limits(512, 16, 1024), seed=1)
    assert {scene.points.count(Point(0, 0, 0)) for scene in grid if scene.sequences} == {3}
    assert [scene.points.count(Point(0, 0, 0)) for scene in grid if not scene.sequences] == [0]


class Round:
    """Stands for a GridRun: a scene takes one second of `clock`, its sample is its number."""

    def __init__(self, number: int, clock: list[float]) -> None:
        self.number, self.clock = number, clock

    def samples(self, grid: list[Scene], until_s: float | None = None) -> list[Sample]:
        found = []
        for place in range(len(grid)):
            if until_s is not None and self.clock[0] > until_s:
                break
            self.clock[0] += 1
            found.append(Sample(place, 0, (0, 0, 0, 1, 64, 64), self.number))
        return found


@pytest.mark.parametrize(
    ("at_most_s", "rounds"),
    [(100, [[0, 0, 0], [1, 1, 1], [2, 2, 2]]), (4, [[0, 0, 0], [1, 1]]), (1, [[0, 0, 0]])],
)
def test_each_round_has_an_engine_of_its_own_and_the_first_is_whole(
    monkeypatch: pytest.MonkeyPatch, at_most_s: float, rounds: list[list[int]]
) -> None:
    """Three scenes of a second: after 4 s the fifth ends at 5 s and no other begins."""
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    grid = [Scene(1, 64, (Point(0, 0, 0),))] * 3
    found = in_rounds(lambda number: Round(number, clock), grid, 3, at_most_s)  # type: ignore[arg-type,return-value]
    assert [[sample.duration_ns for sample in each] for each in found] == rounds


def test_the_probe_reads_more_memory_than_a_processor_keeps_translations_for() -> None:
    """And its numbers stay numbers, each time the same."""
    probe = ModelProbe("cpu")
    assert 4 * probe._model._shape.parameters > WORTH_BYTES
    decode, prefill = probe._decode, probe._prefill
    hidden = []
    for inputs in (decode, prefill, decode, prefill):
        hidden.append(probe._model.hidden(inputs, probe._cache))
        probe.forward()
        probe.chunk()
    assert [each.shape for each in hidden] == [(4, 384), (1, 384)] * 2
    assert torch.isfinite(torch.cat(hidden)).all()
    assert torch.equal(hidden[0], hidden[2])
    assert torch.equal(hidden[1], hidden[3])


def test_a_chunk_of_the_probe_is_96_tokens_behind_256_in_blocks_of_its_own() -> None:
    """352 tokens are 22 blocks of 16; numbered from 68, the new ones lie from slot 84 * 16 on."""
    inputs = _inputs([96], 68, torch.device("cpu"))
    assert inputs.rows.tables.tolist() == [list(range(68, 90))]
    assert inputs.positions.tolist() == list(range(256, 352))
    assert inputs.slots.tolist() == list(range(84 * 16, 90 * 16))
    assert inputs.wanted is not None
    assert inputs.wanted.tolist() == [95]


def test_the_sequences_of_the_probe_share_no_block() -> None:
    """Four contexts of 256 tokens and one more: 17 blocks of 16 each; the new token in the last."""
    inputs = _inputs([1] * 4, 0, torch.device("cpu"))
    assert sorted(inputs.rows.tables.flatten().tolist()) == list(range(4 * 17))
    assert inputs.slots.tolist() == [16 * 16, 33 * 16, 50 * 16, 67 * 16]
    assert inputs.wanted is not None
    assert inputs.wanted.tolist() == [0, 1, 2, 3]
    assert inputs.positions.tolist() == [256] * 4
