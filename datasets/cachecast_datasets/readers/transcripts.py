"""What transcripts of coding agents have in common: files that a crash cut short, in folders."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec
import xxhash

from cachecast_datasets.checks import Bad
from cachecast_datasets.errors import LogError, at
from cachecast_datasets.files import bytes_of, files_below, ignored
from cachecast_datasets.json_faults import decode
from cachecast_datasets.source import Source, lines_of

_T = TypeVar("_T")
_CRASHES = ("cut short", "not JSON")
_ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst")


def transcript_files(folder: Path, bad: Bad = ignored) -> list[Path]:
    """The JSON Lines below `folder`: see files_below."""
    return files_below(folder, _ENDINGS, bad)


@dataclass(slots=True)
class Place:
    """A file being read: what to do with lines that a crash destroyed, and with wrong ones."""

    path: Path
    lost: Bad
    bad: Bad
    position: Callable[[int], None] = field(default=lambda done: None)
    is_ours: bool = False  # a line of the format was in it
    _foreign: list[int] = field(default_factory=list)

    def at(self, number: int | None, problem: str, reason: str = "bad value") -> LogError:
        """A LogError for a line of this file."""
        return at(str(self.path), number, problem, reason)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """(number, line) of every line that is text; the others are reported as lost."""
        for number, line in lines_of(self.path, self.bad, self.lost, self.position):
            if b"\x00" in line:
                count = line.count(b"\x00")
                problem = f"{count} NUL bytes, as a crash leaves them; expected JSON"
                self.lost(self.at(number, problem, "NUL bytes"))
            else:
                yield number, line

    def foreign(self, number: int) -> None:
        """A JSON object that is no line of the format."""
        self._foreign.append(number)

    def finish(self, kind: str) -> None:
        """Report the foreign lines: one by one, or as a whole if the file has no others."""
        if self.is_ours:
            for number in self._foreign:
                problem = f"a JSON object of another kind, expected a line of a {kind}"
                self.lost(self.at(number, problem, "another kind of line"))
        elif self._foreign:
            problem = f"{len(self._foreign):,} lines of other JSON, expected those of a {kind}"
            self.lost(self.at(None, problem, "another kind of file"))

    def decode(self, decoder: "msgspec.json.Decoder[_T]", data: bytes, number: int) -> _T:
        """The decoded value, or a LogError that says what is wrong with it."""
        return decode(decoder, data, str(self.path), number)

    def part(self, decoder: "msgspec.json.Decoder[_T]", data: bytes, number: int) -> _T:
        """The same for what is inside a line that was decoded before."""
        return decode(decoder, data, str(self.path), number, is_part=True)

    def refuse(self, number: int, problem: ValueError | LogError | RecursionError) -> None:
        """Report a line: as lost if a crash may have made it what it is, else as bad."""
        if isinstance(problem, RecursionError):
            problem = self.at(number, "the JSON is nested too deeply", "not JSON")
        error = problem if isinstance(problem, LogError) else self.at(number, str(problem))
        (self.lost if error.reason in _CRASHES else self.bad)(error)


def places(source: Source, files: list[Path]) -> Iterator[Place]:
    """A place for each file; the source's position counts the bytes of all of them."""
    done = 0
    for path in files:
        base = done

        def position(used: int, base: int = base) -> None:
            source.position(base + used)

        yield Place(path, source.lost, source.bad, position)
        done += bytes_of(path)
        source.position(done)


def id_hash(text: str) -> int:
    """128 bits of an id, for `Source.seen`: 80 bytes an id whatever its length."""
    return xxhash.xxh3_128_intdigest(text.encode(errors="surrogatepass"))
