"""Pair logs whose first line is a lone brace: one indented value, or lines with a broken first."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_calls import claude, message, pair, said, usage

from cachecast_datasets.errors import LogError
from cachecast_datasets.importing import ImportSummary
from cachecast_datasets.trace import Trace

Write = Callable[..., Path]
ImportAll = Callable[..., tuple[Trace, ImportSummary]]

ASK = claude(messages=[said("user", "How are you?")])
ROW = pair(ASK, message(usage(1000)))
NEXT = pair(ASK, message(usage(1000), id="msg_2"))


def skipped(summary: ImportSummary) -> int:
    return sum(skip.count for skip in summary.skipped)


def test_lines_after_a_cut_first_line_are_still_read(write: Write, import_all: ImportAll) -> None:
    log = write("{", '"request": {', ROW, NEXT)
    trace, summary = import_all(log, skip_bad=True)
    assert (len(list(trace)), skipped(summary)) == (2, 2)


def test_a_cut_first_line_is_named_where_nothing_may_be_skipped(
    write: Write, import_all: ImportAll
) -> None:
    with pytest.raises(LogError, match=r"line 1\b"):
        import_all(write("{", ROW, NEXT))


def test_an_indented_pair_is_one_request(write: Write, import_all: ImportAll) -> None:
    trace, summary = import_all(write(json.dumps(ROW, indent=2)))
    assert (len(list(trace)), skipped(summary)) == (1, 0)


def test_a_broken_indented_pair_is_one_fault_and_not_one_a_line(
    write: Write, import_all: ImportAll
) -> None:
    broken: Any = json.dumps(ROW, indent=2).replace('"max_tokens"', "max_tokens")
    _, summary = import_all(write(broken), skip_bad=True, force=True)
    assert (summary.rows, skipped(summary)) == (0, 1)
