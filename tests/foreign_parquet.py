"""Parquet files by somebody else, for the tests of what is refused in them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cachecast_datasets.errors import LogError
from cachecast_datasets.importing import import_log
from cachecast_datasets.request_log import SCHEMA
from cachecast_datasets.trace import open_trace

US = pa.timestamp("us", "UTC")
STAMP = {
    "cachecast.format": "cachecast.request_log", "cachecast.version": "1",
    "cachecast.source_format": "x", "cachecast.evidence": "blocks",
    "cachecast.carries_markers": "true",
}  # fmt: skip
BASE: dict[str, Any] = {
    "request_id": ["a", "b"], "arrival": pa.array([0, 1], US), "prompt_tokens": [128, 128],
    "token_block_size": [64, 64], "token_blocks": pa.array([[1, 2], [1, 2]], pa.list_(pa.uint64())),
}  # fmt: skip


def parquet(folder: Path, metadata: dict[Any, Any] | None = None, **columns: Any) -> Path:
    given = BASE | columns
    arrays = {
        name: values
        if isinstance(values, pa.Array) or name not in SCHEMA.names
        else pa.array(values, SCHEMA.field(name).type)
        for name, values in given.items()
        if values is not None
    }
    pq.write_table(pa.table(arrays).replace_schema_metadata(metadata), folder / "log.parquet")
    return folder / "log.parquet"


def refusal(path: Path, columns: list[str] | None = None) -> str:
    """What reading it says; importing it must say the same and leave nothing behind."""
    with pytest.raises(LogError) as caught:
        list(open_trace(path).requests(columns=columns))
    out = path.with_name("out.parquet")
    with pytest.raises(LogError) as again:
        import_log([path], out)
    assert str(again.value) == str(caught.value)
    assert list(path.parent.iterdir()) == [path]
    return str(caught.value).replace(str(path), "FILE")


def end(tokens: int | None, **more: Any) -> dict[str, Any]:
    return {"tokens": tokens, "hash": 7, "name": "end", "position": 1} | more
