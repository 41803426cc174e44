"""Which token counts of a forked or spawned thread are its parent's, copied into its file.

Copies carry new timestamps: the instant of the fork. So a count is the parent's if the parent's
own file holds the same (total, last) pair, or if it stands in the burst at the start of the file.
Builds from 0.144 on start a child's counts from zero and copy none.
"""

from dataclasses import dataclass, field

from cachecast_datasets.readers.transcripts import id_hash

BURST_US = 40_000
_COUNTS_FROM_ZERO = (0, 144)


@dataclass(slots=True)
class CopyFilter:
    """Judges the counts of one child, in order. `parent` are the payloads of its parent's file."""

    parent: frozenset[int] | set[int]
    cli_version: str | None
    started_us: int | None  # when the file's first line was written
    _in_burst: bool = True
    _before_us: int | None = field(default=None)

    def __post_init__(self) -> None:
        self._before_us = self.started_us
        if counts_from_zero(self.cli_version):
            self.parent = frozenset()
            self._in_burst = False

    def is_copy(self, payload: int, time_us: int | None) -> bool:
        """Whether the event is the parent's."""
        near = (
            time_us is not None
            and self._before_us is not None
            and abs(time_us - self._before_us) <= BURST_US
        )
        self._in_burst = self._in_burst and near
        self._before_us = time_us
        return self._in_burst or payload in self.parent


def counts_from_zero(version: str | None) -> bool:
    """Whether builds of this version give a child its own count."""
    numbers = [int(part) for part in (version or "").split("-")[0].split(".") if part.isdigit()]
    return tuple(numbers[:2]) >= _COUNTS_FROM_ZERO


def payload_hash(total: object, last: object) -> int:
    """What identifies an event whatever its timestamp."""
    return id_hash(f"{total}/{last}")
