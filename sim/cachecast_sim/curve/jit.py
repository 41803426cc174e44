"""Kernels in machine code: numba, its results kept on disk where some folder can be written."""

from collections.abc import Callable
from types import ModuleType
from typing import TypeVar, cast

import numba
import xxhash

_F = TypeVar("_F", bound=Callable[..., object])


def compiled(kernel: _F) -> _F:
    """`kernel` as machine code, made at its first call and kept for the next process.

    Integers wrap as in C. A kernel must not mix signed and unsigned numbers (numba makes floats).
    It runs without Python's lock, so threads run kernels side by side.
    """
    return _compiled(kernel, nogil=True)


def compiled_for_many_calls(kernel: _F) -> _F:
    """The same for a kernel that is called thousands of times a second and soon comes back: it
    keeps Python's lock, for which it would wait behind a busy thread at the end of every call."""
    return _compiled(kernel, nogil=False)


def _compiled(kernel: _F, nogil: bool) -> _F:
    try:
        return cast(_F, numba.njit(cache=True, nogil=nogil)(kernel))
    except RuntimeError:  # neither beside the module nor in a home folder may anything be kept
        return cast(_F, numba.njit(nogil=nogil)(kernel))


def part(kernel: _F) -> _F:
    """A part of kernels that stand in other files; it is never kept by itself.

    What is kept is made anew when the kernel's own file changes, or a number that it closes over:
    `made_of` the files of its parts.
    """
    return cast(_F, numba.njit(forceinline=True)(kernel))


def made_of(*modules: ModuleType) -> int:
    """A number, never 0, that changes with the code and the whole numbers of these modules."""
    found = xxhash.xxh64()
    for module in modules:
        for name, value in sorted(vars(module).items()):
            code = getattr(getattr(value, "py_func", None), "__code__", None)
            if code is not None:
                found.update(code.co_code + repr((name, code.co_consts, code.co_names)).encode())
            elif isinstance(value, int):
                found.update(repr((name, value)).encode())
    return found.intdigest() >> 1 | 1


def inlined(part: _F) -> _F:
    """A part of a kernel: its code is put where the kernel calls it.

    It must stand in the kernel's own file: a kept kernel is made anew when that file changes.
    """
    return cast(_F, numba.njit(nogil=True, inline="always")(part))
