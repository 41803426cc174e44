"""Reading with several processes: the same result, byte for byte, and the same messages."""

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_transcripts import answer, text, tokens, user

from cachecast_datasets.errors import BadInput, LogError
from cachecast_datasets.importing import ImportSummary, import_log
from cachecast_datasets.processes import in_order
from cachecast_datasets.readers import claude_code

Write = Callable[..., Path]


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_the_order_of_the_pieces(processes: int) -> None:
    pieces = [range(2_000_000), *map(range, range(20))]  # the first takes the longest
    assert list(in_order(sum, pieces, processes)) == [n * (n - 1) // 2 for n in map(len, pieces)]


@pytest.mark.parametrize("processes", [1, 2])
def test_what_a_piece_raises_is_raised_after_the_results_before_it(processes: int) -> None:
    results = in_order(math.sqrt, [4.0, 9.0, -1.0, 16.0], processes)
    assert [next(results), next(results)] == [2, 3]
    with pytest.raises(ValueError, match="math domain error"):
        next(results)


def test_a_process_that_is_ended_from_outside_is_one_sentence() -> None:
    with pytest.raises(BadInput, match=r"was ended from outside \(no memory left\?\)"):
        list(in_order(os._exit, [9, 9, 9], 2))


@pytest.fixture
def folder(write: Write, tmp_path: Path) -> Path:
    """Sessions with sub-agents, side chains, copies, a crash and wrong values."""
    question = user(0, "u1", None, "How are you on 2026-05-01?")
    for number in range(5):
        names = {"sessionId": f"s{number}"}
        own = {"id": f"m{number}", "requestId": f"r{number}", **names}
        side = {"isSidechain": True, "requestId": "r", **names}
        write(
            question | names,
            answer(1, "a1", "u1", tokens(900, output=9), text("Fine."), **own),
            answer(2, "b1", "u1", tokens(40), text("Aside."), id=f"side{number}", **side),
            answer(2, "b2", "u1", tokens(40), text("Again."), id=f"m{number}", **side),
            answer(3, "a2", "a1", tokens(-1), id="bad", **names),
            answer(3, "a3", "a1", tokens(950), id="shared", requestId="shared", **names),
            b'{"type": "assi',
            name=f"p/s{number}.jsonl",
        )
        write(
            answer(4, "c1", None, tokens(70 + number), id=f"agent{number}", **side),
            name=f"p/s{number}/subagents/agent-{number}.jsonl",
        )
    return tmp_path / "p"


def imported(folder: Path, out: Path, **options: Any) -> ImportSummary:
    summary = import_log([folder], out, **options)
    summary.out = folder  # the one thing that differs
    return summary


def test_two_processes_write_the_same_bytes_as_one(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    alone = imported(folder, one, skip_bad=True)
    monkeypatch.setattr(claude_code, "WORTH_PROCESSES_BYTES", 0)
    together = imported(folder, two, skip_bad=True, processes=2)
    assert together == alone
    assert two.read_bytes() == one.read_bytes()
    # 5 own answers, 5 asides, 5 of sub-agents, and one that all sessions share
    assert alone.rows == 5 + 5 + 5 + 1
    assert {skip.reason: skip.count for skip in alone.skipped} == {
        "bad input_tokens": 5, "cut short": 5,
    }  # fmt: skip
    assert "messages that side chains repeat, counted once: 5" in alone.warnings
    assert "requests in several files (resumed sessions), counted once: 4" in alone.warnings


def test_two_processes_stop_at_the_same_fault_as_one(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = []
    for worth in (claude_code.WORTH_PROCESSES_BYTES, 0):
        monkeypatch.setattr(claude_code, "WORTH_PROCESSES_BYTES", worth)
        with pytest.raises(LogError) as caught:
            import_log([folder], tmp_path / "out.parquet", processes=2)
        messages.append((str(caught.value), caught.value.reason))
    assert messages[0] == messages[1]
    assert "s0.jsonl line 5: input_tokens is -1" in messages[0][0]
