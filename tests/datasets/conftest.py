"""Small logs, made in the test's own folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cachecast_datasets.importing import ImportSummary, import_log
from cachecast_datasets.request import Request
from cachecast_datasets.source import Source
from cachecast_datasets.sources import sniff
from cachecast_datasets.trace import Trace, open_trace

Write = Callable[..., Path]
TraceOf = Callable[..., Trace]
ImportAll = Callable[..., tuple[Trace, ImportSummary]]
ReadText = Callable[[str], tuple[list[Request], Source]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write lines (objects as JSON, strings and bytes as they are) into a file."""

    def write_lines(*lines: Any, name: str = "log.jsonl") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(_line(line) for line in lines))
        return path

    return write_lines


def _line(line: Any) -> bytes:
    if isinstance(line, bytes):
        return line
    text = line if isinstance(line, str) else json.dumps(line)
    return text.encode() + b"\n"


@pytest.fixture
def import_all(tmp_path: Path) -> Callable[..., tuple[Trace, ImportSummary]]:
    """Import files into a new Parquet: the trace and the summary."""

    def run(*sources: Path, **options: Any) -> tuple[Trace, ImportSummary]:
        out = tmp_path / f"out{len(list(tmp_path.glob('out*')))}.parquet"
        summary = import_log(sources, out, **options)
        return open_trace(out), summary

    return run


@pytest.fixture
def trace_of(
    write: Write, import_all: Callable[..., tuple[Trace, ImportSummary]]
) -> Callable[..., Trace]:
    """Import the lines of one log: the trace."""

    def run(*lines: Any, **options: Any) -> Trace:
        return import_all(write(*lines), **options)[0]

    return run


@pytest.fixture
def read_text(tmp_path: Path) -> ReadText:
    """Sniff and read the text of one log: its requests, and the source with its notes."""

    def run(text: str) -> tuple[list[Request], Source]:
        path = tmp_path / "log"
        path.write_text(text)
        source = Source(path)
        return list(sniff(path).read(source)), source

    return run
