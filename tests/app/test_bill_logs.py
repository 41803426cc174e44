"""`cachecast bill` on logs with observed usage, with counts only, and with absolute times."""

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rule_sketches import Line, line

RunCli = Callable[..., tuple[int, str, str]]

OPUS = "claude-opus-5"
S = ("system", "S", 6000, "5m")
CLASSES = [
    "fresh", "cache_read", "cache_write_5m", "cache_write_30m", "cache_write_1h",
    "cache_write_12h", "cache_write_unknown", "output",
]  # fmt: skip
NOTHING = dict.fromkeys(CLASSES, 0)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def bill(run_cli: RunCli) -> Callable[..., dict[str, Any]]:
    """The only scenario of a bill."""

    def run(*arguments: object) -> dict[str, Any]:
        code, out, err = run_cli("bill", *arguments, "--json")
        assert code == 0, err
        (found,) = json.loads(out)["scenarios"]
        assert isinstance(found, dict)
        return found

    return run


Bill = Callable[..., dict[str, Any]]


@pytest.fixture
def sketch(tmp_path: Path) -> Callable[..., Path]:
    def write(*lines: Line) -> Path:
        path = tmp_path / "log.jsonl"
        path.write_text("".join(json.dumps(entry) + "\n" for entry in lines))
        return path

    return write


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


def counts_only(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A Parquet as another program would write it: no blocks, no boundaries, no metadata."""
    table = pa.table(
        {
            "request_id": pa.array([f"r{n}" for n in range(len(rows))]),
            "arrival": pa.array(
                [EPOCH + datetime.timedelta(seconds=n) for n in range(len(rows))],
                pa.timestamp("us", tz="UTC"),
            ),
            "model": [row.get("model", OPUS) for row in rows],
            "prompt_tokens": [row["prompt_tokens"] for row in rows],
            "observed": pa.array([row["observed"] for row in rows]),
        }
    )
    pq.write_table(table, path)
    return path


COUNTED = {
    "prompt_tokens": 6300,
    "observed": NOTHING | {"fresh": 300, "cache_read": 5000, "cache_write_1h": 1000, "output": 40},
}


@pytest.mark.parametrize("scenario", ["log", OPUS])
def test_a_counts_only_log_is_priced_as_it_was_observed(
    scenario: str, bill: Bill, tmp_path: Path
) -> None:
    found = bill(counts_only(tmp_path / "c.parquet", [COUNTED]), "--as", scenario)
    assert found["usage"] == COUNTED["observed"]
    assert found["misses"] == []
    # 300 x 5 + 5000 x 0.5 + 1000 x 10 + 40 x 25
    assert found["charge"]["total"] == "0.015"
    assert any("counts" in sentence for sentence in found["assumptions"])


def test_a_counts_only_log_can_be_repriced_as_another_model_of_its_provider(
    bill: Bill, tmp_path: Path
) -> None:
    found = bill(counts_only(tmp_path / "c.parquet", [COUNTED]), "--as", "claude-fable-5")
    assert found["charge"]["total"] == "0.03"  # twice Opus 5's prices


def test_a_counts_only_log_cannot_be_recached_by_another_provider(
    run_cli: RunCli, tmp_path: Path
) -> None:
    log = counts_only(tmp_path / "c.parquet", [COUNTED])
    code, out, err = run_cli("bill", log, "--as", "gpt-6-sol", "--json")
    assert (code, out, len(err.strip().splitlines())) == (2, "", 1)
    assert "counts" in err


def test_tokens_of_unknown_class_give_an_interval(bill: Bill, tmp_path: Path) -> None:
    row = {"prompt_tokens": 1000, "observed": dict.fromkeys(CLASSES) | {"fresh": 100, "output": 0}}
    charge = bill(counts_only(tmp_path / "c.parquet", [row]), "--as", OPUS)["charge"]
    # 100 fresh; the other 900 anything between read (0.5) and written for an hour (10)
    assert charge["interval"] == {"low": "0.00095", "high": "0.0095"}


def plain(at: str, tokens: int = 100_000, **keys: Any) -> Line:
    """A request that asks for no caching under any provider's rules."""
    return line(at, ("user", f"Q{at}", tokens), cache="explicit", **keys)


def test_absolute_times_are_priced_by_each_arrival(bill: Bill, sketch: Sketch) -> None:
    # gpt-5.6-luna fell from 1 to 0.2 USD a million on 2026-07-30
    log = sketch(plain("2026-07-29T23:59:59.999999Z"), plain("2026-07-30T00:00:00Z"))
    assert bill(log, "--as", "gpt-5.6-luna")["charge"]["total"] == "0.12"
    assert bill(log, "--as", "gpt-5.6-luna,on=2026-07-29")["charge"]["total"] == "0.2"
    assert bill(log, "--as", "gpt-5.6-luna,on=2026-07-30")["charge"]["total"] == "0.04"


PEAK = [  # 2026-11-16 is a Monday; Beijing 9-12 and 14-18
    ("2026-11-16T00:59:59.999999Z", False), ("2026-11-16T01:00:00Z", True),
    ("2026-11-16T03:59:59.999999Z", True), ("2026-11-16T04:00:00Z", False),
    ("2026-11-16T06:00:00Z", True), ("2026-11-16T10:00:00Z", False),
    ("2026-11-16T17:30:00+08:00", True), ("2026-11-20T09:59:59Z", True),
    ("2026-11-21T02:00:00Z", False), ("2026-11-22T02:00:00Z", False),
]  # fmt: skip


@pytest.mark.parametrize(("at", "peak"), PEAK)
def test_deepseek_s_peak_hours_are_judged_by_the_arrival(
    at: str, peak: bool, bill: Bill, sketch: Sketch
) -> None:
    found = bill(sketch(plain(at)), "--as", "deepseek-flash")
    assert found["charge"]["total"] == ("0.03" if peak else "0.015")
    assert found["charge"]["interval"] is None


def test_without_absolute_times_the_newest_day_and_off_peak_hours_are_assumed(
    bill: Bill, sketch: Sketch
) -> None:
    found = bill(sketch(line(0, ("user", "Q", 100_000))), "--as", "deepseek-flash")
    assert found["charge"]["total"] == "0.015"
    said = " ".join(found["assumptions"])
    assert "off-peak" in said
    assert "newest" in said


def test_a_bare_day_of_a_model_with_peak_hours_is_an_interval(bill: Bill, sketch: Sketch) -> None:
    log = sketch(line(0, ("user", "Q", 100_000)))
    on_day = bill(log, "--as", "deepseek-flash,on=2026-11-16")["charge"]
    assert (on_day["total"], on_day["interval"]) == ("0.015", {"low": "0.015", "high": "0.03"})
    at_noon = bill(log, "--as", "deepseek-flash,on=2026-11-16T02:00:00Z")["charge"]
    assert (at_noon["total"], at_noon["interval"]) == ("0.03", None)


TIERS = [
    ({}, "", "0.5"), ({"batch": True}, "", "0.25"), ({}, ",tier=batch", "0.25"),
    ({}, ",tier=fast", "1"), ({"batch": True}, ",tier=standard", "0.5"),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "scenario", "usd"), TIERS)
