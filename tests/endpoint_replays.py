"""What the tests of `cachecast replay --endpoint` share: a log, a replay of it, its rows."""

import json
from pathlib import Path
from typing import Any

from conftest import RunCli
from fake_server import FakeServer

# three prompts of two blocks of 512 tokens; the first two share a block. Ids come from the hashes.
LOG = [
    {"timestamp": 0, "input_length": 1024, "output_length": 3, "hash_ids": [1, 2]},
    {"timestamp": 10, "input_length": 1024, "output_length": 4, "hash_ids": [1, 3]},
    {"timestamp": 20, "input_length": 1024, "output_length": 5, "hash_ids": [4, 5]},
]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def replayed(run_cli: RunCli, log: Path, server: FakeServer, *more: object) -> Any:
    """What `--json` prints."""
    code, out, err = run_cli("replay", log, "--endpoint", server.url, "--json", *more)
    assert code == 0, err
    return json.loads(out)


def refused(run_cli: RunCli, *arguments: object) -> str:
    """The one sentence of a replay that ends with exit code 2."""
    code, out, err = run_cli("replay", *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    return err.removeprefix("cachecast: ")


def rows_of(run_cli: RunCli, run: Path) -> list[dict[str, Any]]:
    query = "select * from measured order by row"
    code, out, err = run_cli("sql", run, query, "--json")
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]
