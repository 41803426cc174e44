"""Where the rows of an import came from, for messages about them."""

from cachecast_datasets.source import Source


class RowPlaces:
    """The files of an import, numbered in the order in which their rows came."""

    def __init__(self) -> None:
        self._files: list[tuple[str, bool]] = []  # (file, whether its rows are lines)

    def __len__(self) -> int:
        return len(self._files)

    def number_of(self, source: Source) -> int:
        """The number of the file that `source` reads now."""
        label = source.label if source.file is None else str(source.file)
        if not self._files or self._files[-1][0] != label:
            self._files.append((label, source.file is None))
        return len(self._files) - 1

    def place(self, number: int, line: int | None) -> tuple[str, int | None]:
        """The file of that number, and the line where its rows are lines."""
        file, has_lines = self._files[number]
        return file, line if has_lines else None

    def spelled(self, number: int, line: int | None) -> str:
        """`FILE line N`, or the file alone."""
        file, shown_line = self.place(number, line)
        return file if shown_line is None else f"{file} line {shown_line}"
