"""Which log formats there are, and which of them a file is: by content, never by its name.

To add a format, write one file in `readers/` and enter its READER here.
"""

import gzip
import re
import zlib
from pathlib import Path
from typing import BinaryIO

import msgspec
import zstandard

from cachecast_datasets.errors import LogError, at
from cachecast_datasets.readers import (
    cachecast_parquet,
    claude_code,
    codex,
    kv_cache_tester,
    kv_cache_tester_merged,
    mooncake,
    sketch,
    token_ids,
)
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.source import damaged, open_bytes

READERS: dict[str, Reader] = {
    module.READER.name: module.READER
    for module in (
        cachecast_parquet, sketch, mooncake, kv_cache_tester, kv_cache_tester_merged, token_ids,
        claude_code, codex,
    )
}  # fmt: skip

_HEAD_BYTES = 1 << 16
_LONGEST_LINE = 1 << 28
_LOOKS = 50  # at most twice as many files of a folder are looked at
_KEY = re.compile(rb'"([A-Za-z_]+)"\s*:')


def sniff(path: Path) -> Reader:
    """The reader for `path` (a file, perhaps gz or zst, or a folder).

    LogError if there is no such file, it is empty, or no format fits; the message lists them all.
    """
    if path.is_dir():
        return _of_folder(path)
    head = _head(path)
    for reader in READERS.values():
        if reader.recognises(head):
            return reader
    raise at(str(path), None, f"{_looks_like(head)}, expected {accepted()}", "wrong kind of file")


def accepted() -> str:
    """All formats, for messages."""
    return "one of: " + "; ".join(reader.description for reader in READERS.values())


def _of_folder(path: Path) -> Reader:
    """The one reader that knows files of the folder; LogError if there is none, or several."""
    readers = [reader for reader in READERS.values() if reader.files is not None]
    fitting = [reader.name for reader in readers if _knows_files_of(reader, path)]
    if len(fitting) == 1:
        return READERS[fitting[0]]
    if fitting:
        problem = f"the folder holds logs of several kinds ({', '.join(fitting)}), expected one"
        raise at(str(path), None, f"{problem}: name its folders or files one by one", "mixed logs")
    kinds = ", ".join(reader.name for reader in readers)
    problem = f"the folder holds no logs of a kind that is read from folders, expected {kinds}"
    raise at(str(path), None, problem, "no logs")


def _knows_files_of(reader: Reader, folder: Path) -> bool:
    """Whether the reader recognises one of its files there, of a few all over the folder."""
    assert reader.files is not None
    files = reader.files(folder)
    for file in files[:: max(1, len(files) // _LOOKS)]:
        try:
            if reader.recognises(_head(file)):
                return True
        except LogError:  # an empty or broken file among others: the reader will say so
            continue
    return False


def _head(path: Path) -> Head:
    try:
        with open_bytes(path) as stream:
            magic = _first_bytes(stream)
    except FileNotFoundError as problem:
        raise at(str(path), None, "no such file or folder", "missing file") from problem
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as problem:
        raise damaged(str(path), 0, problem) from problem
    except OSError as problem:
        raise at(str(path), None, f"cannot be read: {problem.strerror}", "unreadable") from problem
    if not magic.strip():
        raise at(str(path), None, "the file is empty, expected a request log", "empty file")
    text = magic.removeprefix(b"\xef\xbb\xbf").lstrip()
    return Head(path, magic, _keys(path, text) if text.startswith(b"{") else frozenset())


def _first_bytes(stream: BinaryIO) -> bytes:
    """The first _HEAD_BYTES, or what there is before compressed data end early."""
    data = b""
    try:
        while len(data) < _HEAD_BYTES and (piece := stream.read1(1 << 12)):  # type: ignore[attr-defined]
            data += piece
    except EOFError:
        if not data:
            raise
    return data[:_HEAD_BYTES]


def _keys(path: Path, head: bytes) -> frozenset[str]:
    """The keys of the first object: of the first line, of the whole file, or what looks so."""
    decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
    try:
        with open_bytes(path) as stream:
            line = stream.readline(_LONGEST_LINE)
            while line and not line.strip():
                line = stream.readline(_LONGEST_LINE)
            try:
                return frozenset(decoder.decode(line.removeprefix(b"\xef\xbb\xbf")))
            except msgspec.DecodeError:
                if len(line) < 3:  # `{` alone: printed over several lines
                    return frozenset(decoder.decode(line + stream.read(_LONGEST_LINE)))
    except (msgspec.DecodeError, UnicodeDecodeError, EOFError, OSError, zlib.error):
        pass
    except zstandard.ZstdError:
        pass
    # the first line is broken: let the right reader say so
    return frozenset(key.decode() for key in _KEY.findall(head))


def _looks_like(head: Head) -> str:
    if head.keys:
        few = ", ".join(sorted(head.keys)[:8])
        note = " (Qwen-Bailian is not read yet)" if "chat_id" in head.keys else ""
        return f"JSON with the keys {few}{note}"
    try:
        text = head.magic[:-4].decode() if len(head.magic) == _HEAD_BYTES else head.magic.decode()
    except UnicodeDecodeError:
        return "not text and not Parquet"
    return "not text and not Parquet" if "\x00" in text else "text, but no JSON objects"
