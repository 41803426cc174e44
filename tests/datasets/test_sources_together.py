"""Several sources in one import: scopes of their ids, the places that messages name, markers."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cachecast_datasets.errors import BadInput, LogError
from cachecast_datasets.importing import ImportSummary, import_log
from cachecast_datasets.log_meta import LogMeta, merged_meta
from cachecast_datasets.parquet_writer import metadata_of
from cachecast_datasets.sources import sniff
from cachecast_datasets.trace import Trace

Write = Callable[..., Path]
ImportAll = Callable[..., tuple[Trace, ImportSummary]]
ROW = {"timestamp": 0, "input_length": 512, "hash_ids": [1]}
SESSION = {"block_size": 64, "requests": [{"t": 0, "type": "n", "in": 64, "hash_ids": [1]}]}


def hashes(trace: Trace) -> set[int]:
    return {one.token_blocks.item(0) for one in trace if one.token_blocks is not None}


def refusal(*sources: Path) -> str:
    with pytest.raises(BadInput) as caught:
        import_log(sources, sources[0].parent / "out.parquet")
    return str(caught.value).replace(str(sources[0]), "FILE")


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("trace.day1.jsonl", "trace.day2.jsonl"),
        ("trace.jsonl", "trace.json"),
        ("a/trace.jsonl", "b/trace.jsonl"),
    ],
)
def test_local_ids_of_two_files_are_different_blocks_whatever_their_names_share(
    write: Write, import_all: ImportAll, one: str, two: str
) -> None:
    trace, summary = import_all(write(ROW, name=one), write(ROW, name=two))
    assert (summary.rows, len(hashes(trace))) == (2, 2)
    assert len({request.request_id for request in trace}) == 2


def test_packing_a_file_or_giving_it_alone_does_not_change_its_ids(
    write: Write, import_all: ImportAll
) -> None:
    log = write(ROW, name="trace.day1.jsonl")
    packed = write(log.read_bytes(), name="trace.day1.jsonl.zst")  # by name; content decides
    assert hashes(import_all(log)[0]) == hashes(import_all(packed)[0])


def test_sessions_without_an_id_are_named_after_their_whole_path_in_the_folder(
    write: Write, import_all: ImportAll, tmp_path: Path
) -> None:
    for name in ("a/s.day1.json", "a/s.day2.json", "b/s.day1.json"):
        write(SESSION, name=f"logs/{name}")
    trace, _ = import_all(tmp_path / "logs")
    assert [one.request_id for one in trace] == ["a/s.day1/1", "a/s.day2/1", "b/s.day1/1"]
    assert len(hashes(trace)) == 3


def test_a_duplicate_id_inside_a_folder_names_both_files(write: Write, tmp_path: Path) -> None:
    one = write(SESSION | {"id": "s"}, name="logs/one.json")
    two = write(SESSION | {"id": "s"}, name="logs/two.json")
    assert refusal(tmp_path / "logs") == (
        f'{two}: request_id is "s/1", which {one} already has; expected unique ids'
    ).replace(str(tmp_path / "logs"), "FILE")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"name": "x", "version": 1},
         "JSON with the keys name, version, expected a kv-cache-tester session "
         '({"block_size", "requests"})'),
        ({"format": "cachecast.run", "version": 1},
         "is part of a cachecast run (ask that with cachecast sql), expected a kv-cache-tester "
         'session ({"block_size", "requests"})'),
    ],
)  # fmt: skip
def test_json_in_a_folder_that_is_no_session_is_named_for_what_it_is(
    write: Write, import_all: ImportAll, tmp_path: Path, content: Any, message: str
) -> None:
    write(SESSION, name="logs/a.json")
    odd = write(content, name="logs/b.json")
    logs = tmp_path / "logs"
    assert refusal(logs) == f"{odd}: {message}".replace(str(logs), "FILE")
    _, summary = import_all(logs, skip_bad=True)
    assert (summary.rows, [skip.count for skip in summary.skipped]) == (1, [1])


def test_a_dangling_link_and_a_pipe_in_a_folder_are_named_and_can_be_skipped(
    write: Write, import_all: ImportAll, tmp_path: Path
) -> None:
    write(SESSION, name="logs/a.json")
    logs = tmp_path / "logs"
    (logs / "gone.json").symlink_to(tmp_path / "nothing")
    assert refusal(logs) == "FILE/gone.json: is a link to nothing, expected a file"
    os.mkfifo(logs / "pipe.json")
    _, summary = import_all(logs, skip_bad=True)
    assert {skip.reason: skip.count for skip in summary.skipped} == {
        "missing file": 1, "unreadable": 1,
    }  # fmt: skip
    (logs / "gone.json").unlink()
    assert refusal(logs) == (
        "FILE/pipe.json: is a pipe or a device, which cannot be read twice, expected a file or a "
        "folder; write it to a file first"
    )


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let the system refuse a method of Path (to root nothing is closed)."""

    def close(method: str) -> None:
        def refuse(*_: Any, **__: Any) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, method, refuse)

    return close


