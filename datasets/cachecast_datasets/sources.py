"""Which log formats there are, and which of them a file is: by content, never by its name.

To add a format, write one file in `readers/` and enter its name and module here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import msgspec

from cachecast_datasets.errors import LogError, at
from cachecast_datasets.files import bytes_of, cannot_be_read, unreadable
from cachecast_datasets.heads import WRAPPERS, csv_columns, row_keys
from cachecast_datasets.packed import DAMAGED, damaged, open_bytes, start_of
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.shown import named

# name -> module in `readers`, in the order in which files are asked
_MODULES = {
    "sketch": "sketch", "mooncake": "mooncake", "kv-cache-tester": "kv_cache_tester",
    "kv-cache-tester-merged": "kv_cache_tester_merged", "token-ids": "token_ids",
    "litellm": "litellm", "langfuse": "langfuse", "otel": "otel", "openrouter": "openrouter",
    "azure": "azure_csv", "lmcache": "lmcache", "sharegpt": "sharegpt", "tracelab": "tracelab",
    "har": "har", "openai-batch": "openai_batch", "anthropic-batch": "anthropic_batch",
    "provider-json": "provider_pairs", "claude-code": "claude_code", "codex": "codex",
    "parquet": "cachecast_parquet",
}  # fmt: skip


class _Readers(Mapping[str, Reader]):
    """The readers by name. A module is imported when its reader is asked for: most files are known
    by one of the first, and all of them together take longer to import than a small log to read."""

    def __getitem__(self, name: str) -> Reader:
        reader = import_module(f"cachecast_datasets.readers.{_MODULES[name]}").READER
        assert isinstance(reader, Reader)
        assert reader.name == name
        return reader

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


READERS: Mapping[str, Reader] = _Readers()

_HEAD_BYTES = 1 << 16
_LONGEST_LINE = 1 << 28
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LOOKS = 50  # at most twice as many files of a folder are looked at
_KEY = re.compile(rb'"([A-Za-z_]+)"\s*:')


def sniff(path: Path) -> Reader:
    """The reader for `path` (a file, perhaps gz or zst, or a folder).

    LogError if there is no such file, it is empty, or no format fits; the message names them all.
    """
    fault = unreadable(path)
    if fault is not None:
        raise fault
    if path.is_dir():
        return _of_folder(path)
    head = head_of(path)
    # by four bytes it is known for certain, and the other readers' modules take a while to import
    for name in sorted(READERS, key=lambda name: name != "parquet"):
        reader = READERS[name]
        if reader.recognises(head):
            return reader
    raise at(str(path), None, f"{_looks_like(head)}, expected {accepted()}", "wrong kind of file")


def accepted() -> str:
    """The names of all formats, for messages, and where to read what they are."""
    return f"one of {', '.join(READERS)} (see cachecast import --help or docs/log-formats.md)"


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
    problem = (
        f"the folder holds no logs of a kind that is read from folders, expected {kinds}; "
        "name files of other kinds one by one"
    )
    raise at(str(path), None, problem, "no logs")


def _knows_files_of(reader: Reader, folder: Path) -> bool:
    """Whether the reader recognises one of its files there, of a few all over the folder."""
    assert reader.files is not None
    files = reader.files(folder)
    for file in files[:: max(1, len(files) // _LOOKS)]:
        try:
            if reader.recognises(head_of(file)):
                return True
        except LogError:  # an empty or broken file among others: the reader will say so
            continue
    return False


def size_of(path: Path) -> int:
    """The bytes of a file, or of the session files of a folder; what cannot be read counts 0."""
    if not path.is_dir():
        return bytes_of(path)
    readers = [reader.files for reader in READERS.values() if reader.files is not None]
    return sum(map(bytes_of, {file for files in readers for file in files(path)}))


def head_of(path: Path) -> Head:
    """What sniffing looks at. LogError if there is no such file or it cannot be read."""
    fault = unreadable(path)
    if fault is not None:
        raise fault
    try:
        magic = start_of(path, _HEAD_BYTES)
    except DAMAGED as problem:
        raise damaged(str(path), 0, problem) from problem
    except OSError as problem:
        raise cannot_be_read(path, problem) from problem
    if not magic.strip():
        raise at(str(path), None, "the file is empty, expected a request log", "empty file")
    text = magic.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"["):
        item = _first_item(text)
        keys = frozenset(item or (key.decode() for key in _KEY.findall(text)))
        return Head(path, magic, frozenset(), row_keys(text), values=item, item_keys=keys)
    if not text.startswith(b"{"):
        return Head(path, magic, frozenset(), columns=csv_columns(text))
    values = _first_object(path)
    # where the first line is broken, let the right reader say so
    keys = frozenset(values or (key.decode() for key in _KEY.findall(text)))
    wrapped = row_keys(text) if keys & set(WRAPPERS) else frozenset()
    return Head(path, magic, keys, wrapped, values=values)


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
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError, *DAMAGED):
        pass
    return {}


def _first_item(head: bytes) -> dict[str, msgspec.Raw]:
    """The first item of an array, if it is an object that ends within the head."""
    text = head[1:].decode(errors="ignore").lstrip()
    try:
        item, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(item, dict):
        return {}
    return {key: msgspec.Raw(json.dumps(value).encode()) for key, value in item.items()}


def _looks_like(head: Head) -> str:
    if head.keys:
        few = ", ".join(map(named, sorted(head.keys)[:8]))
        note = " (Qwen-Bailian is not read yet)" if "chat_id" in head.keys else ""
        return f"JSON with the keys {few}{note}"
    try:
        text = head.magic[:-4].decode() if len(head.magic) == _HEAD_BYTES else head.magic.decode()
    except UnicodeDecodeError:
        return "not text and not Parquet"
    return "not text and not Parquet" if "\x00" in text else "text, but no JSON objects"
