"""The side file of `import --keep-text`: the texts of each request, by block.

Parquet with the columns request_id, side (prompt or answer), block (its index there) and text.
Written only when it was asked for, beside the log: OUT.text.parquet for OUT.parquet.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

SCHEMA = pa.schema(
    [
        pa.field("request_id", pa.string(), nullable=False),
        pa.field("side", pa.string(), nullable=False),
        pa.field("block", pa.int32(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
    ]
)
GROUP_CHARACTERS = 8 << 20


def text_path(out: Path) -> Path:
    """Where the texts of the log `out` go."""
    stem = out.name.removesuffix(".parquet")
    return out.with_name(f"{stem}.text.parquet")


def left_behind(out: Path) -> bool:
    """Whether the texts of an earlier import lie beside `out`; no if their name is too long."""
    try:
        return text_path(out).exists()
    except OSError:
        return False


class TextFile:
    """Takes the texts of one request after the other; `rows` counts the texts."""

    def __init__(self, path: Path) -> None:
        self.rows = 0
        self._writer = pq.ParquetWriter(path, SCHEMA, compression="zstd")
        self._seen: set[int] = set()
        self._waiting: list[tuple[str, str, int, str]] = []
        self._characters = 0

    def add(self, request_id: str, prompt: Sequence[str], answer: Sequence[str]) -> None:
        """The texts of one request; of two with the same id only the first one's are kept."""
        key = xxhash.xxh64_intdigest(request_id.encode(errors="surrogatepass"))
        if key in self._seen:
            return
        self._seen.add(key)
        for side, texts in (("prompt", prompt), ("answer", answer)):
            for block, text in enumerate(texts):
                clean = text.encode(errors="replace").decode()  # no lone surrogates in UTF-8
                self._waiting.append((request_id, side, block, clean))
                self._characters += len(text)
        if self._characters >= GROUP_CHARACTERS:
            self._flush()

    def close(self) -> None:
        """Write what waits and the footer."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._waiting:
            columns = [
                pa.array(c, f.type)
                for c, f in zip(zip(*self._waiting, strict=True), SCHEMA, strict=True)
            ]
            self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=SCHEMA))
            self.rows += len(self._waiting)
        self._waiting, self._characters = [], 0


@contextmanager
def text_file(folder: Path, path: Path, warnings: list[str]) -> Iterator[TextFile]:
    """A text file that appears at `path` when the block ends well, if it holds anything."""
    file = TextFile(folder / path.name)
    try:
        yield file
    finally:
        file.close()
    if file.rows:
        os.replace(folder / path.name, path)
    else:
        warnings.append("--keep-text: these formats carry no text, nothing to keep")