@pytest.mark.parametrize("method", ["stat", "open"])
def test_a_file_that_may_not_be_read_is_one_sentence(
    write: Write, closed: Callable[[str], None], method: str
) -> None:
    log = write(ROW)
    closed(method)
    with pytest.raises(LogError) as caught:
        sniff(log)
    assert str(caught.value) == (
        f"{log}: cannot be read (Permission denied), expected a readable file"
    )


def test_a_folder_inside_that_may_not_be_read_is_named(
    write: Write, import_all: ImportAll, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(SESSION, name="logs/a.json")
    inner = tmp_path / "logs" / "inner"
    inner.mkdir()
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if str(path) == str(inner):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert refusal(tmp_path / "logs") == (
        "FILE/inner: cannot be read (Permission denied), expected a readable file"
    )
    _, summary = import_all(tmp_path / "logs", skip_bad=True)
    assert (summary.rows, [skip.count for skip in summary.skipped]) == (1, [1])


def test_a_pipe_is_refused_with_what_to_do(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert refusal(pipe) == (
        "FILE: is a pipe or a device, which cannot be read twice, expected a file or a folder; "
        "write it to a file first"
    )


def test_a_name_that_no_system_takes_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / ("a" * 300)) == (
        "FILE: cannot be read (File name too long), expected a readable file"
    )
    with pytest.raises(LogError, match=r"cannot be read .*null"):
        sniff(tmp_path / "a\0b")


def test_content_blocks_with_and_without_markers_do_not_mix() -> None:
    shows = LogMeta("a", "blocks", carries_markers=True)
    hides = LogMeta("b", "blocks", carries_markers=False)
    with pytest.raises(LogError) as caught:
        merged_meta([shows, hides], [Path("a"), Path("b")])
    assert str(caught.value) == (
        "b: its source cannot show cache markers, that of a can show them; expected one kind in an "
        "import"
    )


def test_content_blocks_and_token_blocks_may_be_merged() -> None:
    sketch = LogMeta("sketch", "blocks", carries_markers=True)
    mooncake = LogMeta("mooncake", "token_blocks", carries_markers=False)
    merged = merged_meta([mooncake, sketch], [Path("a"), Path("b")])
    assert (merged.evidence, merged.carries_markers) == ("blocks", True)


def test_an_imported_log_whose_sessions_were_spread_gets_no_warning_again(
    write: Write, import_all: ImportAll, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        write(SESSION | {"id": name}, name=f"logs/{name}.json")
    spread, summary = import_all(tmp_path / "logs", spread_s=10.0)
    assert summary.warnings == []
    again, summary = import_all(spread.path)
    assert summary.warnings == []
    assert metadata_of(again.meta)["cachecast.source_format"] == "kv-cache-tester"
