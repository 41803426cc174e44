"""Options that would have no effect are refused: they were meant to have one."""

from pathlib import Path

from cachecast_datasets.errors import BadInput


def check_force(force: bool, *places: tuple[str, Path | None]) -> None:
    """BadInput for --force without a place to write to; `places` are (option, its value)."""
    if force and all(value is None for _, value in places):
        raise BadInput(f"--force: expected {' or '.join(name for name, _ in places)} too")
