"""The import as a whole: merging, skipping, secrets, and nothing half-written."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cachecast_datasets import batching
from cachecast_datasets.errors import BadInput, LogError
from cachecast_datasets.importing import ImportSummary, Skip, import_log, open_or_import
from cachecast_datasets.trace import Trace, open_trace

Write = Callable[..., Path]
ImportAll = Callable[..., tuple[Trace, ImportSummary]]


def line(at: float | str = 0, *prompt: Any, **more: Any) -> dict[str, Any]:
    return {"at": at, "prompt": list(prompt)} | more


def ids(trace: Trace) -> list[str]:
    return [one.request_id for one in trace]


def refusal(out: Path, *sources: Path) -> str:
    before = sorted(out.parent.rglob("*"))
    with pytest.raises(BadInput) as caught:
        import_log(sources, out)
    assert sorted(out.parent.rglob("*")) == before, "an import that failed left something behind"
    return str(caught.value).replace(str(sources[0]), "FILE")


def test_rows_are_sorted_by_arrival_and_ties_keep_their_order(
    write: Write, import_all: ImportAll
) -> None:
    log = write(line(2), line(1, id="x"), line(1, id="a"), line(0))
    assert ids(import_all(log)[0]) == ["4", "x", "a", "1"]


def test_the_summary_says_what_was_read(write: Write, import_all: ImportAll) -> None:
    log = write(line(1.5, model="m", session="s"), line(4, model="k", session="t"), line(9))
    trace, summary = import_all(log)
    assert (summary.rows, summary.evidence, summary.source_format) == (3, "blocks", "sketch")
    assert (summary.sessions, summary.models, summary.period) == (2, ["k", "m"], (1.5, 9.0))
    assert (summary.skipped, summary.warnings) == ([], [])
    assert summary.out == trace.path


def test_absolute_times_are_kept_and_shown_as_such(write: Write, import_all: ImportAll) -> None:
    log = write(line("2026-01-31T12:00:00Z"), line("2026-01-31T12:00:00.25Z"))
    trace, summary = import_all(log)
    assert summary.period == ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.250000Z")
    assert trace.meta.time_origin == "absolute"
    assert [one.arrival_us % 60_000_000 for one in trace] == [0, 250_000]


def test_boundaries_are_there_for_rules_that_never_look_at_blocks(
    write: Write, import_all: ImportAll
) -> None:
    trace, _ = import_all(write(line(0, ["tools", "T", 5], ["user", "Q", 7])))
    (one,) = trace.requests(columns=["boundaries"])
    assert one.blocks is None
    assert one.boundaries is not None
    assert (one.boundaries.tokens, one.boundaries.names) == ([5, 12], ["tools", "user"])


def test_several_sources_are_merged_and_their_line_numbers_do_not_collide(
    write: Write, import_all: ImportAll
) -> None:
    one = write(line(1), line(3), name="one.jsonl")
    two = write(line(0), line(2, id="own"), name="two.jsonl")
    assert ids(import_all(one, two)[0]) == ["two.jsonl:1", "one.jsonl:1", "own", "one.jsonl:2"]


def test_sources_of_several_formats_are_merged(write: Write, import_all: ImportAll) -> None:
    sketch = write(line(1), name="sketch.jsonl")
    mooncake = write({"timestamp": 500, "input_length": 0, "hash_ids": []}, name="mc.jsonl")
    trace, summary = import_all(sketch, mooncake)
    assert ids(trace) == ["mc.jsonl:1", "sketch.jsonl:1"]
    assert (summary.source_format, summary.evidence) == ("mooncake+sketch", "blocks")


def test_the_same_ids_in_two_mooncake_files_are_different_blocks(
    write: Write, import_all: ImportAll
) -> None:
    row = {"timestamp": 0, "input_length": 512, "hash_ids": [1]}
    trace, _ = import_all(write(row, name="a.jsonl"), write(row, name="b.jsonl"))
    assert len({one.token_blocks.item(0) for one in trace if one.token_blocks is not None}) == 2


def test_relative_and_absolute_times_do_not_mix(write: Write, tmp_path: Path) -> None:
    one = write(line(1), name="one.jsonl")
    two = write(line("2026-01-31T12:00:00Z"), name="two.jsonl")
    assert refusal(tmp_path / "out.parquet", one, two) == (
        f"{two}: its times are absolute, those of FILE are relative; expected one kind in an import"
    )


def test_a_parquet_can_be_imported_again_and_is_the_same(
    write: Write, import_all: ImportAll
) -> None:
    log = write(line(0, ["user", "Q", 7, "5m"], account="a", settings={"x": "y"}), line(1))
    first, _ = import_all(log)
    again, summary = import_all(first.path)
    assert [one.as_dict() for one in again] == [one.as_dict() for one in first]
    assert again.meta == first.meta
    assert summary.source_format == "sketch"


def test_turns_are_found_anew_when_parquet_files_are_merged(
    write: Write, import_all: ImportAll
) -> None:
    rows = [
        {"timestamp": n, "session": "s", "input_length": 64 * n, "hash_runs": [[1, n]]}
        for n in (1, 2)
    ]
    halves = [import_all(write(row, name="log.jsonl"))[0].path for row in rows]
    for number, half in enumerate(halves):  # one id scope, two files, ids that do not collide
        table = pq.read_table(half)
        renamed = table.set_column(0, table.schema.field(0), [[f"r{number}"]])
        pq.write_table(renamed, half)
    _, last = import_all(*halves)[0]
    assert last.boundaries is not None
    assert last.boundaries.names == ["turn", "end"]


def test_duplicate_ids_are_refused_with_both_places(write: Write, tmp_path: Path) -> None:
    log = write(line(5, id="x"), line(4), line(0, id="x"))
    assert refusal(tmp_path / "out.parquet", log) == (
        'FILE line 3: request_id is "x", which FILE line 1 already has; expected unique ids'
    )


def test_skipping_keeps_the_first_of_several_rows_with_one_id(
    write: Write, import_all: ImportAll
) -> None:
    log = write(line(5, id="x"), line(4, id="x"), line(3, id="x"), line(2))
    trace, summary = import_all(log, skip_bad=True)
    assert [(one.request_id, one.arrival_us) for one in trace] == [
        ("4", 2_000_000),
        ("x", 5_000_000),
    ]
    assert [(skip.reason, skip.count) for skip in summary.skipped] == [("duplicate id", 2)]


def test_skipping_counts_by_reason_with_the_first_example(
    write: Write, import_all: ImportAll
) -> None:
    log = write(line(0), line(1, output=-1), "nonsense", line(2, output=-2), line(3))
    trace, summary = import_all(log, skip_bad=True)
    assert ids(trace) == ["1", "5"]
    assert summary.skipped == [
        Skip("bad output", 2, f"{log} line 2: output is -1, expected an integer >= 0"),
        Skip("not JSON", 1, f"{log} line 3: not valid JSON: invalid character (byte 4), expected "
             "one JSON object"),
    ]  # fmt: skip


@pytest.mark.parametrize("lines", [20, 20_000])
def test_skipping_keeps_the_whole_lines_of_a_gz_that_was_cut_short(
    write: Write, import_all: ImportAll, lines: int
) -> None:
    rows = (line(n, id=f"{n * 2654435761 % 2**32:x}") for n in range(lines))
    data = gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode())
    trace, summary = import_all(write(data[: len(data) * 3 // 4]), skip_bad=True)
    assert lines // 3 < trace.rows < lines
    assert [(skip.reason, skip.count) for skip in summary.skipped] == [("cut short", 1)]


@pytest.mark.parametrize("skip_bad", [False, True])
def test_a_log_is_never_altered(write: Write, tmp_path: Path, skip_bad: bool) -> None:
    log = write(line(0), line(1, output=-1))
    before = log.read_bytes()
    if skip_bad:
        import_log([log], tmp_path / "out.parquet", skip_bad=True)
    else:
        refusal(tmp_path / "out.parquet", log)
    assert log.read_bytes() == before


def test_an_empty_session_file_gives_an_empty_log_and_says_so(
    write: Write, import_all: ImportAll
) -> None:
    trace, summary = import_all(write({"block_size": 64, "requests": []}))
    assert (trace.rows, list(trace)) == (0, [])
    assert (summary.period, summary.warnings) == (None, ["the log has no requests"])


def test_an_output_that_exists_is_not_overwritten_unless_forced(
    write: Write, tmp_path: Path
) -> None:
    log, out = write(line(0)), tmp_path / "out.parquet"
    out.write_text("precious")
    assert refusal(out, log) == f"{out}: exists already, expected a new file (or --force)"
    assert out.read_text() == "precious"
    assert import_log([log], out, force=True).rows == 1


def test_an_output_in_no_folder_is_refused(write: Write, tmp_path: Path) -> None:
    out = tmp_path / "no" / "out.parquet"
    with pytest.raises(BadInput, match="there is no folder"):
        import_log([write(line(0))], out)


def test_a_full_disk_is_one_sentence(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("cachecast_datasets.importing.ArrivalSorter.add", full)
    out = tmp_path / "out.parquet"
    assert refusal(out, write(line(0))) == f"{out}: the import failed: No space left on device"


def test_a_failed_import_does_not_touch_an_output_that_exists(write: Write, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    out.write_text("precious")
    with pytest.raises(LogError):
        import_log([write(line(0), line(1, output=-1))], out, force=True)
    assert out.read_text() == "precious"


def test_spreading_absolute_times_is_refused(write: Write, tmp_path: Path) -> None:
    log = write(line("2026-01-31T12:00:00Z", session="s"))
    with pytest.raises(BadInput, match="--spread shifts logs with relative times"):
        import_log([log], tmp_path / "out.parquet", spread_s=60)


def test_asking_for_texts_that_a_format_does_not_carry_gets_a_note(
    write: Write, import_all: ImportAll
) -> None:
    _, summary = import_all(write(line(0)), keep_text=True)
    assert summary.warnings == ["--keep-text: these formats carry no text, nothing to keep"]


def test_the_same_log_gives_the_same_bytes(write: Write, import_all: ImportAll) -> None:
    log = write(line(1, ["user", "Q", 7]), line(0))
    assert import_all(log)[0].path.read_bytes() == import_all(log)[0].path.read_bytes()


def test_batches_do_not_show_in_the_result(
    write: Write, import_all: ImportAll, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write(*(line(n * 7 % 10, ["user", f"Q{n}", n]) for n in range(10)))
    whole = [one.as_dict() for one in import_all(log)[0]]
    monkeypatch.setattr(batching, "BATCH_ROWS", 3)
    assert [one.as_dict() for one in import_all(log)[0]] == whole


def test_a_parquet_is_opened_as_it_is_and_anything_else_is_imported_first(
    write: Write, import_all: ImportAll, tmp_path: Path
) -> None:
    log = write(line(0), line(1, output=-1))
    imported = open_or_import([log], skip_bad=True, tmp_dir=tmp_path)
    assert imported.rows == 1
    assert imported.imported is not None
    assert imported.imported.skipped[0].count == 1
    opened = open_or_import([imported.path], tmp_dir=tmp_path)
    assert (opened.path, opened.imported) == (imported.path, None)


def test_skipping_works_for_parquet_rows_too(
    write: Write, import_all: ImportAll, tmp_path: Path
) -> None:
    path = import_all(write(*(line(n, output=n) for n in range(6))))[0].path
    table = pq.read_table(path)
    times = table["arrival"].to_pylist()
    times[3] = times[0]  # before rows 2 and 3
    outputs = [0, -1, 2, 3, 4, 5]
    names = ["1", "2", "3", "4", "1", "6"]
    for name, values in (("arrival", times), ("output_tokens", outputs), ("request_id", names)):
        index = table.schema.get_field_index(name)
        column = pa.array(values, table.schema.field(index).type)
        table = table.set_column(index, table.schema.field(index), column)
    pq.write_table(table, path)
    with pytest.raises(LogError, match='row 5: request_id is "1", which row 1 already has'):
        open_trace(path)
    trace = open_or_import([path], skip_bad=True, tmp_dir=tmp_path)
    assert ids(trace) == ["1", "3", "6"]
    assert trace.imported is not None
    assert {
        skip.reason: skip.example.removeprefix(f"{path} ") for skip in trace.imported.skipped
    } == {
        "bad output_tokens": "row 2: output_tokens is -1, expected >= 0",
        "out of order": "row 4: arrival is 1970-01-01T00:00:00.000000Z, before an earlier row's "
        "(1970-01-01T00:00:02.000000Z), expected rows sorted by arrival",
        "duplicate id": f'source_line 5: request_id is "1", which {path} source_line 1 already '
        "has; expected unique ids",
    }
