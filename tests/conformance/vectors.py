"""Which vectors of the fact sheet there are, read from ../shared."""

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path


def stated_ids(shared: Path, prefix: str) -> set[str]:
    """Ids of every JSON vector of provider-rules.md that starts with `prefix`."""
    sheet = (shared / "provider-rules.md").read_text(encoding="utf-8").splitlines()
    found = {json.loads(row)["id"] for row in sheet if row.startswith('{"id"')}
    return {name for name in found if name.startswith(prefix)}


def tested_ids(names: Collection[str]) -> set[str]:
    """Ids in test names: `test_oai_01_…` is OAI-01, `test_ant_08_09_…` are two."""
    found = set()
    for name in names:
        match = re.match(r"test_([a-z]+)((?:_\d\d)+)", name)
        if match:
            found |= {f"{match[1].upper()}-{number}" for number in match[2].strip("_").split("_")}
    return found


def assert_all_accounted(stated: set[str], names: Collection[str], out: Mapping[str, str]) -> None:
    """Every stated id is in a test's name or listed with a reason, and none is in both."""
    tested = tested_ids(names)
    assert tested & set(out) == set()
    assert tested | set(out) == stated
    assert all(out.values())
