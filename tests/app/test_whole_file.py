"""Files that appear whole or not at all."""

import errno
from pathlib import Path

import pytest

from cachecast.whole_file import write_whole


def test_a_file_is_replaced_and_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_on_a_full_disk_the_old_file_stays_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"old")
    write = Path.write_bytes

    def half(path: Path, data: bytes) -> int:
        write(path, data[:1])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "file", b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"old"}
