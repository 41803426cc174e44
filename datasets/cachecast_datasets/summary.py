"""What an import did."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Skip:
    """Rows (or files) left out for one reason, with the message of the first of them."""

    reason: str
    count: int
    example: str


@dataclass(slots=True)
class ImportSummary:
    """What an import read, skipped and wrote.

    `period` is the first and the last arrival, RFC 3339 where the log knows absolute times, else
    seconds from its zero; None for an empty log.
    """

    rows: int
    out: Path
    source_format: str
    evidence: str
    sessions: int
    models: list[str]
    period: tuple[str, str] | tuple[float, float] | None
    skipped: list[Skip] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
