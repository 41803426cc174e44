"""The scenarios of the page as files and as a command."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]

_TEXT, _COUNT, _RATIO = pa.string(), pa.int64(), pa.float64()
SCHEMA = pa.schema([
    ("scenario", _TEXT), ("change", _TEXT), ("model", _TEXT), ("currency", _TEXT),
    ("charge", _TEXT), ("charge_change", _TEXT), ("charge_change_share", _RATIO),
    ("hit_tokens", _COUNT), ("prefill_tokens", _COUNT), ("hit_share", _RATIO),
    ("sessions_better", _COUNT), ("sessions_worse", _COUNT), ("share_worse", _RATIO),
    ("ttft_p50_s", _RATIO), ("ttft_p99_s", _RATIO),
])  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(rows: Sequence[Row]) -> str:
    """One line a scenario; what is unknown is empty. Money is exact, in its currency."""
    text = io.StringIO()
    writer = csv.DictWriter(text, SCHEMA.names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        named = {"scenario": _harmless(row["scenario"]), "change": _harmless(row["change"])}
        writer.writerow(row | named)
    return text.getvalue()


def as_parquet(rows: Sequence[Row]) -> bytes:
    """The same with types; money stays text, as in `--json`."""
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), SCHEMA), file)
    return file.getvalue()


def command(source: Path, scenario: str, changes: Sequence[str]) -> str:
    """The line that prints the same numbers."""
    words = ["cachecast", "whatif", str(source), "--as", scenario]
    for change in dict.fromkeys(changes):
        words += ["--change", change]
    return " ".join(map(quote, words))


def _harmless(text: str) -> str:
    """A name that a spreadsheet takes for text, not for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text
