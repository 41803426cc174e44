"""A log's turns: decoded once, and the same each time."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from sim.token_logs import META, built

from cachecast import kept_turns
from cachecast.billing import bills_of
from cachecast.kept_turns import KeptTurns, read_ahead
from cachecast.progress import nothing_to_report
from cachecast.scenarios import scenario_of
from cachecast.whatif_job import WhatIf, WhatIfs
from cachecast_datasets.encode import batch_of
from cachecast_datasets.parquet_writer import log_writer
from cachecast_datasets.request import Request
from cachecast_datasets.trace import Trace, open_trace
from cachecast_datasets.turn_columns import BLOCKS, COLUMNS, TurnColumns
from cachecast_pricing.catalog import load_catalog
from cachecast_sim.billing import Billing
from cachecast_sim.grouping import keys_of

TURN = {
    "after_s": 20, "session": "a", "keep": 1.0, "new_blocks": 4, "tail": 3, "first_token_s": 1.0,
    "end_s": 5.0, "model": "m1", "typed": True,
}  # fmt: skip


def test_a_log_is_read_once_for_all_its_what_ifs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = written(tmp_path, built([TURN] * 3, system=True))
    turns = KeptTurns(trace)
    first = rows(turns, COLUMNS)

    monkeypatch.setattr(Trace, "batches", None)
    assert rows(turns, COLUMNS) == first
    assert len(first) == 3


def test_token_blocks_come_from_the_log_each_time(tmp_path: Path) -> None:
    """Those of every request, also where the rest is remembered; they are not remembered."""
    requests = built([TURN] * 3, system=True)
    requests[1] = replace(requests[1], token_blocks=None)
    turns = KeptTurns(written(tmp_path, requests))

    for _ in range(2):
        found = rows(turns, (*COLUMNS, BLOCKS))
        blocks = [None if one.token_blocks is None else one.token_blocks.tolist() for one in found]
        assert blocks == [
            None if one.token_blocks is None else one.token_blocks.tolist() for one in requests
        ]
        assert {one.token_blocks is None for one in rows(turns, COLUMNS)} == {True}


@pytest.mark.parametrize(("most", "tier"), [(-1, None), (2_000_000, "flex")])
def test_a_log_is_read_again_that_has_more_boundaries_than_are_kept_or_whole_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, tier: str | None
) -> None:
    """What a change does to whole requests is its own."""
    monkeypatch.setattr(kept_turns, "MOST_BOUNDARIES", most)
    requests = [replace(one, service_tier=tier) for one in built([TURN] * 3, system=True)]
    turns = KeptTurns(written(tmp_path, requests))
    before = rows(turns, COLUMNS)
    reads: list[str] = []
    turns._trace = Recorded(turns._trace, reads)  # type: ignore[assignment]

    assert rows(turns, COLUMNS) == before
    assert reads == ["read"]


def test_a_log_that_was_read_to_a_part_is_not_taken_for_the_whole(tmp_path: Path) -> None:
    """Somebody cancels."""
    turns = KeptTurns(written(tmp_path, built([TURN] * 3, system=True)))
    begun = turns.batches(COLUMNS, "", nothing_to_report)
    next(begun)
    del begun

    assert len(rows(turns, COLUMNS)) == 3


@pytest.mark.parametrize("named", [("deepseek-flash", "deepseek"), ("gpt-5.1", None)])
def test_models_whose_rules_look_at_token_blocks_are_billed_by_them(
    tmp_path: Path, named: tuple[str, str | None]
) -> None:
    """Each request's own model, totals alone and with each session's, which go by two paths."""
    model, provider = named
    halves = built([{**TURN, "keep": 0.5, "new_blocks": 9}] * 4, system=True)
    trace = written(tmp_path, [replace(r, model=model, provider=provider) for r in halves])
    catalog = load_catalog()
    scenario = scenario_of("log", catalog)

    (fast,) = bills_of(trace, [scenario], catalog)
    (slow,) = bills_of(trace, [scenario], catalog, by=keys_of("session_id"))
    replayed = WhatIfs(trace, scenario, catalog).baseline().totals
    assert fast.totals.usage.cache_read > 0
    assert fast.totals.usage == slow.totals.usage == replayed.usage
    assert fast.totals.money == slow.totals.money == replayed.money
    assert fast.totals.misses == slow.totals.misses == replayed.misses


def test_a_log_without_the_column_of_token_blocks_has_none(tmp_path: Path) -> None:
    """Somebody dropped it: its boundaries are enough for a marker at each of them."""
    path = written(tmp_path, built([TURN] * 3, system=True)).path
    table = pq.read_table(path)
    without = table.drop_columns([BLOCKS]).replace_schema_metadata(table.schema.metadata)
    pq.write_table(without, path)
    catalog = load_catalog()
    asked = WhatIfs(open_trace(path), scenario_of("claude-opus-5", catalog), catalog)

    asked.baseline()
    found = asked.change("mark=every2+end")
    assert isinstance(found, WhatIf)
    assert found.replay.totals.requests == 3


def test_token_blocks_are_left_in_the_file_where_no_rule_looks_at_them(tmp_path: Path) -> None:
    requests = [replace(r, model="claude-opus-5") for r in built([TURN] * 2, system=True)]
    trace, catalog = written(tmp_path, requests), load_catalog()
    assert trace.models() == {("claude-opus-5", None)}

    def wanted(scenario: str) -> tuple[str, ...]:
        asked = Billing(scenario_of(scenario, catalog), catalog, trace.meta)
        return asked.turn_columns(trace.models)

    assert BLOCKS not in wanted("log")
    assert BLOCKS not in wanted("gpt-6-sol")
    assert BLOCKS in wanted("claude-opus-5,mark=every2")


def test_items_that_are_read_ahead_come_in_order_and_so_does_what_is_wrong_with_them() -> None:
    def items() -> Iterator[int]:
        yield from (1, 2)
        raise ValueError("the third")

    found = list[int]()
    with pytest.raises(ValueError, match="the third"):
        found.extend(read_ahead(items()))
    assert list(read_ahead(iter("abc"))) == ["a", "b", "c"]


class Recorded:
    """A trace that says when it is read."""

    def __init__(self, trace: Trace, reads: list[str]) -> None:
        self.rows = trace.rows
        self._trace = trace
        self._reads = reads

    def batches(self, columns: tuple[str, ...]) -> object:
        self._reads.append("read")
        return self._trace.batches(columns)


def written(folder: Path, requests: list[Request]) -> Trace:
    path = folder / "log.parquet"
    with log_writer(path, META) as out:
        out.write(batch_of(requests))
    return open_trace(path)


def rows(turns: KeptTurns, columns: tuple[str, ...]) -> list[Request]:
    """All requests, whatever they come as."""
    found = list[Request]()
    for batch in turns.batches(columns, "", nothing_to_report):
        if isinstance(batch, TurnColumns):
            found.extend(batch.request(row) for row in range(batch.rows))
        else:
            found.extend(batch)
    return found
