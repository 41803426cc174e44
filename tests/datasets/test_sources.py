"""What a file is, judged by its content; and files that are nothing we read."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from cachecast_datasets.errors import LogError
from cachecast_datasets.packed import open_bytes
from cachecast_datasets.source import Source, read_lines
from cachecast_datasets.sources import READERS, accepted, sniff

Write = Callable[..., Path]

SKETCH = {"at": 0, "prompt": []}
LINES: dict[str, Any] = {
    "sketch": SKETCH,
    "mooncake": {"timestamp": 0, "input_length": 0, "hash_ids": []},
    "kv-cache-tester": {"id": "s", "block_size": 64, "requests": []},
    "kv-cache-tester-merged": {"timestamp": 0, "input_length": 0, "hash_runs": []},
    "token-ids": {"arrival": 0, "prompt_token_ids": []},
}


def packed(data: bytes, packing: str) -> bytes:
    if packing == "gz":
        return gzip.compress(data)
    return zstandard.compress(data) if packing == "zst" else data


@pytest.mark.parametrize("packing", ["plain", "gz", "zst"])
@pytest.mark.parametrize("name", LINES)
def test_a_format_is_known_by_its_content_whatever_the_file_is_called(
    write: Write, name: str, packing: str
) -> None:
    data = packed(json.dumps(LINES[name]).encode() + b"\n", packing)
    assert sniff(write(data, name="data.png")) is READERS[name]


def test_json_printed_over_several_lines_is_known_too(write: Write) -> None:
    text = json.dumps(LINES["kv-cache-tester"], indent=2)
    assert sniff(write(text)) is READERS["kv-cache-tester"]


def test_a_byte_order_mark_and_blank_lines_first_do_no_harm(write: Write) -> None:
    path = write(b"\xef\xbb\xbf", json.dumps(SKETCH).encode(), b"\n")
    assert sniff(path) is READERS["sketch"]
    assert len(list(READERS["sketch"].read(Source(path)))) == 1
    assert sniff(write("", "", SKETCH)) is READERS["sketch"]


def test_seconds_and_milliseconds_are_not_mixed_up(write: Write) -> None:
    # both have `timestamp` and `input_length`; runs mean seconds, ids mean milliseconds
    both = LINES["mooncake"] | LINES["kv-cache-tester-merged"]
    assert sniff(write(both)) is READERS["kv-cache-tester-merged"]
    bailian = LINES["mooncake"] | {"chat_id": 1}  # seconds and blocks of 16
    assert refusal(write(bailian)).startswith(
        "FILE: JSON with the keys chat_id, hash_ids, input_length, timestamp (Qwen-Bailian is not "
        "read yet), expected one of "
    )


def test_a_broken_first_line_is_left_to_the_reader_that_the_rest_points_to(write: Write) -> None:
    path = write('{"at": 0, "prompt": [', SKETCH)
    assert sniff(path) is READERS["sketch"]
    with pytest.raises(LogError, match="line 1: the JSON is cut short, expected a whole object"):
        list(READERS["sketch"].read(Source(path)))


def refusal(path: Path) -> str:
    with pytest.raises(LogError) as caught:
        sniff(path)
    return str(caught.value).replace(str(path), "FILE")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\xff", "not text and not Parquet"),
        (b"time,tokens\n1,2\n", "text, but no JSON objects"),
        (b'[{"at": 0}]', "text, but no JSON objects"),
        (b'{"colour": "red"}\n', "JSON with the keys colour"),
        (b"\xff\xfe{\x00", "not text and not Parquet"),  # UTF-16
    ],
)
def test_a_file_of_the_wrong_kind_is_described_and_all_formats_are_listed(
    write: Write, data: bytes, what: str
) -> None:
    assert refusal(write(data)) == f"FILE: {what}, expected {accepted()}"


def test_every_format_is_in_the_list_of_what_is_accepted_by_its_name_alone() -> None:
    assert accepted() == (
        f"one of {', '.join(READERS)} (see cachecast import --help or docs/log-formats.md)"
    )
    assert len(accepted()) < 300


@pytest.mark.parametrize(
    "data", [b"", b"\n \n", gzip.compress(b"", mtime=0), zstandard.compress(b"")]
)
def test_an_empty_file_is_refused(write: Write, data: bytes) -> None:
    assert refusal(write(data)) == "FILE: the file is empty, expected a request log"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nothing") == "FILE: no such file or folder"


def test_a_folder_without_logs_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path) == (
        "FILE: the folder holds no logs of a kind that is read from folders, expected "
        "kv-cache-tester, claude-code, codex; name files of other kinds one by one"
    )


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_compressed_data_cut_short_are_refused_after_the_whole_lines(
    write: Write, packing: str
) -> None:
    # incompressible ids, so that the cut leaves a part that can be read
    lines = [json.dumps(SKETCH | {"id": f"{n * 2654435761 % 2**32:x}"}) for n in range(40_000)]
    data = packed("\n".join(lines).encode() + b"\n", packing)
    path = write(data[: len(data) // 2])
    with pytest.raises(LogError) as caught:
        list(READERS["sketch"].read(Source(path)))
    message = str(caught.value).replace(str(path), "FILE")
    assert message.startswith("FILE: the compressed data end early (a file cut short) after ")
    assert message.endswith(" whole lines, expected a complete gz or zst file")


def test_compressed_data_with_a_broken_byte_are_refused(write: Write) -> None:
    text = json.dumps(SKETCH).encode() * 50
    checked = zstandard.ZstdCompressor(write_checksum=True)
    for good in (gzip.compress(text), checked.compress(text)):
        data = bytearray(good)
        data[len(data) // 2] ^= 0xFF
        with pytest.raises(LogError, match="the compressed data are damaged"):
            list(read_lines(Source(write(bytes(data)))))


def test_several_zst_frames_in_one_file_are_read_in_a_row(write: Write) -> None:
    path = write(zstandard.compress(b"one\n") + zstandard.compress(b"two\n"))
    with open_bytes(path) as stream:
        assert stream.read() == b"one\ntwo\n"
