"""A fixed piece of work that tells how fast the machine is at the moment."""

import torch

from cachecast_replay.engine.products import product

_SQUARES, _SIDE = 11, 256
_LARGE, _LARGE_SIDE, _ROWS = 8, 1_536, 4


class MatrixProbe:
    """Half of its time products of small matrices, which need arithmetic as a prefill does, half a
    few rows times 75 MB of matrices, which need memory as a decode step does: about 8 ms on the
    machine of docs/validation.md. Neighbours slow the two by different factors."""

    def __init__(self, device: str | torch.device) -> None:
        device = torch.device(device)
        generator = torch.Generator().manual_seed(0)
        self._device = device
        self._square = torch.randn(_SIDE, _SIDE, generator=generator).to(device)
        self._large = [
            product((torch.randn(_LARGE_SIDE, _LARGE_SIDE, generator=generator) / 40).to(device))
            for _ in range(_LARGE)
        ]
        self._rows = torch.randn(_ROWS, _LARGE_SIDE, generator=generator).to(device)

    def __call__(self) -> None:
        with torch.inference_mode():
            square = self._square
            for _ in range(_SQUARES):
                square = torch.mm(self._square, square)
                square = square / square.abs().max()
            rows = self._rows
            for large in self._large:
                rows = large(rows)
            if self._device.type == "cuda":
                torch.cuda.synchronize(self._device)
