"""Reading Parquet: ours, somebody else's, and what is refused."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cachecast_datasets import parquet_writer
from cachecast_datasets.encode import batch_of
from cachecast_datasets.errors import LogError
from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.parquet_writer import log_writer
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import SCHEMA
from cachecast_datasets.trace import BATCH_ROWS, Trace, open_trace

TIMES = [datetime.datetime(2026, 1, 1, 0, 0, second, tzinfo=datetime.UTC) for second in range(3)]


def foreign(folder: Path, metadata: dict[str, str] | None = None, **columns: Any) -> Path:
    """A Parquet by somebody else: three rows with the two required columns, and `columns`."""
    path = folder / "log.parquet"
    given = {"request_id": ["a", "b", "c"], "arrival": pa.array(TIMES, pa.timestamp("us", "UTC"))}
    table = pa.table({name: values for name, values in (given | columns).items() if values})
    pq.write_table(table.replace_schema_metadata(metadata), path)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(LogError) as caught:
        list(open_trace(path))
    return str(caught.value).replace(str(path), "FILE")


def test_only_the_first_two_columns_are_required(tmp_path: Path) -> None:
    trace = open_trace(foreign(tmp_path))
    assert [one.request_id for one in trace] == ["a", "b", "c"]
    assert trace.meta == LogMeta("parquet", "counts", False, time_origin="absolute")
    assert next(iter(trace)).prompt_tokens is None


@pytest.mark.parametrize("name", ["request_id", "arrival"])
def test_a_missing_required_column_is_named(tmp_path: Path, name: str) -> None:
    assert refusal(foreign(tmp_path, **{name: None})) == (
        f"FILE: column {name} is missing, expected the columns of the cachecast request log "
        "(request_id and arrival are required)"
    )


def test_types_that_mean_the_same_are_taken(tmp_path: Path) -> None:
    path = foreign(
        tmp_path,
        request_id=pa.array(["a", "b", "c"]).dictionary_encode(),
        arrival=pa.array(TIMES, pa.timestamp("ms", "Europe/Berlin")),
        model=pa.array(["m", None, "m"], pa.large_string()),
        prompt_tokens=pa.array([1, 2, None], pa.int32()),
        output_tokens=pa.nulls(3),
        end_s=pa.array([1, 2, 3], pa.int8()),
    )
    first, _, last = open_trace(path)
    assert (first.model, first.prompt_tokens, first.end_s, first.output_tokens) == (
        "m",
        1,
        1.0,
        None,
    )
    assert first.arrival_us == int(TIMES[0].timestamp()) * 1_000_000
    assert last.prompt_tokens is None


@pytest.mark.parametrize(
    ("column", "values", "kind"),
    [
        ("prompt_tokens", pa.array([1.0, 2.5, 3.0]), "double, expected int64"),
        ("arrival", pa.array(["a", "b", "c"]), "string, expected timestamp[us, tz=UTC]"),
        ("arrival", pa.array(TIMES, pa.timestamp("us", "UTC")).cast(pa.timestamp("us")),
         "timestamp[us], expected timestamp[us, tz=UTC]"),
        ("model", pa.array([1, 2, 3]), "int64, expected string"),
        ("token_blocks", pa.array([["a"]] * 3),
         "list<element: string>, expected list<item: uint64>"),
    ],
)  # fmt: skip
def test_a_wrong_type_is_refused(tmp_path: Path, column: str, values: pa.Array, kind: str) -> None:
    assert refusal(foreign(tmp_path, **{column: values})) == f"FILE: column {column} is {kind}"


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("request_id", ["a", None, "c"], "row 2: request_id is null, expected a value"),
        ("request_id", ["a", "b", "a"],
         "row 3: request_id is \"a\", which row 1 already has; expected unique ids"),
        ("output_tokens", [1, 2, -3], "row 3: output_tokens is -3, expected >= 0"),
        ("end_s", [1.0, float("nan"), 1.0], "row 2: end_s is NaN, expected a finite number >= 0"),
        ("end_s", [1.0, None, float("inf")],
         "row 3: end_s is Infinity, expected a finite number >= 0"),
        ("first_token_s", [-0.5, 1.0, 1.0],
         "row 1: first_token_s is -0.5, expected a finite number >= 0"),
        ("status", ["ok", "bad", None],
         "row 2: status is \"bad\", expected one of ok, error, aborted, rejected"),
        ("token_block_size", [1, 0, 1], "row 2: token_block_size is 0, expected >= 1"),
        ("answer_hash", [1, 2, -1], "row 3: answer_hash is -1, expected uint64"),
        ("token_blocks", [[1], [None], None],
         "row 2: token_blocks[0] is null, expected no nulls inside"),
    ],
)  # fmt: skip
def test_a_bad_value_is_refused_with_its_row(
    tmp_path: Path, column: str, values: list[Any], message: str
) -> None:
    assert refusal(foreign(tmp_path, **{column: pa.array(values)})) == f"FILE {message}"


def test_a_null_arrival_is_refused(tmp_path: Path) -> None:
    times = pa.array([TIMES[0], None, TIMES[2]], pa.timestamp("us", "UTC"))
    assert refusal(foreign(tmp_path, arrival=times)) == (
        "FILE row 2: arrival is null, expected a value"
    )


def test_rows_out_of_order_are_refused_with_both_times(tmp_path: Path) -> None:
    times = pa.array([TIMES[0], TIMES[2], TIMES[1]], pa.timestamp("us", "UTC"))
    assert refusal(foreign(tmp_path, arrival=times)) == (
        "FILE row 3: arrival is 2026-01-01T00:00:01.000000Z, before an earlier row's "
        "(2026-01-01T00:00:02.000000Z), expected rows sorted by arrival"
    )


def test_equal_arrivals_are_in_order(tmp_path: Path) -> None:
    times = pa.array([TIMES[0]] * 3, pa.timestamp("us", "UTC"))
    assert len(list(open_trace(foreign(tmp_path, arrival=times)))) == 3


@pytest.mark.parametrize(("blocks", "fits"), [(1, False), (2, True), (3, True), (4, False)])
def test_token_blocks_must_fit_the_prompt_rounded_down_or_up(
    tmp_path: Path, blocks: int, fits: bool
) -> None:
    # 130 tokens in blocks of 64: 2 whole ones, 3 with the partial last one
    path = foreign(
        tmp_path,
        prompt_tokens=[130] * 3,
        token_block_size=[64] * 3,
        token_blocks=pa.array([[1] * blocks] * 3, pa.list_(pa.uint64())),
    )
    if fits:
        assert len(list(open_trace(path))) == 3
    else:
        assert refusal(path).endswith(
            f"expected 2 or 3 blocks for 130 prompt_tokens in blocks of 64 (it has {blocks})"
        )


def test_unknown_columns_are_named_and_ignored(tmp_path: Path) -> None:
    path = foreign(tmp_path, favourite_colour=["r", "g", "b"])
    assert open_trace(path).warnings == [f"{path}: unknown column favourite_colour is ignored"]


def test_another_version_is_refused(tmp_path: Path) -> None:
    metadata = {"cachecast.format": "cachecast.request_log", "cachecast.version": "2"}
    assert refusal(foreign(tmp_path, metadata)) == "FILE: version is 2, expected 1"


def test_another_format_is_refused(tmp_path: Path) -> None:
    assert refusal(foreign(tmp_path, {"cachecast.format": "cachecast.run"})) == (
        "FILE: format is cachecast.run, expected cachecast.request_log"
    )


def test_a_parquet_cut_short_is_refused(tmp_path: Path) -> None:
    path = foreign(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    assert refusal(path) == (
        "FILE: not a whole Parquet file (cut short, or another kind), expected a cachecast request "
        "log"
    )


def test_boundaries_are_computed_where_the_file_has_none(tmp_path: Path) -> None:
    path = foreign(
        tmp_path,
        session_id=["s"] * 3,
        prompt_tokens=[64, 128, 192],
        token_block_size=[64] * 3,
        token_blocks=pa.array([[1], [1, 2], [1, 2, 3]], pa.list_(pa.uint64())),
    )
    found = [one.boundaries for one in open_trace(path).requests(columns=["boundaries"])]
    assert [one.tokens for one in found if one] == [[64], [64, 128], [64, 128, 192]]
    last = [False, False, True]
    (only,) = open_trace(path).requests(columns=["boundaries"], where=np.array(last))
    assert only.boundaries == found[2]  # rows that are left out still count as earlier requests


def test_row_numbers_go_on_over_batches_and_row_groups(tmp_path: Path) -> None:
    requests = [Request(request_id=str(number), arrival_us=number) for number in range(5000)]
    requests[4321].output_tokens = -1
    path = tmp_path / "log.parquet"
    with log_writer(path, LogMeta("sketch", "blocks", carries_markers=True)) as writer:
        for start in range(0, 5000, 1000):
            writer.write(batch_of(requests[start : start + 1000]))
    assert refusal(path) == "FILE row 4322: output_tokens is -1, expected >= 0"


def test_an_unsorted_file_of_ours_is_refused_over_a_batch_border(tmp_path: Path) -> None:
    times = [*range(BATCH_ROWS), BATCH_ROWS - 2]
    path = tmp_path / "log.parquet"
    with log_writer(path, LogMeta("sketch", "blocks", carries_markers=True)) as writer:
        writer.write(
            batch_of([Request(request_id=str(n), arrival_us=t) for n, t in enumerate(times)])
        )
    assert refusal(path).startswith(
        "FILE row 1025: arrival is 1970-01-01T00:00:00.001022Z, before an earlier row's "
    )


def test_a_failed_write_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_writer, "ROW_GROUP_ROWS", 1)  # the first row is on disk at once

    def fail() -> None:
        with log_writer(tmp_path / "log.parquet", LogMeta("sketch", "blocks", True)) as writer:
            writer.write(batch_of([Request(request_id="1", arrival_us=0)]))
            assert len(list(tmp_path.iterdir())) == 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_the_file_has_exactly_the_columns_of_the_schema(tmp_path: Path) -> None:
    with log_writer(tmp_path / "log.parquet", LogMeta("sketch", "blocks", True)) as writer:
        writer.write(batch_of([Request(request_id="1", arrival_us=0)]))
    written = pq.read_schema(tmp_path / "log.parquet")
    assert written.names == SCHEMA.names
    assert isinstance(open_trace(tmp_path / "log.parquet"), Trace)
