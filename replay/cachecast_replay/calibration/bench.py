"""A calibration on one engine: which grid it measures, in how much memory, and what is filed."""

import datetime
import itertools
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachecast_datasets.importing import Progress
from cachecast_replay.calibration.grid import Limits, scenes
from cachecast_replay.calibration.measure import GridRun, Sample, in_rounds
from cachecast_replay.engine.opening import open_engine
from cachecast_replay.engine.pages import return_free_memory
from cachecast_replay.machine import machine_name
from cachecast_replay.measuring import Stopwatch
from cachecast_replay.warming import warm_up
from cachecast_sim.latency.fitted_file import FORMAT, VERSION, FittedFile

if TYPE_CHECKING:  # scipy comes with the engine extra
    from cachecast_replay.calibration.fit import Fit

_SCENE_TOKENS = 256  # that a decoding request of a scene may put out
_BLOCK_TOKENS = 16


@dataclass(slots=True)
class Bench:
    """The engine that is calibrated, on which device, and how far."""

    folder: Path
    device: str
    threads: int
    normalise: bool
    limits: Limits
    attention: str = ""  # of the engine that was opened

    @property
    def step_tokens(self) -> int:
        return self.limits.new_tokens + self.limits.sequences

    @property
    def room_tokens(self) -> int:
        """Every decoding sequence, every prefix and every prompt at once, and some room."""
        limits = self.limits
        sequences = limits.sequences * (limits.context_tokens + _SCENE_TOKENS)
        return sequences + 8 * limits.context_tokens + 4 * limits.new_tokens

    def samples(
        self, rounds: int, seconds: float, seed: int, report: Progress
    ) -> list[list[Sample]]:
        """The measured steps of each round; `report` hears of every scene."""
        grid = scenes(self.limits, seed)
        done = itertools.count(1)

        def fresh(number: int) -> GridRun:
            """An engine and a probe in memory of their own; the kernels of a round stay."""
            return_free_memory()
            engine = self._engine()
            self.attention = engine.attention_name
            from cachecast_replay.probe import ModelProbe  # with torch, which is there by now

            probe = ModelProbe(self.device, self.threads) if self.normalise else None
            vocabulary = engine.shape.vocab_size
            if number == 0:
                report("warming up", 0, 1)
                warm_up(engine, vocabulary, self.step_tokens, self.room_tokens)
            engine.use_large_pages()
            return GridRun(
                engine, vocabulary, Stopwatch(probe), self.step_tokens, seed + number,
                lambda: report("calibrating", next(done), rounds * len(grid)),
            )  # fmt: skip

        return in_rounds(fresh, grid, rounds, seconds)

    def _engine(self) -> Any:
        return open_engine(
            self.folder, blocks=-(-2 * self.room_tokens // _BLOCK_TOKENS) + 1,
            block_tokens=_BLOCK_TOKENS, max_batch_tokens=self.step_tokens,
            max_seqs=self.limits.sequences + 16, device=self.device, threads=self.threads,
        )  # fmt: skip

    def file(self, found: "Fit", spec: str) -> FittedFile:
        """The latency model with where, when and on what it was measured."""
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        return FittedFile(
            format=FORMAT, version=VERSION,
            engine=f"torch {version('torch')}, {self.device}, attention {self.attention}",
            machine=f"{machine_name(self.device)}, {threads} used",
            model=f"{self.folder.resolve().name} ({spec})",
            created=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
            normalised=self.normalise, steps=found.steps, coefficients_s=found.coefficients,
            valid=found.valid, held_out=found.held_out, round_levels_pct=found.round_levels_pct,
        )  # fmt: skip
