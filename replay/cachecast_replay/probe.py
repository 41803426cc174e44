"""A fixed piece of work that tells how fast the machine is at the moment."""

import torch

_PRODUCTS, _SIDE = 24, 256
_VECTOR_SIDE = 1_536


class MatrixProbe:
    """Products of small matrices (what a prefill does) and one product of a vector with matrices of
    some 28 MB (what a decode step does): about 8 ms on the machine of docs/validation.md."""

    def __init__(self, device: torch.device) -> None:
        generator = torch.Generator().manual_seed(0)
        self._device = device
        self._square = torch.randn(_SIDE, _SIDE, generator=generator).to(device)
        self._large = [
            torch.randn(_VECTOR_SIDE, _VECTOR_SIDE, generator=generator).to(device)
            for _ in range(3)
        ]
        self._vector = torch.randn(1, _VECTOR_SIDE, generator=generator).to(device)

    def __call__(self) -> None:
        with torch.inference_mode():
            product = self._square
            for _ in range(_PRODUCTS):
                product = torch.mm(self._square, product)
                product = product / product.abs().max()
            vector = self._vector
            for matrix in self._large:
                vector = torch.mm(vector, matrix)
            if self._device.type == "cuda":
                torch.cuda.synchronize(self._device)
