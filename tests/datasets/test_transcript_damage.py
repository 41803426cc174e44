"""Transcripts that a crash, a disk or a person damaged: counted, named, never lost in silence."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_transcripts import (
    answer,
    codex,
    count,
    meta,
    said,
    text,
    tokens,
    tool_result,
    used,
    user,
    without,
)
from made_transcripts import tool_use as used_tool

from cachecast_datasets.errors import LogError
from cachecast_datasets.importing import ImportSummary, import_log
from cachecast_datasets.readers import claude_code
from cachecast_datasets.readers import codex as codex_reader
from cachecast_datasets.request import Request
from cachecast_datasets.source import Source
from cachecast_datasets.sources import sniff
from cachecast_datasets.trace import Trace

Write = Callable[..., Path]
ImportAll = Callable[..., tuple[Trace, ImportSummary]]

CLAUDE = [
    user(0, "u1", None, "hello"),
    answer(1, "a1", "u1", tokens(100, output=5), text("one"), id="m1", requestId="r1"),
    answer(2, "a2", "a1", tokens(100, output=9), used_tool("t1"), id="m1", requestId="r1"),
    user(3, "u2", "a2", [tool_result("t1", "out")]),
    answer(4, "a3", "u2", tokens(5, 90, 20, 3), text("two"), id="m2", requestId="r2"),
]
CODEX = [
    meta(0, "t", base_instructions={"text": "be brief"}),
    said(1, "user", "hello"),
    codex(1, "turn_context", model="gpt-5.4"),
    said(2, "assistant", "hi"),
    count(3, used(100, 0, 5), used(100, 0, 5)),
    codex(4, "compacted", message="short", replacement_history=[]),
    count(5, used(230, 50, 9), used(130, 50, 4)),
]
FORMATS = {"claude-code": CLAUDE, "codex": CODEX}


def lines_of(name: str) -> list[bytes]:
    return [json.dumps(line).encode() + b"\n" for line in FORMATS[name]]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("damage", "reason", "message"),
    [
        (b'{"type":"user","mess', "cut short", "the JSON is cut short"),
        (b"\x00" * 30 + b"\n", "NUL bytes", "30 NUL bytes"),
        (b'{"type": "us\xff"}\n', "invalid UTF-8", "byte 13 is 0xff"),
        (b'{"type":"us{"type":"user"}\n', "not JSON", "not valid JSON"),
    ],
)
def test_a_line_that_a_crash_destroyed_is_skipped_counted_and_named_unasked(
    write: Write, import_all: ImportAll, name: str, damage: bytes, reason: str, message: str
) -> None:
    whole = import_all(write(*lines_of(name), name="a.jsonl"))[0].rows
    _, summary = import_all(write(*lines_of(name), damage, name="b.jsonl"))
    assert summary.rows == whole == 2
    (skip,) = summary.skipped
    assert (skip.reason, skip.count) == (reason, 1)
    assert f"b.jsonl line {len(FORMATS[name]) + 1}: {message}" in skip.example


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("line", [b"42\n", b'["a"]\n', b'{"type": 3, "payload": {}}\n'])
def test_a_line_of_another_shape_is_an_error_unless_skipped(
    write: Write, import_all: ImportAll, name: str, line: bytes
) -> None:
    path = write(*lines_of(name), line)
    with pytest.raises(LogError, match=f"line {len(FORMATS[name]) + 1}: "):
        import_all(path)
    _, summary = import_all(path, skip_bad=True)
    assert (summary.rows, [skip.count for skip in summary.skipped]) == (2, [1])


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_of_another_kind_in_the_folder_is_named(
    write: Write, import_all: ImportAll, tmp_path: Path, name: str
) -> None:
    write(*lines_of(name), name="f/s1.jsonl")
    write({"type": "other", "display": "ls"}, name="f/history.jsonl")
    _, summary = import_all(tmp_path / "f")
    assert summary.rows == 2
    assert "another kind of file" in [skip.reason for skip in summary.skipped]


def test_an_answer_that_lost_its_message_is_counted(write: Write, import_all: ImportAll) -> None:
    bare = without(CLAUDE[-1], "message")
    summary = import_all(write(*CLAUDE[:-1], bare))[1]
    assert summary.rows == 1
    assert [skip.example.split(": ", 1)[1] for skip in summary.skipped] == [
        "an assistant line without a message, expected its usage in one"
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_file_in_the_folder_does_no_harm(
    write: Write, import_all: ImportAll, tmp_path: Path, name: str
) -> None:
    write(*lines_of(name), name="f/s1.jsonl")
    write(name="f/s0.jsonl")
    assert import_all(tmp_path / "f")[1].rows == 2


PLANTED = [b"null", b"-1", b"1e999", b'"\\ud800"', b"\x00", b"[" * 9]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The bytes with a few of them changed, cut out, doubled, or with lines swapped."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(made) + 1)
        match rng.randrange(5):
            case 0:
                made[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del made[at : at + rng.randint(1, 40)]
            case 2:
                made[at:at] = made[at : at + rng.randint(1, 200)]
            case 3:
                made[at:at] = rng.choice(
                    [b"null", b"-1", b"1e999", b'"\\ud800"', b"\x00", b"[" * 9]
                )
            case _:
                lines = bytes(made).splitlines(keepends=True)
                rng.shuffle(lines)
                made = bytearray(b"".join(lines))
    return bytes(made)


def read_all(name: str, path: Path) -> tuple[list[Request], list[LogError], Source]:
    faults: list[LogError] = []
    source = Source(path, bad=faults.append, lost=faults.append, skip_bad=True)
    reader = claude_code if name == "claude-code" else codex_reader
    return list(reader.read(source)), faults, source


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_a_mutated_file_gives_requests_and_counted_faults_and_nothing_else(
    tmp_path: Path, name: str, seed: int
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(mutated(b"".join(lines_of(name)), random.Random(seed)))
    found, faults, source = read_all(name, path)
    assert len({one.request_id for one in found}) == len(found)
    for one in found:
        if one.blocks is not None:
            assert sum(block.tokens for block in one.blocks) == one.prompt_tokens
    # two calls were there: each is read, or a fault or a note tells of lines
    assert len(found) >= 2 or faults or source.notes
    try:
        if sniff(path).name != name:
            return  # a first line like another format's, whose reader counts every line as bad
    except LogError:
        return  # a first line that no format recognises
    summary = import_log([path], tmp_path / "o.parquet", skip_bad=True, force=True)
    assert summary.rows == len(found)
    assert sum(skip.count for skip in summary.skipped) == len(faults)


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_a_file_cut_anywhere_keeps_every_whole_line(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: Any
) -> None:
    whole = b"".join(lines_of(name))
    cut = data.draw(st.integers(1, len(whole)))
    path = tmp_path_factory.mktemp("cut") / "s.jsonl"
    path.write_bytes(whole[:cut])
    _, faults, _ = read_all(name, path)
    complete = whole[:cut].endswith(b"\n") or whole[cut : cut + 1] == b"\n"
    assert len(faults) == (0 if complete else 1)
