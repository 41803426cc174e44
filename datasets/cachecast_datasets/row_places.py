"""Where the rows of an import came from, for messages about them."""

from cachecast_datasets.errors import LogError, placed
from cachecast_datasets.source import Source


class RowPlaces:
    """The files of an import, numbered in the order in which their rows came."""

    def __init__(self) -> None:
        # (file, what its rows' lines are called, None if they have none)
        self._files: list[tuple[str, str | None]] = []

    def __len__(self) -> int:
        return len(self._files)

    def number_of(self, source: Source) -> int:
        """The number of the file that `source` reads now."""
        label = source.label if source.file is None else str(source.file)
        if not self._files or self._files[-1][0] != label:
            self._files.append((label, source.line_word if source.file is None else None))
        return len(self._files) - 1

    def fault(self, number: int, line: int | None, problem: str, reason: str) -> LogError:
        """A LogError at that line of the file of that number, or in the file."""
        file, word = self._files[number]
        return placed(file, word or "", line if word else None, problem, reason)

    def spelled(self, number: int, line: int | None) -> str:
        """`FILE line N`, or the file alone."""
        file, word = self._files[number]
        return file if word is None or line is None else f"{file} {word} {line}"
