"""Which log formats there are, and which of them a file is: by content, never by its name.

To add a format, write one file in `readers/` and enter its READER here.
"""

import gzip
import json
import re
import zlib
from pathlib import Path
from typing import BinaryIO

import msgspec
import zstandard

from cachecast_datasets.errors import at
from cachecast_datasets.readers import (
    anthropic_batch,
    cachecast_parquet,
    har,
    kv_cache_tester,
    kv_cache_tester_merged,
    mooncake,
    openai_batch,
    provider_pairs,
    sketch,
    token_ids,
)
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.source import damaged, open_bytes

READERS: dict[str, Reader] = {
    module.READER.name: module.READER
    for module in (
        cachecast_parquet, sketch, mooncake, kv_cache_tester, kv_cache_tester_merged, token_ids,
        har, openai_batch, anthropic_batch, provider_pairs,
    )
}  # fmt: skip

_HEAD_BYTES = 1 << 16
_LONGEST_LINE = 1 << 28
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_KEY = re.compile(rb'"([A-Za-z_]+)"\s*:')


def sniff(path: Path) -> Reader:
    """The reader for `path` (a file, perhaps gz or zst, or a folder).

    LogError if there is no such file, it is empty, or no format fits; the message lists them all.
    """
    head = head_of(path)
    for reader in READERS.values():
        if reader.recognises(head):
            return reader
    raise at(str(path), None, f"{_looks_like(head)}, expected {accepted()}", "wrong kind of file")


def accepted() -> str:
    """All formats, for messages."""
    return "one of: " + "; ".join(reader.description for reader in READERS.values())


def head_of(path: Path) -> Head:
    """What sniffing looks at. LogError if there is no such file or it cannot be read."""
    if path.is_dir():
        if not kv_cache_tester.session_files(path):
            problem = "the folder holds no *.json, expected kv-cache-tester sessions"
            raise at(str(path), None, problem, "no logs")
        return Head(path, b"", frozenset())
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
    if text.startswith(b"["):
        item = _first_item(text)
        keys = frozenset(item or (key.decode() for key in _KEY.findall(text)))
        return Head(path, magic, frozenset(), item, keys)
    if not text.startswith(b"{"):
        return Head(path, magic, frozenset())
    values = _first_object(path)
    # where the first line is broken, let the right reader say so
    keys = frozenset(values or (key.decode() for key in _KEY.findall(text)))
    return Head(path, magic, keys, values)


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


def _first_object(path: Path) -> dict[str, msgspec.Raw]:
    """The first object: of the first line or of the whole file; nothing if it is broken."""
    try:
        with open_bytes(path) as stream:
            line = stream.readline(_LONGEST_LINE)
            while line and not line.strip():
                line = stream.readline(_LONGEST_LINE)
            try:
                return _OBJECT.decode(line.removeprefix(b"\xef\xbb\xbf"))
            except msgspec.DecodeError:
                if len(line) < 3 or line.rstrip() == b'{"log": {':  # printed over several lines
                    return _OBJECT.decode(line + stream.read(_LONGEST_LINE))
    except (msgspec.DecodeError, UnicodeDecodeError, EOFError, OSError, zlib.error):
        pass
    except zstandard.ZstdError:
        pass
    return {}


def _first_item(head: bytes) -> dict[str, msgspec.Raw]:
    """The first item of an array, if it is an object that ends within the head."""
    text = head[1:].decode(errors="ignore").lstrip()
    try:
        item, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return {}
    if not isinstance(item, dict):
        return {}
    return {key: msgspec.Raw(json.dumps(value).encode()) for key, value in item.items()}


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
