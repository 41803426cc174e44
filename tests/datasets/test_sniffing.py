"""What holds for every log format: it is told from all others, and nothing is lost in silence."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_examples import EXAMPLES, Example

from cachecast_datasets.errors import BadInput, LogError
from cachecast_datasets.importing import import_log
from cachecast_datasets.sources import READERS, head_of, sniff


def test_every_reader_has_an_example_and_every_example_a_reader() -> None:
    """A new reader adds its own to tests/log_examples.py."""
    assert set(EXAMPLES) == set(READERS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_reader_takes_the_example_of_another_for_its_own(tmp_path: Path, name: str) -> None:
    """Whatever the order in which they are asked."""
    path = EXAMPLES[name].write(tmp_path)

    assert sniff(path) is READERS[name]
    head = head_of(path)
    assert {other for other, reader in READERS.items() if reader.recognises(head)} == {name}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_is_read_whole(tmp_path: Path, name: str) -> None:
    summary = import_log([EXAMPLES[name].write(tmp_path)], tmp_path / "out.parquet")
    assert (summary.rows, summary.skipped) == (EXAMPLES[name].requests, [])


def cut(data: bytes, draw: st.DataObject) -> bytes:
    return data[: draw.draw(st.integers(0, len(data)), "length")]


def mutated(data: bytes, draw: st.DataObject) -> bytes:
    found = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 4), "mutations")):
        found[draw.draw(st.integers(0, len(found) - 1), "at")] = draw.draw(
            st.integers(0, 255) | st.sampled_from(b'\x00\xff"\n{}[]0-,'), "byte"
        )
    return bytes(found)


def shuffled(data: bytes, draw: st.DataObject) -> bytes:
    return b"".join(draw.draw(st.permutations(data.splitlines(keepends=True)), "order"))


def duplicated(data: bytes, draw: st.DataObject) -> bytes:
    lines = data.splitlines(keepends=True)
    again = draw.draw(st.lists(st.sampled_from(lines), min_size=1, max_size=3), "again")
    return b"".join([*lines, *again])


def joined(data: bytes, draw: st.DataObject) -> bytes:
    """A line end is lost, as where two programs write at once."""
    ends = [at for at, byte in enumerate(data) if byte == 10]
    at = draw.draw(st.sampled_from(ends or [0]), "end")
    return data[:at] + data[at + 1 :]


DAMAGES = {f.__name__: f for f in (cut, mutated, shuffled, duplicated, joined)}


def damaged_copy(
    example: Example, damage: str, folder: Path, draw: st.DataObject
) -> tuple[Path, bytes]:
    """A damaged copy of the example; of a folder, one of its files."""
    path = example.write(folder)
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    file = draw.draw(st.sampled_from(files), "file")
    data = DAMAGES[damage](file.read_bytes(), draw)
    file.write_bytes(data)
    return path, data


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", EXAMPLES)
@given(draw=st.data())
@settings(max_examples=25)
def test_a_damaged_copy_gives_a_clean_error_or_counted_skips(
    name: str, damage: str, draw: st.DataObject
) -> None:
    """And of a format that is read line by line, each line is a request or a counted fault."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        path, data = damaged_copy(EXAMPLES[name], damage, folder, draw)
        try:
            summary = import_log([path], folder / "out.parquet", skip_bad=True, force=True)
        except BadInput:
            return
        if EXAMPLES[sniff(path).name].line_by_line:
            lines = [line for line in data.split(b"\n") if line.strip()]
            found = summary.rows + sum(skip.count for skip in summary.skipped)
            if summary.rows == 0 and len(lines[0].strip()) <= 2:
                assert found in (1, len(lines))  # `{` alone begins one broken JSON value
            else:
                assert found == len(lines)


@pytest.mark.parametrize("name", [name for name in EXAMPLES if EXAMPLES[name].line_by_line])
@given(draw=st.data())
@settings(max_examples=25)
def test_without_skip_bad_a_fault_is_an_error_and_never_a_missing_row(
    name: str, draw: st.DataObject
) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place)
        damage = draw.draw(st.sampled_from(sorted(DAMAGES)), "damage")
        path, data = damaged_copy(EXAMPLES[name], damage, folder, draw)
        try:
            summary = import_log([path], folder / "out.parquet")
        except BadInput:
            return
        assert summary.skipped == []
        assert summary.rows == len([line for line in data.split(b"\n") if line.strip()])


def test_a_value_of_the_wrong_kind_before_broken_json_is_one_sentence(tmp_path: Path) -> None:
    """The second fault once hid the first behind a traceback."""
    path = tmp_path / "log.jsonl"
    path.write_text('{"arrival":"0, "prompt_token_ids": [1]}\n')
    with pytest.raises(LogError, match=r"log\.jsonl line 1: not valid JSON"):
        import_log([path], tmp_path / "out.parquet")


def test_a_parquet_whose_text_is_no_utf8_is_called_damaged(tmp_path: Path) -> None:
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xd3\xff")]
    )
    arrival = pa.array([0], pa.timestamp("us", tz="UTC"))
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"request_id": bad, "arrival": arrival}), path)
    with pytest.raises(LogError, match=r"the Parquet is damaged|UTF-8"):
        import_log([path], tmp_path / "out.parquet")
