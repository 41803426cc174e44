"""Bodies inside a HAR: base64, gzip, deflate, zstd and (with the package) brotli undone."""

import base64
import binascii
import importlib
import zlib
from collections.abc import Mapping
from typing import Any

import zstandard

from cachecast_datasets.packed import GZIP_MAGIC, ZSTD_MAGIC

MOST_BYTES = 1 << 28  # of one body: more is no prompt, but a trap


class Unreadable(ValueError):
    """A body that is there, but cannot be read; the message says what would be needed."""


def headers_of(message: Mapping[str, Any]) -> dict[str, str]:
    """Header names in lower case."""
    found: dict[str, str] = {}
    headers = message.get("headers")
    for header in headers if isinstance(headers, list) else ():
        if isinstance(header, dict) and isinstance(header.get("name"), str):
            found[header["name"].lower()] = str(header.get("value") or "")
    return found


def body_text(content: Any, headers: Mapping[str, str]) -> str | None:
    """The text of `postData` or `content`; None if there is none. Unreadable if it is packed."""
    text = content.get("text") if isinstance(content, dict) else None
    if not isinstance(text, str) or not text:
        return None
    if text.lstrip()[:1] in ("{", "["):
        return text
    if content.get("encoding") == "base64":
        try:
            data = base64.b64decode(text, validate=False)
        except (binascii.Error, ValueError) as problem:
            raise Unreadable(f"its base64 is broken ({problem})") from problem
    else:
        try:
            data = text.encode("latin-1")  # bytes that an exporter wrote as characters
        except UnicodeEncodeError:
            return text
    return _unpacked(data, headers.get("content-encoding", "").strip().lower(), text)


def _unpacked(data: bytes, encoding: str, text: str) -> str:
    try:
        if data.startswith(GZIP_MAGIC):
            data = _inflated(data, 31)
        elif data.startswith(ZSTD_MAGIC):
            frame = zstandard.ZstdDecompressor().stream_reader(data)
            data = frame.read(MOST_BYTES)
        elif encoding == "deflate" and data[:1] == b"\x78":
            data = _inflated(data, 15)
        elif encoding == "br" and data.lstrip()[:1] not in (b"{", b"[", b"e", b"d", b":"):
            data = _brotli(data)
        elif data == text.encode("latin-1", errors="ignore"):
            return text
    except (zlib.error, zstandard.ZstdError, EOFError) as problem:
        raise Unreadable(f"its {encoding or 'compressed'} data are damaged") from problem
    return data.decode(errors="replace")


def _inflated(data: bytes, window: int) -> bytes:
    machine = zlib.decompressobj(window)
    out = machine.decompress(data, MOST_BYTES)
    if not machine.eof:
        raise EOFError
    return out


def _brotli(data: bytes) -> bytes:
    for name in ("brotli", "brotlicffi"):
        try:
            package: Any = importlib.import_module(name)
        except ImportError:
            continue
        try:
            return bytes(package.decompress(data))
        except package.error as problem:
            raise Unreadable("its br data are damaged") from problem
    raise Unreadable("it is packed with br, and the Python package brotli is not installed")
