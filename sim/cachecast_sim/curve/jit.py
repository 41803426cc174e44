"""Kernels in machine code: numba, its results kept on disk where some folder can be written."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

_F = TypeVar("_F", bound=Callable[..., object])


def compiled(kernel: _F) -> _F:
    """`kernel` as machine code, made at its first call and kept for the next process.

    Integers wrap as in C. A kernel must not mix signed and unsigned numbers (numba makes floats).
    It runs without Python's lock, so threads run kernels side by side.
    """
    try:
        return cast(_F, numba.njit(cache=True, nogil=True)(kernel))
    except RuntimeError:  # neither beside the module nor in a home folder may anything be kept
        return cast(_F, numba.njit(nogil=True)(kernel))


def inlined(part: _F) -> _F:
    """A part of a kernel: its code is put where the kernel calls it.

    It must stand in the kernel's own file: a kept kernel is made anew when that file changes.
    """
    return cast(_F, numba.njit(nogil=True, inline="always")(part))
