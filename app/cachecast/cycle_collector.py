"""Python's cycle collector, off while a log is worked through."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_cycle_collector() -> Iterator[None]:
    """Rules and servers make hardly any cycles, and looking for them again and again among millions
    of live objects costs a sixth of a bill and a quarter of a simulation (docs/performance.md)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
