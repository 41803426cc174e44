"""Sketch lines or pairs asked why: one (row, finding) a request, in log order.

first, second = why("claude-opus-5", line(0, *prompt), line(10, *prompt))
"""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cachecast.scenarios import scenario_of
from cachecast.why_job import Why, ask
from cachecast_datasets.importing import open_or_import
from cachecast_datasets.kept_texts import kept_texts
from cachecast_pricing.catalog import load_catalog
from cachecast_sim.ledger import LedgerRow
from cachecast_sim.why.causes import Finding


def asked(scenario: str, lines: Sequence[dict[str, Any]], with_text: bool = True) -> Why:
    """The whole answer for a log of these lines, sketch or pairs."""
    catalog = load_catalog()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        log.write_text("".join(json.dumps(entry) + "\n" for entry in lines))
        trace = open_or_import([log], tmp_dir=Path(folder), keep_text=True)
        texts = kept_texts(trace.path) if with_text else None
        found = ask(trace, scenario_of(scenario, catalog), catalog, texts=texts, keep_rows=True)
        if texts is not None:
            texts.close()
        return found


def why(scenario: str, *lines: dict[str, Any]) -> dict[str, tuple[LedgerRow, Finding]]:
    """(row, finding) of each request that missed, by its id ("1", "2" … in a sketch)."""
    return {row.request.request_id: (row, found) for row, found in asked(scenario, lines).rows}


def cause_of(scenario: str, *lines: dict[str, Any]) -> str | None:
    """The certain cause of the last line's misses; None if it missed nothing."""
    rows = asked(scenario, lines).rows
    last = [found for row, found in rows if row.outcome.ordinal == len(lines) - 1]
    return last[0].cause if last else None
