"""Every bug case about money and metrics (groups 1 and 5 of the sheet) is a test by its id."""

import re
from pathlib import Path

_STATED = re.compile(r"^\| BR-(\d+) ", re.MULTILINE)
_TESTED = re.compile(r"^def test_\w*?br_?((?:_?\d+)+)|\bid=\"BR-(\d+)", re.MULTILINE)


def stated(sheet: str, group: int) -> set[str]:
    """The numbers of the cases of a group."""
    (part,) = re.findall(rf"^## Group {group}\..*?(?=^##|\Z)", sheet, re.MULTILINE | re.DOTALL)
    return set(_STATED.findall(part))


def in_tests(root: Path) -> set[str]:
    """The numbers in names of tests and in ids of their parameters."""
    found = set()
    for path in (root / "tests").rglob("test_*.py"):
        for name, parameter in _TESTED.findall(path.read_text("utf-8")):
            found |= {parameter} if parameter else set(name.strip("_").split("_"))
    return found


def test_every_case_about_money_and_about_metrics_is_a_test(shared: Path, root: Path) -> None:
    sheet = (shared / "bug-cases.md").read_text("utf-8")
    assert len(stated(sheet, 1)) > 25
    assert stated(sheet, 5) == {"107", "109", "111", "112"}
    assert (stated(sheet, 1) | stated(sheet, 5)) - in_tests(root) == set()
