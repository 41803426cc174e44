"""docs/sql.md, made from the views themselves: `python -m cachecast.results.documentation`."""

import sys
import tempfile
from pathlib import Path

from cachecast.results.reader import connect
from cachecast.results.views import VIEWS
from cachecast.results.writer import RunWriter

_HEAD = """\
# `cachecast sql`: the tables and views of a run

*Made from the code by `make docs`; a test keeps the two equal.*

A run is the folder that `bill -o RUN` and its sisters write: `run.json` (scenarios, versions,
seeds, hash of the input, assumptions) and Parquet tables. Any program that reads Parquet can use
the files; `cachecast sql RUN "select …"` opens them in DuckDB and adds the views below.

* `cachecast sql RUN` lists tables, views and examples. `--json` prints one JSON object a row,
  `--csv` CSV, `--limit N` at most N rows.
* Money is exact, a DECIMAL with 12 places, in the row's currency; views never add up two
  currencies. In the files it is a whole number of picounits (1e-12); `raw_ledger` and `raw_misses`
  show those.
* NULL is unknown or "no price", never zero; `unpriced_requests` counts what a sum leaves out.
* Ratios are floats. Times are UTC. A log that knows only relative times counts from 1970-01-01.
* A query can read nothing but the run, and nothing that it does is kept: no file is read or
  written, no extension is loaded. Tables that it creates live until it ends.
* `views` and `view_columns` hold this page's content, for programs.

`run.json` has, of every command, `format`, `version` (of the format of runs), `versions` (of what
wrote it), `command`, `input_hash`, `scenarios` (each as `bill --json` prints it), `assumptions`,
`seeds` and `tables`. Besides,

* of `simulate`: `fleet`, which is what `simulate --json` prints; `gpu_time_ns`, the time of all
  GPUs from the first arrival to the last end, on which any price of a GPU hour can be put;
  `cache` (`blocks_per_server`, `block_tokens`, and `bytes_per_token` of KV cache, null where it
  is unknown); `distributions`, seconds at each of the `shares`: `ttft_s` and `e2e_s` of all
  requests, `itl_s` of all gaps between two tokens; the table `latency` of the fleet file with the
  folder that its files are in, and `clock` and `normalised` of steps that were measured;
* of `replay`: `engine`, `machine`, `device`, `threads`, `torch`, `clock`, `normalised` (each step
  scaled by a probe), `loop`, `speed_up`, `partial` (interrupted: a part of the log) and `fleet`,
  what was measured.
"""


def markdown() -> str:
    """The whole page."""
    parts = [_HEAD]
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder, "run")
        with RunWriter(run) as writer:
            writer.finish({})
        connection = connect(run)
        for name, view in VIEWS.items():
            kinds = {r[0]: r[1] for r in connection.execute(f"DESCRIBE {name}").fetchall()}
            parts.append(f"\n## {name}\n\n{view.meaning[0].upper()}{view.meaning[1:]}.\n\n")
            parts.append(
                f"```sql\n{view.example}\n```\n\n| column | type | meaning |\n|---|---|---|\n"
            )
            for column, meaning in view.columns.items():
                parts.append(f"| `{column}` | {_short(kinds[column])} | {meaning} |\n")
        connection.close()
    return "".join(parts)


def _short(kind: str) -> str:
    return "STRUCT" if kind.startswith("STRUCT") else kind.replace("WITH TIME ZONE", "(UTC)")


if __name__ == "__main__":
    sys.stdout.write(markdown())
