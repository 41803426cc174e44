"""Files as they are or packed as gz or zst, told by their first bytes; packed ones may be cut."""

import gzip
import io
import zlib
from pathlib import Path
from typing import BinaryIO

import zstandard

from cachecast_datasets.errors import LogError, at

GZIP_MAGIC, ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# what reading packed data that end early or are broken may raise: see `damaged`
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError)


def unpacked_name(name: str) -> str:
    """A file's name without `.gz` or `.zst`: packing a file does not make it another source."""
    for ending in (".gz", ".zst"):
        if name.endswith(ending) and name != ending:
            return name.removesuffix(ending)
    return name


def open_bytes(path: Path) -> BinaryIO:
    """The content of `path`, uncompressed on the fly if it starts like gz or zst.

    Reading from a compressed file that ends early raises EOFError.
    """
    raw = path.open("rb")
    magic = raw.read(4)
    raw.seek(0)
    if magic.startswith(GZIP_MAGIC):
        raw.close()  # a GzipFile closes only what it opened
        return io.BufferedReader(_Gzip(path), 1 << 17)
    if magic.startswith(ZSTD_MAGIC):
        return io.BufferedReader(_Zstd(raw), 1 << 20)
    return raw


class _Gzip(io.RawIOBase):
    """A gz stream that hands on all data before the place where it ends early."""

    def __init__(self, path: Path) -> None:
        self._file = gzip.GzipFile(path, "rb")
        self._raw = self._file.fileobj

    def readable(self) -> bool:
        return True

    def readinto(self, target: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._file.read1(len(target))  # GzipFile.readinto would go on, and lose it
        target[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Zstd(io.RawIOBase):
    """A zst stream that, unlike zstandard's own reader, notices when a frame is cut short."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._started = False
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, target: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            if self._frame.eof:
                rest = self._frame.unused_data
                self._frame = zstandard.ZstdDecompressor().decompressobj()
                self._started = False
            else:
                rest = b""
            data = rest or self._raw.read(1 << 17)
            if not data:
                if self._started:
                    raise EOFError("zst cut short")
                return 0
            self._started = True
            self._ready = self._frame.decompress(data)
        count = min(len(target), len(self._ready))
        target[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


def bytes_read(stream: BinaryIO) -> int:
    """How far the file itself has been read, compressed bytes included."""
    packed = getattr(getattr(stream, "raw", None), "_raw", None)
    return int((packed or stream).tell())


def damaged(label: str, lines: int, problem: Exception) -> LogError:
    """The message for compressed data that end early or are broken."""
    what = (
        "the compressed data end early (a file cut short)"
        if isinstance(problem, EOFError)
        else f"the compressed data are damaged ({problem})"
    )
    after = f" after {lines} whole lines" if lines else ""
    return at(label, None, f"{what}{after}, expected a complete gz or zst file", "cut short")


def start_of(path: Path, size: int) -> bytes:
    """The first `size` bytes, or what there is before compressed data end early or break.

    Raises one of DAMAGED if there is nothing before that.
    """
    data = b""
    with open_bytes(path) as stream:
        try:
            while len(data) < size and (piece := stream.read1(1 << 12)):  # type: ignore[attr-defined]
                data += piece
        except DAMAGED:
            if not data:
                raise
    return data[:size]
