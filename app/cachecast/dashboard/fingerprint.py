"""What an answer depends on besides the log and the question: this program and its libraries."""

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from cachecast.versions import versions

_PACKAGES = (
    "cachecast_datasets", "cachecast_pricing", "cachecast_sim", "cachecast_replay", "cachecast",
)  # fmt: skip


@cache
def fingerprint() -> str:
    """A short hash that changes with any file of cachecast (prices too) and any version."""
    digest = hashlib.sha256(repr(sorted(versions().items())).encode())
    for package in _PACKAGES:
        spec = find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        root = Path(spec.origin).parent
        for file in sorted((*root.rglob("*.py"), *root.rglob("*.toml"))):
            seen = file.stat()
            digest.update(f"{file.relative_to(root)} {seen.st_size} {seen.st_mtime_ns}".encode())
    return digest.hexdigest()[:12]
