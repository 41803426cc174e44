"""The versions that could change a result."""

import importlib.metadata
import platform

_VERSIONED = ("cachecast", "simpy", "pyarrow", "duckdb", "numpy", "xxhash")


def versions() -> dict[str, str | None]:
    """Python's, ours and those of what computes; None for what runs without being installed, as we
    do from a plain checkout."""
    return {"python": platform.python_version(), **{name: _version(name) for name in _VERSIONED}}


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
