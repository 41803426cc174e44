"""One input of an import: its bytes, its lines and what happens to bad ones."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cachecast_datasets.content_names import ContentNames
from cachecast_datasets.errors import Bad, LogError, at, refuse
from cachecast_datasets.files import cannot_be_read, unreadable
from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.packed import DAMAGED, bytes_read, damaged, open_bytes, unpacked_name
from cachecast_datasets.tokenizers import Tokenizer


@dataclass(slots=True)
class Source:
    """A file or folder that a reader reads.

    `prefix` goes before ids that the reader makes up (line numbers), so that several sources do
    not collide; `scope` keeps block ids apart that are local to a source. `bad` is called with each
    fault; a reader goes on with the next row if it returns. `position` is called with the bytes of
    the input used so far. A reader may set `meta` where its format alone does not say everything,
    and `file` where it reads several (then rows have no line, and messages name the file alone);
    `line_word` is what messages call a row's line.
    `beside` are the import's inputs of the same format, for those that keep requests and responses
    in two files. `tokenizer` counts tokens of texts; `texts` takes (request id, texts of prompt
    blocks, texts of answer blocks) if they are kept.
    `lost` is called with each line that a crash destroyed, in formats where that is no error: it is
    counted and named, never raised. `has_boundaries`: the reader's requests with content blocks
    come with their boundaries. `seen` holds the ids of an import's earlier requests (128-bit
    hashes), for formats whose files copy each other's lines. `processes`: how many may
    read at once.
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
    line_word: str = "line"
    beside: tuple[Path, ...] = ()
    tokenizer: Tokenizer | None = None
    texts: Callable[[str, Sequence[str], Sequence[str]], None] | None = None
    has_boundaries: bool = False
    seen: set[int] = field(default_factory=set)
    processes: int = 1

    def __post_init__(self) -> None:
        self.scope = self.scope or unpacked_name(self.path.name)

    @property
    def label(self) -> str:
        """The file as messages name it."""
        return str(self.path)


def as_text(name: str) -> str:
    """A file's name for ids, with \\udcff for a byte 0xff that is no UTF-8."""
    return name.encode(errors="backslashreplace").decode()


def scopes(paths: Sequence[Path]) -> list[str]:
    """One scope a source: its name, or its path as given where another one has that name."""
    names = [unpacked_name(path.name) for path in paths]
    distinct = set(paths)
    alone = {name for name in names if sum(unpacked_name(p.name) == name for p in distinct) == 1}
    return [name if name in alone else str(path) for name, path in zip(names, paths, strict=True)]


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
                position(bytes_read(stream))
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
