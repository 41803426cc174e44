"""Latency models and files for tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from cachecast_datasets.errors import BadInput
from cachecast_sim.latency.fitted_file import Coefficients, FittedFile, HeldOutError, ValidRange


@dataclass
class Files:
    """Files in memory, in place of the command line's reader."""

    texts: Mapping[str, str] = field(default_factory=dict)
    durations_ns: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def text(self, path: str) -> str:
        if path not in self.texts:
            raise BadInput(f"{path}: no such file")
        return self.texts[path]

    def step_durations_ns(self, run: str) -> Sequence[int]:
        if run not in self.durations_ns:
            raise BadInput(f"{run}: no such run")
        return self.durations_ns[run]


FITTED = FittedFile(
    format="cachecast.latency",
    version=1,
    engine='torch 2.9.1 "eager", cpu, float32, 1 thread',
    machine="two shared cores",
    model="tiny-llama",
    created="2026-11-29",
    normalised=True,
    steps=312,
    coefficients_s=Coefficients(
        constant=0.001,
        knots=[1, 2, 4],
        new_token=[0.0005, 0.0003, 0.0001],
        prefill_request=0.00002,
        decode_request=0.00003,
        prefill_pair=1e-8,
        decode_context_token=4e-7,
    ),
    valid=ValidRange((1, 512), (1, 8), (1, 32), (1, 200_000), (10, 40_000)),
    held_out=HeldOutError(steps=104, mean_pct=3.6, p90_pct=6.5),
)


def fitted_with(**changes: object) -> FittedFile:
    """`FITTED` with other coefficients."""
    return msgspec.structs.replace(
        FITTED, coefficients_s=msgspec.structs.replace(FITTED.coefficients_s, **changes)
    )
