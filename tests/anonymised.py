"""Logs anonymised with a fixed salt, for tests."""

from pathlib import Path
from typing import Any

from cachecast_datasets.anonymising import Anonymiser
from cachecast_datasets.importing import import_log

SALT = b"sixteen bytes 16"


def anonymised(source: Path, out: Path, salt: bytes = SALT, **options: Any) -> Path:
    import_log([source], out, anonymise=Anonymiser(salt), **options)
    return out
