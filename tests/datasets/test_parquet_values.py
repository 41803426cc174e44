"""Parquet values that do not fit, mean nothing or are no text; metadata likewise."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from foreign_parquet import STAMP, US, end, parquet, refusal

from cachecast_datasets.importing import import_log
from cachecast_datasets.request_log import SCHEMA
from cachecast_datasets.trace import open_trace

TIMES = "a time from 1970-01-01T00:00:00Z to 2286-11-20T17:46:40Z (0 to 10^10 s)"


@pytest.mark.parametrize(
    ("unit", "value", "said"),
    [
        ("ms", 2**62, "4611686018427387904 ms"),
        ("s", 10**11, "5138-11-16T09:46:40.000000Z"),
        ("us", -1, "1969-12-31T23:59:59.999999Z"),
        ("us", -(2**63), "NaTZ"),
        ("us", 2**63 - 1, "294247-01-10T04:00:54.775807Z"),
    ],
)
def test_an_arrival_that_no_calendar_has_is_refused(
    tmp_path: Path, unit: str, value: int, said: str
) -> None:
    path = parquet(tmp_path, arrival=pa.array([0, value], pa.timestamp(unit, "UTC")))
    assert refusal(path) == f"FILE row 2: arrival is {said}, expected {TIMES}"


def test_a_file_whose_first_arrival_is_null_is_refused_like_any_other(tmp_path: Path) -> None:
    path = parquet(tmp_path, arrival=pa.array([None, 0], US))
    assert refusal(path) == "FILE row 1: arrival is null, expected a value"


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("think_time_s", float("nan"), "NaN, expected a finite number >= 0"),
        ("arrival_uncertainty_s", float("inf"), "Infinity, expected a finite number >= 0"),
        ("think_time_s", -1.0, "-1.0, expected a finite number >= 0"),
        ("end_s", 1e300, "1e+300, expected at most 1e+10 s"),
        ("attempt", -1, "-1, expected >= 0"),
        ("output_tokens", 2**62, "4611686018427387904, expected at most 1000000000"),
        ("cache_mode", "odd",
         '"odd", expected one of auto, auto:5m, auto:1h, implicit, explicit, none'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("metadata", [None, STAMP])
def test_flat_columns_are_checked_whoever_asks_for_what(
    tmp_path: Path, column: str, value: Any, message: str, metadata: dict[str, str] | None
) -> None:
    path = parquet(tmp_path, metadata, boundaries=[[end(128)]] * 2, **{column: [None, value]})
    assert refusal(path, ["model"]) == f"FILE row 2: {column} is {message}"


def test_observed_values_are_checked_with_their_field(tmp_path: Path) -> None:
    path = parquet(tmp_path, observed=[None, {"cost_kind": "guess"}])
    assert refusal(path, ["model"]) == (
        'FILE row 2: observed.cost_kind is "guess", expected one of invoice, provider, estimate'
    )
    path = parquet(tmp_path, observed=[None, {"fresh": 2**62}])
    assert refusal(path) == (
        "FILE row 2: observed.fresh is 4611686018427387904, expected at most 1000000000"
    )


def not_text(*values: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values).buffers())


@pytest.mark.parametrize("column", ["request_id", "model"])
def test_text_that_is_no_utf_8_is_refused(tmp_path: Path, column: str) -> None:
    path = parquet(tmp_path, **{column: not_text(b"a", b"\xff")})
    assert refusal(path) == f"FILE row 2: {column} is not valid UTF-8, expected text"


def test_metadata_that_are_no_utf_8_are_refused_if_they_are_ours(tmp_path: Path) -> None:
    assert len(list(open_trace(parquet(tmp_path, {b"\xff": b"\xfe"})))) == 2
    path = parquet(tmp_path, {**STAMP, b"cachecast.tokenizer": b"\xff"})
    assert refusal(path) == ("FILE: metadata cachecast.tokenizer is not valid UTF-8, expected text")


@pytest.mark.parametrize(
    ("key", "value", "accepted"),
    [
        ("evidence", "true", "one of text, tokens, blocks, token_blocks, counts"),
        ("carries_markers", "maybe", "one of true, false"),
        ("keeps_partial_block", "x", "one of true, false"),
        ("time_origin", "x", "one of relative, absolute"),
    ],
)
def test_metadata_that_mean_nothing_are_refused(
    tmp_path: Path, key: str, value: str, accepted: str
) -> None:
    path = parquet(tmp_path, STAMP | {f"cachecast.{key}": value})
    assert refusal(path) == f'FILE: metadata cachecast.{key} is "{value}", expected {accepted}'


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    columns = [pa.array(["a"]), pa.array([0], US), pa.array(["x"]), pa.array(["y"])]
    pq.write_table(pa.table(columns, names=["request_id", "arrival", "model", "model"]), path)
    assert refusal(path) == "FILE: column model is there twice, expected once"


def test_the_name_of_an_unknown_column_is_cut_and_on_one_line(tmp_path: Path) -> None:
    more: dict[str, Any] = {"a\nb": [1, 2], "c" * 99: [1, 2]}
    path = parquet(tmp_path, None, **more)
    assert open_trace(path).warnings == [
        f'{path}: unknown column "a\\nb" is ignored',
        f"{path}: unknown column {'c' * 59}… is ignored",
    ]


def test_a_file_without_metadata_is_judged_by_what_its_columns_hold(tmp_path: Path) -> None:
    """Tools that drop the metadata keep all columns: an empty one is no evidence."""
    empty: dict[str, Any] = {
        name: pa.nulls(2, SCHEMA.field(name).type) for name in ("blocks", "token_ids", "boundaries")
    }
    meta = open_trace(parquet(tmp_path, **empty)).meta
    assert (meta.evidence, meta.carries_markers) == ("token_blocks", False)


def test_a_damaged_page_is_one_sentence_that_says_what_is_accepted(tmp_path: Path) -> None:
    path = parquet(tmp_path)
    data = bytearray(path.read_bytes())
    data[4:40] = b"\xff" * 36
    path.write_bytes(data)
    message = refusal(path)
    assert message.startswith("FILE: the Parquet is damaged (")
    assert message.endswith("), expected a whole Parquet file")


def test_skipping_leaves_out_the_rows_that_do_not_fit_the_types(tmp_path: Path) -> None:
    path = parquet(tmp_path, arrival=pa.array([2**62, 0], pa.timestamp("ms", "UTC")))
    summary = import_log([path], tmp_path / "out.parquet", skip_bad=True)
    assert (summary.rows, [skip.count for skip in summary.skipped]) == (1, [1])
    path = parquet(tmp_path, model=not_text(b"m", b"\xff"))
    summary = import_log([path], tmp_path / "out2.parquet", skip_bad=True)
    assert (summary.rows, summary.models) == (1, ["m"])
