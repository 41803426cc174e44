"""The dashboard's own folder: uploaded and imported logs, runs and answers, for a person to see."""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachecast_datasets.errors import BadInput

DEFAULT = Path("~/cachecast-dashboard")
_PARTS = {
    "uploads": "dropped files", "logs": "imported logs", "runs": "runs", "answers": "answers",
}  # fmt: skip
_MOST_RUNS = 40  # each fleet that is tried makes one
_MARK = "README.txt"
_README = """\
The files of `cachecast dashboard`: uploads/ what was dropped into the browser, logs/ imported logs
without text, runs/ and answers/ what was computed of them. Nothing of it leaves this machine, and
all of it may be deleted: the dashboard computes it anew.
"""


def path_typed(text: str) -> Path:
    """The path that a person wrote, with `~` for a home. BadInput for one that cannot be."""
    try:
        path = Path(text.strip() or ".").expanduser()
    except RuntimeError:
        raise BadInput(f"{text}: there is no such home folder; name the whole path") from None
    if "\0" in text:
        raise BadInput("a path cannot hold a NUL character; name a file or a folder")
    return path


@dataclass(frozen=True, slots=True)
class Folder:
    """Where the dashboard keeps its files. `empty` removes them and nothing else."""

    path: Path

    def part(self, name: str) -> Path:
        """The subfolder, made if it is not there."""
        assert name in _PARTS, name
        place = self.path / name
        try:
            place.mkdir(parents=True, exist_ok=True)
            mark = self.path / _MARK
            if not mark.exists():
                mark.write_text(_README)
        except OSError as problem:
            raise BadInput(f"{place}: cannot be made ({problem.strerror})") from None
        return place

    def contents(self) -> list[tuple[str, int, int]]:
        """(what it is, how many, bytes) of each part that holds anything."""
        found = []
        for name, what in _PARTS.items():
            entries = _entries(self.path / name)
            if entries:
                size = sum(_size(file) for entry in entries for file in (entry, *entry.rglob("*")))
                found.append((what, len(entries), size))
        return found

    def used(self, path: Path) -> None:
        """Note that one of our runs is in use, so that it is among the last to go."""
        if path.parent == self.path / "runs":
            with contextlib.suppress(OSError):
                os.utime(path)

    def prune_runs(self) -> None:
        """Remove the runs that were used longest ago, beyond the most that are kept.

        An answer whose run is gone is worked out anew.
        """
        entries = sorted(_entries(self.path / "runs"), key=_used_ns, reverse=True)
        for old in entries[_MOST_RUNS:]:
            if old.is_dir():
                shutil.rmtree(old, ignore_errors=True)
            else:
                old.unlink(missing_ok=True)

    def empty(self) -> None:
        """Remove everything that the dashboard put there."""
        for name in _PARTS:
            shutil.rmtree(self.path / name, ignore_errors=True)

    def keep(self, part: str, name: str, answer: dict[str, Any]) -> None:
        """Write a JSON document, whole or not at all."""
        place = self.part(part)
        with tempfile.NamedTemporaryFile("w", dir=place, suffix=".part", delete=False) as file:
            json.dump(answer, file)
        os.replace(file.name, place / f"{name}.json")

    def kept(self, part: str, name: str) -> dict[str, Any] | None:
        """The JSON document of that name; None if there is none, or it is damaged."""
        try:
            found = json.loads((self.path / part / f"{name}.json").read_bytes())
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def upload(self, name: str, content: memoryview | bytes) -> Path:
        """The uploaded file, kept under the hash of its content: its own name is only shown."""
        digest = hashlib.sha256(content).hexdigest()[:16]
        place = self.part("uploads") / digest
        if not place.exists():
            with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
                file.write(content)
            os.replace(file.name, place)
        return place


def _entries(place: Path) -> list[Path]:
    """What lies in it, without what is still written."""
    try:
        return [entry for entry in place.iterdir() if entry.suffix != ".part"]
    except OSError:  # there is no such folder
        return []


def _size(file: Path) -> int:
    """Bytes of a file; none of a folder, and of one that has just gone."""
    try:
        return file.stat().st_size if file.is_file() else 0
    except OSError:
        return 0


def _used_ns(entry: Path) -> int:
    try:
        return entry.stat().st_mtime_ns
    except OSError:
        return 0
