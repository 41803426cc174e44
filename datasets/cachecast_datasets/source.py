"""One input of an import: its bytes, its lines and what happens to bad ones."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from cachecast_datasets.checks import Bad, refuse
from cachecast_datasets.content_names import ContentNames
from cachecast_datasets.errors import LogError, at
from cachecast_datasets.packed import DAMAGED, open_bytes
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.shown import shown
from cachecast_datasets.tokenizers import Tokenizer


@dataclass(slots=True)
class Source:
    """A file or folder that a reader reads.

    `prefix` goes before ids that the reader makes up (line numbers), so that several sources do
    not collide; `scope` keeps block ids apart that are local to a source. `bad` is called with each
    fault; a reader goes on with the next row if it returns. `position` is called with the bytes of
    the input used so far. A reader may set `meta` where its format alone does not say everything,
    and `file` where it reads several (then rows have no line, and messages name the file alone).
    `beside` are the import's inputs of the same format, for those that keep requests and responses
    in two files. `tokenizer` counts tokens of texts; `texts` takes (request id, texts of prompt
    blocks, texts of answer blocks) if they are kept.
    `lost` is called with each line that a crash destroyed, in formats where that is no error: it is
    counted and named, never raised. `has_boundaries`: the reader's requests with content blocks
    come with their boundaries. `seen` holds the ids of an import's earlier requests (128-bit
    hashes), for formats whose files copy each other's lines.
    """

    path: Path
    prefix: str = ""
    scope: str = ""
    bad: Bad = refuse
    lost: Callable[[LogError], None] = field(default=lambda problem: None)
    position: Callable[[int], None] = field(default=lambda done: None)
    meta: LogMeta | None = None
    notes: list[str] = field(default_factory=list)
    accounts_hashed: bool = False
    skip_bad: bool = False
    names: ContentNames = field(default_factory=ContentNames)
    file: Path | None = None
    beside: tuple[Path, ...] = ()
    tokenizer: Tokenizer | None = None
    texts: Callable[[str, Sequence[str], Sequence[str]], None] | None = None
    has_boundaries: bool = False
    seen: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.scope = self.scope or unpacked_name(self.path.name)

    @property
    def label(self) -> str:
        """The file as messages name it."""
        return str(self.path)


def as_text(name: str) -> str:
    """A file's name for ids, with \\udcff for a byte 0xff that is no UTF-8."""
    return name.encode(errors="backslashreplace").decode()


def unpacked_name(name: str) -> str:
    """A file's name without `.gz` or `.zst`: packing a file does not make it another source."""
    for ending in (".gz", ".zst"):
        if name.endswith(ending) and name != ending:
            return name.removesuffix(ending)
    return name


def scopes(paths: Sequence[Path]) -> list[str]:
    """One scope a source: its name, or its path as given where another one has that name."""
    names = [unpacked_name(path.name) for path in paths]
    distinct = set(paths)
    alone = {name for name in names if sum(unpacked_name(p.name) == name for p in distinct) == 1}
    return [name if name in alone else str(path) for name, path in zip(names, paths, strict=True)]


def ignored(problem: LogError) -> None:
    """For those who only look: the reader will tell of the fault."""


def files_below(folder: Path, endings: tuple[str, ...], bad: Bad = ignored) -> list[Path]:
    """The files of these endings below `folder`, in a fixed order, links and odd ones included.

    `bad` is told of a folder that may not be read.
    """

    def closed(problem: OSError) -> None:
        bad(cannot_be_read(Path(problem.filename), problem))

    return sorted(
        Path(place, name)
        for place, _, names in os.walk(folder, onerror=closed)
        for name in names
        if name.endswith(endings)
    )


def unreadable(path: Path) -> LogError | None:
    """Why `path` cannot be read as a file or folder, None if it looks as if it can."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        what = "is a link to nothing" if path.is_symlink() else "no such file or folder"
        accepted = ", expected a file" if path.is_symlink() else ""
        return at(str(path), None, what + accepted, "missing file")
    except (OSError, ValueError) as problem:
        return cannot_be_read(path, problem)
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return None
    text = (
        "is a pipe or a device, which cannot be read twice, expected a file or a folder; "
        "write it to a file first"
    )
    return at(str(path), None, text, "unreadable")


def cannot_be_read(path: Path, problem: OSError | ValueError) -> LogError:
    """The sentence for a file that the system does not let us read."""
    why = getattr(problem, "strerror", None) or str(problem)
    name = shown(str(path)) if "\0" in str(path) else str(path)
    return at(name, None, f"cannot be read ({why}), expected a readable file", "unreadable")


def read_lines(source: Source) -> Iterator[tuple[int, bytes]]:
    """(line number from 1, line with its end) for every line that is not blank.

    Calls `source.bad` for a line that is no UTF-8 and for compressed data that end early.
    """
    return lines_of(source.path, source.bad, source.bad, source.position)


def lines_of(
    path: Path, bad: Bad, not_text: Bad, position: Callable[[int], None]
) -> Iterator[tuple[int, bytes]]:
    """The same for one file; `not_text` gets the lines that are no UTF-8."""
    number = 0
    fault = unreadable(path)
    if fault is not None:
        bad(fault)
        return
    try:
        stream = open_bytes(path)
    except OSError as problem:
        bad(cannot_be_read(path, problem))
        return
    try:
        for number, line in enumerate(stream, start=1):
            if number == 1 and line.startswith(b"\xef\xbb\xbf"):
                line = line[3:]
            if number % 256 == 0:
                position(_raw_position(stream))
            if not line.strip():
                continue
            wrong = utf8_fault(line)
            if wrong is None:
                yield number, line
            else:
                not_text(at(str(path), number, wrong, "invalid UTF-8"))
    except DAMAGED as problem:
        bad(damaged(str(path), number, problem))
    except OSError as problem:
        bad(cannot_be_read(path, problem))
    finally:
        stream.close()


def _raw_position(stream: BinaryIO) -> int:
    """How far the file itself has been read, compressed bytes included."""
    packed = getattr(getattr(stream, "raw", None), "_raw", None)
    return int((packed or stream).tell())


def read_whole(source: Source, path: Path) -> bytes:
    """The uncompressed bytes of one JSON file. LogError if it is cut short or no UTF-8."""
    fault = unreadable(path)
    if fault is not None:
        raise fault
    try:
        with open_bytes(path) as stream:
            data = stream.read()
    except DAMAGED as problem:
        raise damaged(str(path), 0, problem) from problem
    except OSError as problem:
        raise cannot_be_read(path, problem) from problem
    if not data.strip():
        raise at(str(path), None, "the file is empty, expected a request log", "empty file")
    text_fault = utf8_fault(data)
    if text_fault is not None:
        raise at(str(path), None, text_fault, "invalid UTF-8")
    return data.removeprefix(b"\xef\xbb\xbf")


def damaged(label: str, lines: int, problem: Exception) -> LogError:
    """The message for compressed data that end early or are broken."""
    what = (
        "the compressed data end early (a file cut short)"
        if isinstance(problem, EOFError)
        else f"the compressed data are damaged ({problem})"
    )
    after = f" after {lines} whole lines" if lines else ""
    return at(label, None, f"{what}{after}, expected a complete gz or zst file", "cut short")


def utf8_fault(data: bytes) -> str | None:
    """What is wrong with `data` as UTF-8, None if nothing is."""
    if data.isascii():
        return None
    try:
        data.decode()
    except UnicodeDecodeError as problem:
        byte = data[problem.start]
        return f"byte {problem.start + 1} is 0x{byte:02x}, which is not valid UTF-8, expected UTF-8"
    return None