def test_the_tier_is_the_request_s_own_unless_the_scenario_sets_it(
    keys: dict[str, Any], scenario: str, usd: str, bill: Bill, sketch: Sketch
) -> None:
    log = sketch(line(0, ("user", "Q", 100_000), model=OPUS, **keys))
    assert bill(log, "--as", OPUS + scenario)["charge"]["total"] == usd


@pytest.mark.parametrize(("tokens", "usd"), [(100_000, "0.01"), (100_001, "0.0500005")])
def test_the_whole_request_moves_to_the_long_context_price(
    tokens: int, usd: str, bill: Bill, sketch: Sketch
) -> None:
    # Haiku 5.5: 0.10 USD a million, five times that for everything above 100,000 tokens
    found = bill(sketch(line(0, ("user", "Q", tokens))), "--as", "claude-haiku-5.5")
    assert (found["charge"]["total"], found["without_cache"]) == (usd, usd)
    assert found["net_saving"] == "0"


def test_another_currency_of_the_price_list(bill: Bill, sketch: Sketch) -> None:
    found = bill(sketch(line(0, ("user", "Q", 100_000))), "--as", "deepseek-flash,currency=CNY")
    assert (found["charge"]["currency"], found["charge"]["total"]) == ("CNY", "0.1")


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


def test_a_write_price_that_no_source_states_is_no_price(bill: Bill, sketch: Sketch) -> None:
    # gpt-6.1-terra has no cache-write row for batch
    found = bill(sketch(line(0, ("user", "Q", 5000))), "--as", "gpt-6.1-terra,tier=batch")
    assert (found["charge"], found["usage"]["cache_write_30m"]) == (None, 5000)
    assert any("no price" in sentence for sentence in found["assumptions"])


def test_usage_of_unknown_class_at_a_model_without_a_write_price_is_an_interval(
    bill: Bill, tmp_path: Path
) -> None:
    """1,000 tokens somewhere between all read (0.5) and all fresh (5 millionths)."""
    log = tmp_path / "counts.parquet"
    at = pa.array([0], pa.timestamp("us", tz="UTC"))
    columns = {"request_id": ["a"], "arrival": at, "prompt_tokens": [1000], "output_tokens": [0]}
    pq.write_table(pa.table(columns), log)
    found = bill(log, "--as", "gpt-5.5")
    assert found["charge"]["interval"] == {"low": "0.0005", "high": "0.005"}
