"""Kernels in machine code: numba, its results kept on disk where some folder can be written."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

_F = TypeVar("_F", bound=Callable[..., object])


def compiled(kernel: _F) -> _F:
    """`kernel` as machine code, made at its first call and kept for the next process.

    Integers wrap as in C. A kernel must not mix signed and unsigned numbers (numba makes floats).
    """
    try:
        return cast(_F, numba.njit(cache=True)(kernel))
    except RuntimeError:  # neither beside the module nor in a home folder may anything be kept
        return cast(_F, numba.njit(kernel))
