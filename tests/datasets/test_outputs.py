"""Where an import writes: never over an input, a device or a link; nothing is left behind."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cachecast_datasets.anonymising import Anonymiser
from cachecast_datasets.errors import BadInput
from cachecast_datasets.importing import import_log
from cachecast_datasets.synthetic.generating import generate
from cachecast_datasets.synthetic.lines import sketch_line
from cachecast_datasets.synthetic.workload import KINDS
from cachecast_datasets.workspace import workspace

Write = Callable[..., Path]
LINE: dict[str, Any] = {"at": 0, "prompt": []}


def refusal(out: Path, *sources: Path) -> str:
    with pytest.raises(BadInput) as caught:
        import_log(sources, out, force=True)
    return str(caught.value).replace(str(out), "OUT")


def test_an_input_is_never_overwritten(write: Write) -> None:
    log = write(LINE)
    before = log.read_bytes()
    assert refusal(log, log) == "OUT: is an input of this import, expected another file"
    assert log.read_bytes() == before


def test_an_input_is_recognised_behind_links_and_inside_a_folder(
    write: Write, tmp_path: Path
) -> None:
    log = write({"block_size": 64, "requests": []}, name="sessions/s.json")
    (tmp_path / "link").symlink_to(log)
    os.link(log, tmp_path / "hard")
    for out, source in (
        (log, tmp_path / "link"),
        (tmp_path / "hard", log),
        (log, log.parent),
        (log.parent / ".." / "sessions" / "s.json", log),
    ):
        assert refusal(out, source) == "OUT: is an input of this import, expected another file"
    assert log.is_file()


@pytest.mark.parametrize("target", ["exists", "missing"])
def test_a_link_is_not_replaced(write: Write, tmp_path: Path, target: str) -> None:
    (tmp_path / "exists").write_text("precious")
    out = tmp_path / "out.parquet"
    out.symlink_to(tmp_path / target)
    assert refusal(out, write(LINE)) == (
        "OUT: is a link, expected the name of a new or a regular file"
    )
    assert out.is_symlink()
    assert (tmp_path / "exists").read_text() == "precious"


def test_a_pipe_a_device_and_a_folder_are_not_replaced(write: Write, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    log = write(LINE)
    expected = "expected the name of a new or a regular file"
    assert refusal(pipe, log) == f"OUT: is a pipe or a device, {expected}"
    assert refusal(Path("/dev/null"), log) == f"OUT: is a pipe or a device, {expected}"
    assert refusal(tmp_path, log) == f"OUT: is a folder, {expected}"
    assert pipe.is_fifo()


def test_a_name_that_no_file_system_takes_is_refused(write: Write, tmp_path: Path) -> None:
    out = tmp_path / ("a" * 300)
    assert refusal(out, write(LINE)) == (
        "OUT: cannot be written (File name too long), expected another name"
    )


def test_a_name_of_255_bytes_can_be_written(write: Write, tmp_path: Path) -> None:
    out = tmp_path / ("a" * 247 + ".parquet")
    assert import_log([write(LINE)], out).rows == 1
    assert out.is_file()


def test_the_leftovers_of_a_killed_import_go_with_the_next_one(
    write: Write, tmp_path: Path
) -> None:
    killed = f"""
import os, pathlib
from cachecast_datasets.workspace import workspace
with workspace(pathlib.Path({str(tmp_path)!r})) as folder:
    (folder / "run0.arrow").write_text("half")
    os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", killed], check=False)
    (leftover,) = tmp_path.glob(".cachecast-import-*")
    import_log([write(LINE)], tmp_path / "out.parquet")
    assert not leftover.exists()


def test_an_import_that_is_at_work_keeps_its_files(write: Write, tmp_path: Path) -> None:
    with workspace(tmp_path) as folder:
        import_log([write(LINE)], tmp_path / "out.parquet")
        assert folder.is_dir()
    assert not folder.exists()


@pytest.mark.parametrize("name", ["log.parquet", "log.jsonl"])
def test_a_folder_that_refuses_to_delete_says_why_it_cannot_be_written(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A read-only file system refuses to remove even a file that is not there."""

    def refused(path: Path, missing_ok: bool = False) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    def full(one: object, other: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "unlink", refused)
    monkeypatch.setattr(os, "replace", full)
    log, out = write({"at": 0, "prompt": [["user", "Q", 600]]}, name="in.jsonl"), tmp_path / name
    with pytest.raises(BadInput, match="cannot be written: No space left on device"):
        import_log([log], out, anonymise=Anonymiser(b"s" * 32))
    with pytest.raises(BadInput, match="cannot be written: No space left on device"):
        generate(KINDS["chat"], out, sketch_line, requests=1, sessions=None, seed=0, force=True)
