"""`cachecast bill` on logs with observed usage, of several models, and on several logs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from rule_sketches import line

RunCli = Callable[..., tuple[int, str, str]]

OPUS = "claude-opus-5"
S = ("system", "S", 6000, "5m")
CLASSES = [
    "fresh", "cache_read", "cache_write_5m", "cache_write_30m", "cache_write_1h",
    "cache_write_12h", "cache_write_unknown", "output",
]  # fmt: skip
NOTHING = dict.fromkeys(CLASSES, 0)


Bill = Callable[..., dict[str, Any]]


Sketch = Callable[..., Path]


def with_observed(run_cli: RunCli, log: Path, observed: list[dict[str, Any] | None]) -> Path:
    """The sketch as cachecast Parquet, with what its source is said to have reported."""
    out = log.with_suffix(".parquet")
    assert run_cli("import", log, "-o", out)[0] == 0
    table = pq.read_table(out)
    place = table.schema.get_field_index("observed")
    field = table.schema.field(place)
    column = pa.array(observed, type=field.type)
    pq.write_table(table.set_column(place, field, column), out)
    return out


TWO = [
    line(0, S, ("user", "Q1", 200), model=OPUS, output=100),
    line(10, S, ("user", "Q2", 300), model=OPUS, output=50),
]


def test_observed_usage_stands_beside_the_prediction(
    bill: Bill, run_cli: RunCli, sketch: Sketch
) -> None:
    seen: list[dict[str, Any] | None] = [
        NOTHING | {"fresh": 200, "cache_write_5m": 6000, "output": 100},
        NOTHING | {"fresh": 290, "cache_write_5m": 6010, "output": 60},  # it missed
    ]
    found = bill(with_observed(run_cli, sketch(*TWO), seen), "--as", OPUS)
    assert found["usage"]["cache_read"] == 6000
    observed = found["observed"]
    assert observed["requests"] == 2
    assert observed["usage"] == NOTHING | {"fresh": 490, "cache_write_5m": 12010, "output": 160}
    assert observed["predicted_minus_observed"] == NOTHING | {
        "fresh": 500 - 490, "cache_read": 6000, "cache_write_5m": 6000 - 12010, "output": -10,
    }  # fmt: skip
    # 490 x 5 + 12,010 x 6.25 + 160 x 25 millionths
    assert observed["charge"]["total"] == "0.0815125"


def test_only_requests_that_report_usage_are_compared(
    bill: Bill, run_cli: RunCli, sketch: Sketch
) -> None:
    seen: list[dict[str, Any] | None] = [
        None,
        NOTHING | {"fresh": 300, "cache_read": 6000, "output": 50},
    ]
    observed = bill(with_observed(run_cli, sketch(*TWO), seen), "--as", OPUS)["observed"]
    assert observed["requests"] == 1
    assert set(observed["predicted_minus_observed"].values()) == {0}


def test_a_class_that_the_source_does_not_tell_is_unknown_and_never_zero(
    bill: Bill, run_cli: RunCli, sketch: Sketch
) -> None:
    seen: list[dict[str, Any] | None] = [NOTHING, NOTHING | {"cache_read": None}]
    observed = bill(with_observed(run_cli, sketch(*TWO), seen), "--as", OPUS)["observed"]
    assert observed["usage"]["cache_read"] is None
    assert observed["predicted_minus_observed"]["cache_read"] is None
    assert observed["charge"] is None


def test_an_imported_log_gives_the_same_bill(bill: Bill, run_cli: RunCli, sketch: Sketch) -> None:
    log = sketch(*TWO)
    imported = with_observed(run_cli, log, [None, None])
    assert bill(imported, "--as", OPUS) == bill(log, "--as", OPUS)


def test_an_aborted_request_widens_the_interval_down_to_nothing(bill: Bill, sketch: Sketch) -> None:
    found = bill(sketch(TWO[0], TWO[1] | {"ttft": None, "output": 0}), "--as", OPUS)
    # the second reads 6,000 and has 300 fresh: 3000 + 1500 millionths, or nothing
    assert found["charge"]["total"] == "0.0455"
    assert found["charge"]["interval"] == {"low": "0.041", "high": "0.0455"}


def test_under_log_each_request_falls_under_its_own_model_s_rules(
    run_cli: RunCli, sketch: Sketch
) -> None:
    own = [OPUS, "gpt-6-sol", "gpt-5.4", "deepseek-flash"]
    prompt = [("system", "S", 6000, "5m"), ("user", "Q", 272)]
    lines = [line(60 * n, *prompt, model=own[n % 4], session=None) for n in range(8)]
    _, out, _ = run_cli("bill", sketch(*lines), "--as", "log", "--per-request", "--json")
    usages = [json.loads(text)["usage"] for text in out.splitlines()]
    assert [usage["cache_read"] for usage in usages] == [0, 0, 0, 0, 6000, 6272, 6272, 6272]
    written = [(usage["cache_write_5m"], usage["cache_write_30m"]) for usage in usages[:4]]
    assert written == [(6000, 0), (0, 6272), (0, 0), (0, 0)]


def test_several_logs_are_one_traffic_in_order_of_time(bill: Bill, tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text(
        "".join(json.dumps(TWO[0] | {"at": at, "id": f"x{at}"}) + "\n" for at in (0, 200))
    )
    two.write_text(json.dumps(TWO[1] | {"at": 400, "id": "y"}) + "\n")
    found = bill(two, one, "--as", OPUS)  # 0 writes, 200 reads, 400 reads what 200 refreshed
    assert (found["requests"], found["usage"]["cache_read"]) == (3, 2 * 6000)
