"""`cachecast price --usage`: what is no JSON is one sentence and exit code 2."""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cachecast.cli import main

Price = Callable[[str], tuple[int, str, str]]


@pytest.fixture
def price(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Price:
    """`price(USAGE)`: exit code, stdout and stderr, with sys.stdin as the test has set it."""

    def call(usage: str) -> tuple[int, str, str]:
        arguments = ["price", "--model", "claude-opus-5", "--usage", usage]
        monkeypatch.setattr(sys, "argv", ["cachecast", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        assert isinstance(left.value.code, int)
        return (left.value.code, *capsys.readouterr())

    return call


def refused(price: Price, usage: str) -> str:
    """What `price` says about a usage that it cannot read."""
    code, out, err = price(usage)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    return err.strip()


@pytest.mark.parametrize(
    ("usage", "message"),
    [
        ('{"input_tokens": 1e999999999999999999999}',
         "--usage: the number 1e999999999999999999999 is too large or too small to be read"),
        ('{"input_tokens": 1e99999999}',
         "input_tokens is 1E+99999999, expected at most 1000000000000000"),
        ('{"input_tokens": ' + "9" * 5000 + "}",
         f"input_tokens is {'9' * 57}..., expected at most 1000000000000000"),
        ('{"input_tokens": 1, "cache_creation": {"a": 1, "a": 2}}',
         "--usage: field 'a' stands there twice"),
        ('{"input_tokens": -Infinity}', "--usage: -Infinity is not a number that JSON knows"),
        ('{"x": ' * 5000, "--usage: not JSON: nested too deeply"),
        ('{"input_tokens": 1, "x": ' + '{"x": ' * 700 + "1" + "}" * 701,
         "usage is nested deeper than 100 levels"),
        ("@", "--usage @: expected the name of a file after @"),
        ("@/", "--usage /: Is a directory"),
    ],
)  # fmt: skip
def test_a_usage_that_cannot_be_read_is_one_sentence(
    price: Price, usage: str, message: str
) -> None:
    assert refused(price, usage) == f"cachecast: {message}"


def test_invalid_utf_8_is_refused_in_a_file_and_on_stdin(
    price: Price, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "usage.json"
    path.write_bytes(b'{"input_tokens": 1, "\xff": 2}')
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    what = "not UTF-8 text (byte 0xff at position 21)"

    assert refused(price, f"@{path}") == f"cachecast: --usage {path}: {what}"
    assert refused(price, "-") == f"cachecast: stdin: {what}"


def test_a_closed_stdin_is_refused(price: Price, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)

    assert refused(price, "-") == "cachecast: stdin: closed, expected a JSON object"


def test_a_byte_order_mark_is_no_part_of_the_object(price: Price, tmp_path: Path) -> None:
    path = tmp_path / "usage.json"
    path.write_bytes(b'\xef\xbb\xbf{"input_tokens": 1}')
    code, _, _ = price(f"@{path}")

    assert code == 0
