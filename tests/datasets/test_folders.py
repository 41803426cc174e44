"""What a folder is, judged by the files in it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from made_transcripts import answer, count, tokens, used

from cachecast_datasets.errors import LogError
from cachecast_datasets.sources import READERS, sniff

Write = Callable[..., Path]

FILES = {
    "claude-code": ("s1.jsonl", answer(1, "a1", None, tokens(3))),
    "codex": ("rollout-x.jsonl", count(1, used(3), used(3))),
    "kv-cache-tester": ("s1.json", {"id": "s", "block_size": 64, "requests": []}),
}


@pytest.mark.parametrize("name", FILES)
def test_a_folder_is_what_its_files_are_however_deep(
    write: Write, tmp_path: Path, name: str
) -> None:
    file, line = FILES[name]
    write(line, name=f"f/a/b/{file}")
    write({"some": "settings"}, name="f/settings.json")
    write(name="f/empty.jsonl")
    (tmp_path / "f" / "notes.txt").write_text("text")
    assert sniff(tmp_path / "f") is READERS[name]


@pytest.mark.parametrize("name", FILES)
def test_each_of_these_files_is_known_alone_too(write: Write, name: str) -> None:
    file, line = FILES[name]
    assert sniff(write(line, name=file)) is READERS[name]


def refusal(path: Path) -> str:
    with pytest.raises(LogError) as caught:
        sniff(path)
    return str(caught.value).replace(str(path), "FILE")


def test_a_folder_of_nothing_we_read_is_refused(write: Write, tmp_path: Path) -> None:
    write({"some": "settings"}, name="f/settings.json")
    assert refusal(tmp_path / "f") == (
        "FILE: the folder holds no logs of a kind that is read from folders, expected "
        "kv-cache-tester, claude-code, codex; name files of other kinds one by one"
    )


def test_a_folder_of_several_kinds_is_refused(write: Write, tmp_path: Path) -> None:
    for name in ("claude-code", "codex"):
        file, line = FILES[name]
        write(line, name=f"f/{name}/{file}")
    assert refusal(tmp_path / "f") == (
        "FILE: the folder holds logs of several kinds (claude-code, codex), expected one: name its "
        "folders or files one by one"
    )


@pytest.mark.parametrize(
    "line",
    [
        {"type": "summary", "summary": "s", "leafUuid": "x"},
        {"type": "mode", "mode": "normal", "sessionId": "s1"},
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
        {"type": "queue-operation", "operation": "enqueue", "sessionId": "s1"},
        {"sessionId": "s", "message": {"role": "assistant"}, "requestId": "r", "timestamp": "t"},
    ],
)
def test_a_claude_code_file_is_known_whatever_its_first_line_is(
    write: Write, line: dict[str, str]
) -> None:
    assert sniff(write(line, name="data")) is READERS["claude-code"]


def test_a_first_line_that_a_crash_cut_short_does_not_hide_the_format(write: Write) -> None:
    line = json.dumps(answer(1, "a1", None, tokens(3)))
    assert sniff(write(line[:300], line, name="data")) is READERS["claude-code"]
