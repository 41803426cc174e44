"""Import other people's logs into one cachecast Parquet."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cachecast_datasets.trace import Trace

Progress = Callable[[str, int, int], None]  # (what is being done, done, total) in bytes or rows


@dataclass(frozen=True, slots=True)
class Skip:
    """Rows (or files) left out for one reason, with the message of the first of them."""

    reason: str
    count: int
    example: str


@dataclass(slots=True)
class ImportSummary:
    """What an import read, skipped and wrote. `period` is (first, last) arrival, RFC 3339 or s."""

    rows: int
    out: Path
    source_format: str
    evidence: str
    sessions: int
    models: list[str]
    period: tuple[str, str] | None
    skipped: list[Skip] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def import_log(
    sources: Sequence[Path],
    out: Path,
    *,
    skip_bad: bool = False,
    spread_s: float | None = None,
    seed: int = 0,
    keep_text: bool = False,
    progress: Progress | None = None,
) -> ImportSummary:
    """Read `sources` (any format in READERS), merge them by arrival, write `out`."""
    raise NotImplementedError


def open_or_import(
    paths: Sequence[Path],
    *,
    skip_bad: bool = False,
    tmp_dir: Path,
    progress: Progress | None = None,
) -> tuple[Trace, ImportSummary | None]:
    """A cachecast Parquet as it is; anything else imported into a temporary Parquet first."""
    raise NotImplementedError
