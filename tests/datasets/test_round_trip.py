"""Requests → Parquet → equal requests."""

from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cachecast_datasets.boundaries import content_boundaries
from cachecast_datasets.encode import batch_of
from cachecast_datasets.limits import MAX_TOKENS, MAX_US
from cachecast_datasets.parquet_writer import log_writer
from cachecast_datasets.request import (
    KINDS,
    MARKERS,
    SECTIONS,
    STATUSES,
    Boundaries,
    ContentBlock,
    Observed,
    Request,
)
from cachecast_datasets.request_log import SCHEMA, LogMeta
from cachecast_datasets.trace import open_trace

META = LogMeta("sketch", "blocks", carries_markers=True)

text = st.none() | st.text(st.characters(codec="utf-8"), max_size=5)
harmless = st.text("xyzäλ ", max_size=3)  # no part of a word for a secret, which would go
count = st.none() | st.integers(0, MAX_TOKENS)
seconds = st.none() | st.floats(0, 1e9)
hashes = st.integers(0, 2**64 - 1)
flag = st.none() | st.booleans()
block = st.builds(
    ContentBlock,
    section=st.sampled_from(SECTIONS),
    role=text,
    kind=st.sampled_from(KINDS),
    message=st.integers(0, 9),
    tokens=st.integers(0, MAX_TOKENS // 3),
    hash=hashes,
    canonical_hash=st.none() | hashes,
    masked_hash=st.none() | hashes,
    marker=st.none() | st.sampled_from(MARKERS),
    label=text,
)


def some_observed(values: dict[str, Any]) -> Observed:
    return Observed(**values)


observed = st.fixed_dictionaries(
    {
        "fresh": count,
        "cache_write_1h": count,
        "raw_json": st.none() | st.integers().map(str),
        "cost": st.none() | st.decimals(-100, 100, places=12),
    }
).map(some_observed)
boundary = st.tuples(
    st.integers(1, MAX_TOKENS), hashes, st.sampled_from(["tools", "turn"]), st.none() | st.just(9)
)


def ascending(rows: list[tuple[int, int, str, int | None]]) -> Boundaries:
    """As on a log of token blocks: each position once, the last one is the end."""
    rows = sorted({row[0]: row for row in rows}.values())
    if rows:
        rows[-1] = (*rows[-1][:2], "end", rows[-1][3])
    return in_lists(rows)


def in_lists(rows: list[tuple[int, int, str, int | None]]) -> Boundaries:
    return Boundaries(
        [row[0] for row in rows],
        [row[1] for row in rows],
        [row[2] for row in rows],
        [row[3] for row in rows],
    )


boundaries = st.lists(boundary, max_size=3).map(ascending)


def ids(kind: type[Any], most: int) -> st.SearchStrategy[Any]:
    return st.none() | st.lists(st.integers(0, most), max_size=4).map(
        lambda values: np.array(values, dtype=kind)
    )


def whole(made: Request) -> Request:
    """Without what would contradict: a prompt has boundaries, content blocks one each."""
    if made.blocks is not None:
        made.boundaries = content_boundaries(made.blocks)
    elif made.token_blocks is not None:
        made.boundaries = made.boundaries or in_lists([])
    made.token_block_size = None if made.token_blocks is None else 64
    return made


request = st.builds(
    Request,
    request_id=st.just(""),  # made unique below
    arrival_us=st.integers(0, MAX_US),
    first_token_s=seconds,
    end_s=seconds,
    account=st.none() | st.text("0123456789abcdef", min_size=16, max_size=16),  # a key of ours
    session_id=text,
    is_sidechain=flag,
    model=text,
    is_batch=flag,
    settings=st.dictionaries(harmless, harmless, max_size=2),
    blocks=st.none() | st.lists(block, max_size=3),
    boundaries=st.none() | boundaries,
    token_blocks=ids(np.uint64, 2**64 - 1),
    token_ids=ids(np.int32, 2**31 - 1),
    answer_hash=st.none() | hashes,
    output_tokens=count,
    input_types=st.none() | st.lists(st.sampled_from(KINDS), max_size=2),
    observed=st.none() | observed,
    status=st.none() | st.sampled_from(STATUSES),
    attempt=st.none() | st.integers(0, 9),
    source_line=count,
).map(whole)


def write(path: Path, requests: list[Request], meta: LogMeta = META) -> None:
    with log_writer(path, meta) as writer:
        for start in range(0, len(requests), 3):
            writer.write(batch_of(requests[start : start + 3]))


def plain(one: Request) -> dict[str, Any]:
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in one.as_dict().items()
    }


@settings(max_examples=60, deadline=None)
@given(st.lists(request, max_size=8))
def test_requests_come_back_from_parquet_as_they_were(requests: list[Request]) -> None:
    requests.sort(key=lambda one: one.arrival_us)
    for number, one in enumerate(requests):
        one.request_id = str(number)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        write(path, requests)
        trace = open_trace(path)
        assert trace.rows == len(requests)
        assert trace.meta == META
        assert [plain(one) for one in trace] == [plain(one) for one in requests]


@settings(max_examples=25, deadline=None)
@given(st.lists(request, min_size=1, max_size=8), st.sets(st.sampled_from(SCHEMA.names)), st.data())
def test_a_few_columns_and_rows_are_the_same_values_as_in_whole_requests(
    requests: list[Request], columns: set[str], data: st.DataObject
) -> None:
    requests.sort(key=lambda one: one.arrival_us)
    for number, one in enumerate(requests):
        one.request_id = str(number)
    kept = data.draw(st.lists(st.booleans(), min_size=len(requests), max_size=len(requests)))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        write(path, requests)
        found = list(open_trace(path).requests(columns=columns, where=np.array(kept)))
    wanted = [one for one, keep in zip(requests, kept, strict=True) if keep]
    assert len(found) == len(wanted)
    named = {"arrival_us" if name == "arrival" else name for name in columns}
    named |= {"request_id", "arrival_us"}
    absent = plain(Request(request_id="", arrival_us=0))
    for one, expected in zip(found, wanted, strict=True):
        given_row = plain(expected)
        assert plain(one) == {
            name: given_row[name] if name in named else absent[name] for name in given_row
        }


def test_metadata_come_back_as_they_were(tmp_path: Path) -> None:
    meta = LogMeta(
        "mooncake",
        "token_blocks",
        carries_markers=False,
        keeps_partial_block=True,
        time_origin="absolute",
        tokenizer="tok 1.2",
        salt_id="s",
        text_seen=True,
    )
    write(tmp_path / "log.parquet", [], meta)
    assert open_trace(tmp_path / "log.parquet").meta == meta


def test_a_cost_keeps_12_decimals_and_a_zero_is_not_unknown(tmp_path: Path) -> None:
    usage = Observed(fresh=0, cost=Decimal("0.000000000001"))
    write(tmp_path / "log.parquet", [Request(request_id="1", arrival_us=0, observed=usage)])
    (back,) = open_trace(tmp_path / "log.parquet")
    assert back.observed == usage
    assert back.observed.cache_read is None


def test_content_boundaries_survive_with_all_64_bits(tmp_path: Path) -> None:
    made = content_boundaries([ContentBlock("user", "user", "text", 0, 3, 2**64 - 1)])
    write(tmp_path / "log.parquet", [Request(request_id="1", arrival_us=0, boundaries=made)])
    (back,) = open_trace(tmp_path / "log.parquet").requests(columns=["boundaries"])
    assert back.boundaries == made
