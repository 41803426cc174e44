"""What holds for every format of usage logs: totals, evidence, declarations, sniffing, faults."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from usage_logs import (
    LOGS,
    Row,
    as_csv,
    as_lines,
    langfuse,
    langfuse_blob,
    litellm,
    openrouter,
    sharegpt,
    tracelab,
)

from cachecast_datasets.errors import LogError
from cachecast_datasets.importing import ImportSummary, import_log
from cachecast_datasets.readers.reader import Reader
from cachecast_datasets.source import Source
from cachecast_datasets.sources import READERS, head_of, sniff
from cachecast_datasets.trace import Trace, open_trace

ImportAll = Callable[..., tuple[Trace, ImportSummary]]
# one line of every format that is no usage log
LINES: dict[str, Row] = {
    "sketch": {"at": 0, "prompt": []},
    "mooncake": {"timestamp": 0, "input_length": 0, "hash_ids": []},
    "kv-cache-tester": {"id": "s", "block_size": 64, "requests": []},
    "kv-cache-tester-merged": {"timestamp": 0, "input_length": 0, "hash_runs": []},
    "token-ids": {"arrival": 0, "prompt_token_ids": []},
}
FORMATS = sorted({reader for reader, *_ in LOGS.values()})


@pytest.mark.parametrize("name", LOGS)
def test_a_file_in_gives_the_stated_totals(
    tmp_path: Path, import_all: ImportAll, name: str
) -> None:
    reader, text, rows, (prompt, output), evidence = LOGS[name]
    path = tmp_path / "log"
    path.write_text(text)
    trace, summary = import_all(path)
    assert (summary.source_format, summary.rows, summary.evidence) == (reader, rows, evidence)
    assert sum(one.prompt_tokens or 0 for one in trace) == prompt
    assert sum(one.output_tokens or 0 for one in trace) == output
    assert not summary.skipped


@pytest.mark.parametrize("name", LOGS)
def test_no_format_is_taken_for_another(tmp_path: Path, name: str) -> None:
    path = tmp_path / "log.bin"
    path.write_text(LOGS[name][1])
    head = head_of(path)
    assert [r.name for r in READERS.values() if r.recognises(head)] == [LOGS[name][0]]


@pytest.mark.parametrize(
    "other",
    [
        # Langfuse's exports of traces and scores, LiteLLM's daily totals, an evaluation's rows
        {"id": "t", "timestamp": "2026-06-01 10:00:00.000000", "name": "chat", "project_id": "p",
         "session_id": "s", "input": "Hi?", "output": "Yes."},
        {"id": "s", "timestamp": "2026-06-01 10:00:00.000000", "name": "helpful", "value": 1},
        {"user_id": "u", "date": "2026-06-01", "model": "m", "spend": 1.0, "prompt_tokens": 5},
        {"id": 1, "input": "2 + 2", "output": "4"},
        {"id": "r", "object": "chat.completion", "usage": {"prompt_tokens": 1}},
    ],
)  # fmt: skip
def test_what_only_looks_like_a_usage_log_is_refused(tmp_path: Path, other: Row) -> None:
    path = tmp_path / "log"
    for text in (as_lines(other), json.dumps([other]), as_csv(other)):
        path.write_text(text)
        with pytest.raises(LogError, match="expected one of sketch, "):
            sniff(path)


@pytest.mark.parametrize("name", LINES)
def test_no_older_format_is_taken_for_a_usage_log(tmp_path: Path, name: str) -> None:
    path = tmp_path / "log"
    path.write_text(json.dumps(LINES[name]) + "\n")
    head = head_of(path)
    assert [r.name for r in READERS.values() if r.recognises(head)] == [name]


def test_a_first_row_longer_than_the_head_is_known_by_what_can_be_seen(tmp_path: Path) -> None:
    path = tmp_path / "log"
    long = litellm(response={"text": "x" * 200_000})
    path.write_text(json.dumps([long]))
    assert sniff(path).name == "litellm"
    path.write_text(json.dumps({"data": [openrouter()], "more": "x" * 200_000}))
    assert sniff(path).name == "openrouter"


FIELDS: dict[str, list[Row]] = {
    "litellm": [litellm()],
    "langfuse": [langfuse(), langfuse_blob(langfuse())],
    "openrouter": [openrouter()],
    "sharegpt": [sharegpt()],
    "tracelab": [tracelab()],
}


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_is_declared(name: str) -> None:
    """`became` says of each field what it is in the request log, or that it is not used."""
    declared = {_plain(word) for key in READERS[name].became for word in re.findall(r"[\w*]+", key)}
    families = tuple(word.removesuffix("*") for word in declared if word.endswith("*"))
    for row in FIELDS[name]:
        for field in map(_plain, row):
            assert field in declared or (families and field.startswith(families)), field


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


@pytest.mark.parametrize("name", FORMATS)
def test_what_nobody_can_know_is_declared(name: str) -> None:
    assert READERS[name].cannot_tell
    assert READERS[name].became


def _read(reader: Reader, path: Path) -> tuple[int, int]:
    """(requests, faults) of a file read with --skip-bad; only LogErrors may end it."""
    faults: list[LogError] = []
    source = Source(path, bad=faults.append, skip_bad=True)
    try:
        made = sum(1 for _ in reader.read(source))
    except LogError as problem:
        faults.append(problem)
        made = 0
    for fault in faults:
        assert str(fault).startswith(str(path))
    return made, len(faults) + len(source.notes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutants")


@given(
    name=st.sampled_from(sorted(LOGS)),
    place=st.floats(0, 1),
    piece=st.sampled_from(
        [b"", b"\x00", b"\xff", b'"', b"{", b"]", b"\n", b",", b"-1", b"1e999", b"null", b'{"a":1}',
         b"NaN", b"\\u", b"[" * 500, b'""', b"true", b"99999999999999999999"]
    ),
    gone=st.integers(0, 60),
)  # fmt: skip
def test_a_mutated_file_is_an_error_or_a_counted_skip(
    folder: Path, name: str, place: float, piece: bytes, gone: int
) -> None:
    """Never a traceback: bytes replaced anywhere, in every format."""
    data = LOGS[name][1].encode()
    at = int(place * len(data))
    path = folder / "mutant"
    path.write_bytes(data[:at] + piece + data[at + gone :])
    _read(READERS[LOGS[name][0]], path)
    try:
        reader = sniff(path)
    except LogError:
        return
    _read(reader, path)


@given(name=st.sampled_from(sorted(LOGS)), place=st.floats(0, 0.999))
def test_a_file_cut_short_loses_nothing_silently(folder: Path, name: str, place: float) -> None:
    """Cut before its last line ends, a file has fewer requests and says so (or is refused)."""
    reader, text, rows, *_ = LOGS[name]
    data = text.encode()
    cut = data[: int(place * len(data.rstrip(b"\n")))]
    path = folder / "cut"
    path.write_bytes(cut)
    if not cut.strip() or not cut.decode().strip():
        return
    made, told = _read(READERS[reader], path)
    whole_lines = cut.endswith(b"\n") or name == "azure.csv"  # a shorter last number is a number
    header_only = name.endswith(".csv") and cut.count(b"\n") == 0
    if made < rows and not whole_lines and not header_only:
        assert told or data[len(cut) : len(cut) + 1] in (b"\r", b"\n")


@given(
    name=st.sampled_from([name for name in sorted(LOGS) if not name.endswith(".json")]),
    seed=st.integers(0, 2**32),
)
def test_shuffled_rows_keep_every_request(folder: Path, name: str, seed: int) -> None:
    """The order of rows does not matter for what is counted."""
    reader, text, rows, *_ = LOGS[name]
    lines = text.splitlines(keepends=True)
    first = lines[:1] if name.endswith(".csv") else []
    rest = lines[len(first) :]
    random.Random(seed).shuffle(rest)
    path = folder / "shuffled"
    path.write_text("".join(first + rest))
    assert _read(READERS[reader], path)[0] == rows


def test_a_json_array_cut_short_is_one_counted_skip(tmp_path: Path) -> None:
    path, out = tmp_path / "log.json", tmp_path / "out.parquet"
    path.write_text(json.dumps([litellm("a"), litellm("b")])[:-20])
    with pytest.raises(LogError, match="the JSON is cut short"):
        import_log([path], out)
    summary = import_log([path], out, skip_bad=True)
    assert (summary.rows, [(s.reason, s.count) for s in summary.skipped]) == (0, [("cut short", 1)])


def test_bad_rows_are_skipped_and_counted_by_reason(tmp_path: Path) -> None:
    path, out = tmp_path / "log.jsonl", tmp_path / "out.parquet"
    good, bad = litellm("a"), litellm("b", startTime="yesterday")
    path.write_text(json.dumps(good) + "\n" + json.dumps(bad) + "\n{cut\n")
    with pytest.raises(LogError, match=r'line 2: startTime is "yesterday", expected a date'):
        import_log([path], out)
    summary = import_log([path], out, skip_bad=True)
    assert (summary.rows, [(s.reason, s.count) for s in summary.skipped]) == (
        1, [("bad value", 1), ("not JSON", 1)],
    )  # fmt: skip
    assert len(list(open_trace(out))) == 1
