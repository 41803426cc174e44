"""`cachecast bill`: the JSON contract key by key, on a log whose every number can be redone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rule_sketches import line

RunCli = Callable[..., tuple[int, str, str]]
Bill = Callable[..., list[dict[str, Any]]]

CLASSES = [
    "fresh", "cache_read", "cache_write_5m", "cache_write_30m", "cache_write_1h",
    "cache_write_12h", "cache_write_unknown", "output",
]  # fmt: skip
OPUS = "claude-opus-5"  # 5 in, 0.5 read, 6.25 and 10 written, 25 out, USD per million
S = ("system", "S", 6000, "5m")
TWO = [
    line(0, S, ("user", "Q1", 200), model=OPUS, session="s1", output=100),
    line(10, S, ("user", "Q2", 300), model=OPUS, session="s2", output=50),
]
WRITES, READS = 6000 * 6.25 + 200 * 5 + 100 * 25, 6000 * 0.5 + 300 * 5 + 50 * 25  # 41000, 5750


def usd(millionths: float) -> str:
    """So many millionths of a dollar, written as the contract writes money."""
    return f"{millionths / 10**6:.9f}".rstrip("0").rstrip(".")


@pytest.fixture
def bill(run_cli: RunCli) -> Bill:
    """The scenarios of `cachecast bill … --json`."""

    def run(*arguments: object) -> list[dict[str, Any]]:
        code, out, err = run_cli("bill", *arguments, "--json")
        assert (code, err.count("Traceback")) == (0, 0), err
        scenarios = json.loads(out)["scenarios"]
        assert isinstance(scenarios, list)
        return scenarios

    return run


Sketch = Callable[..., Path]


def test_a_scenario_has_every_key_of_the_contract(bill: Bill, sketch: Sketch) -> None:
    (found,) = bill(sketch(*TWO), "--as", OPUS)
    assert {
        "name", "model", "requests", "prompt_tokens", "usage", "charge", "without_cache",
        "net_saving", "token_hit_ratio", "spend_hit_ratio", "misses", "observed", "by",
        "assumptions",
    } <= set(found)  # fmt: skip
    assert list(found["usage"]) == CLASSES
    assert set(found["charge"]) >= {
        "currency", "fresh", "cache_read", "cache_write", "output", "storage", "total",
    }  # fmt: skip
    assert [set(miss) for miss in found["misses"]] == [
        {"reason", "requests", "tokens", "cost", "avoidable"}
    ] * 2
    assert (found["observed"], found["by"]) == (None, [])


def test_the_numbers_of_two_requests(bill: Bill, sketch: Sketch) -> None:
    (found,) = bill(sketch(*TWO), "--as", OPUS)
    assert (found["name"], found["model"], found["requests"]) == (OPUS, OPUS, 2)
    assert found["prompt_tokens"] == 2 * 6000 + 500
    assert found["usage"] == dict.fromkeys(CLASSES, 0) | {
        "fresh": 500, "cache_read": 6000, "cache_write_5m": 6000, "output": 150,
    }  # fmt: skip
    charge = found["charge"]
    assert charge["currency"] == "USD"
    assert (charge["fresh"], charge["cache_read"]) == (usd(500 * 5), usd(6000 * 0.5))
    assert (charge["cache_write"], charge["output"]) == (usd(6000 * 6.25), usd(150 * 25))
    assert (charge["storage"], charge["total"]) == ("0", usd(WRITES + READS))
    plain = 12500 * 5 + 150 * 25
    assert found["without_cache"] == usd(plain)
    assert found["net_saving"] == usd(plain - WRITES - READS)
    assert found["token_hit_ratio"] == 6000 / 12500
    assert found["spend_hit_ratio"] == READS / (WRITES + READS)


def test_misses_cost_what_they_cost_above_the_read_price(bill: Bill, sketch: Sketch) -> None:
    (found,) = bill(sketch(*TWO), "--as", OPUS)
    assert {miss["reason"]: miss for miss in found["misses"]} == {
        "cold_start": {
            "reason": "cold_start", "requests": 1, "tokens": 6000,
            "cost": usd(6000 * (6.25 - 0.5)), "avoidable": False,
        },
        "uncached_tail": {
            "reason": "uncached_tail", "requests": 2, "tokens": 500,
            "cost": usd(500 * (5 - 0.5)), "avoidable": False,
        },
    }  # fmt: skip


def test_br_107_the_hit_rate_is_what_was_read_of_every_prompt_of_every_request(
    bill: Bill, sketch: Sketch
) -> None:
    """A cold write is no hit, and a request without any caching is in the denominator."""
    uncached = line(9, ("user", "Q", 7500), model=OPUS, session="t")
    (found,) = bill(sketch(*TWO, uncached), "--as", OPUS)
    assert found["token_hit_ratio"] == 6000 / (12500 + 7500)


def test_a_cache_that_only_costs_has_a_negative_saving(bill: Bill, sketch: Sketch) -> None:
    (found,) = bill(sketch(TWO[0]), "--as", OPUS)
    assert found["net_saving"] == "-" + usd(6000 * 1.25)
    assert (found["token_hit_ratio"], found["spend_hit_ratio"]) == (0.0, 0.0)


def test_ratios_of_nothing_are_null(bill: Bill, sketch: Sketch) -> None:
    rejected = line(0, S, status="rejected", model=OPUS)
    (found,) = bill(sketch(rejected), "--as", OPUS)
    assert (found["requests"], found["prompt_tokens"]) == (1, 0)
    assert (found["token_hit_ratio"], found["spend_hit_ratio"]) == (None, None)
    assert found["charge"]["total"] == "0"
    assert [(m["requests"], m["tokens"], m["cost"]) for m in found["misses"]] == [(1, 0, "0")]


def test_scenarios_stand_in_the_order_they_were_asked_for(bill: Bill, sketch: Sketch) -> None:
    wanted = ["gpt-6-sol", f"{OPUS},ttl=1h", "deepseek-flash", OPUS, "log"]
    asked = [word for name in wanted for word in ("--as", name)]
    found = bill(sketch(*TWO), *asked)
    assert [scenario["name"] for scenario in found] == wanted
    models = ["gpt-6-sol", OPUS, "deepseek-flash", OPUS, "log"]
    assert [scenario["model"] for scenario in found] == models


def test_the_own_models_are_the_default(bill: Bill, sketch: Sketch) -> None:
    log = sketch(*TWO)
    assert bill(log) == bill(log, "--as", "log")


def test_per_request_prints_one_line_a_request_and_scenario(
    run_cli: RunCli, sketch: Sketch
) -> None:
    log = sketch(*TWO)
    code, out, _ = run_cli(
        "bill", log, "--as", OPUS, "--as", "gpt-6-sol", "--per-request", "--json"
    )
    rows = [json.loads(text) for text in out.splitlines()]
    assert code == 0
    assert [(row["scenario"], row["request_id"]) for row in rows] == [
        (OPUS, "1"), (OPUS, "2"), ("gpt-6-sol", "1"), ("gpt-6-sol", "2"),
    ]  # fmt: skip
    first, second = rows[:2]
    assert {
        "scenario", "request_id", "usage", "hit_tokens", "charge", "reason", "candidates",
        "evidence",
    } <= set(first)  # fmt: skip
    assert list(first["usage"]) == CLASSES
    assert (first["charge"]["total"], second["charge"]["total"]) == (usd(WRITES), usd(READS))
    assert (first["reason"], second["reason"]) == ("cold_start", None)
    assert (first["hit_tokens"], second["hit_tokens"]) == (0, 6000)
    assert (first["candidates"], isinstance(first["evidence"], dict)) == ([], True)


def test_per_request_keeps_a_line_s_own_id(run_cli: RunCli, sketch: Sketch) -> None:
    log = sketch(TWO[0] | {"id": "mine"}, TWO[1])
    _, out, _ = run_cli("bill", log, "--as", OPUS, "--per-request", "--json")
    assert [json.loads(text)["request_id"] for text in out.splitlines()] == ["mine", "2"]


@pytest.mark.parametrize("form", [["--per-request", "--json"], ["--json"], []])
def test_the_same_log_gives_the_same_bytes(
    form: list[str], run_cli: RunCli, sketch: Sketch
) -> None:
    log = sketch(*TWO)
    arguments = ["bill", log, "--as", OPUS, "--as", "gpt-5.4", "--as", "deepseek-flash", *form]
    assert run_cli(*arguments)[:2] == run_cli(*arguments)[:2]


def test_by_breaks_a_bill_down(bill: Bill, sketch: Sketch) -> None:
    (found,) = bill(sketch(*TWO), "--as", OPUS, "--by", "session_id,model")
    groups = found["by"]
    assert [(g["session_id"], g["model"]) for g in groups] == [("s1", OPUS), ("s2", OPUS)]
    assert [g["charge"]["total"] for g in groups] == [usd(WRITES), usd(READS)]
    assert [g["usage"]["cache_read"] for g in groups] == [0, 6000]
    assert [len(g["misses"]) for g in groups] == [2, 1]


def test_where_limits_what_is_counted_not_what_the_cache_sees(bill: Bill, sketch: Sketch) -> None:
    (found,) = bill(sketch(*TWO), "--as", OPUS, "--where", "session_id = 's2'")
    assert (found["requests"], found["usage"]["cache_read"]) == (1, 6000)
    assert found["charge"]["total"] == usd(READS)
    assert any("session_id = 's2'" in sentence for sentence in found["assumptions"])


def test_negotiated_rates_go_before_the_catalogue(
    bill: Bill, sketch: Sketch, tmp_path: Path
) -> None:
    rates = tmp_path / "rates.toml"
    rates.write_text(
        'provider = "anthropic"\n[sources]\ndeal = "our contract"\n'
        f'[[models]]\nmodel = "{OPUS}"\nsource = ["deal"]\nchecked = "2026-11-01"\n'
        'prices = { input = "2", cache_read = "0.1", cache_write_5m = "3", '
        'cache_write_1h = "4", output = "7" }\n'
    )
    negotiated, listed = bill(sketch(*TWO), "--as", OPUS, "--as", "gpt-6-sol", "--rates", rates)
    total = 6000 * 3 + 6000 * 0.1 + 500 * 2 + 150 * 7
    assert negotiated["charge"]["total"] == usd(total)
    assert listed == bill(sketch(*TWO), "--as", "gpt-6-sol")[0]


def test_a_model_without_a_price_is_counted_and_the_total_is_partial(
    bill: Bill, sketch: Sketch
) -> None:
    unknown = line(20, S, model="acme/large-2", output=10)
    (found,) = bill(sketch(*TWO, unknown), "--as", "log")
    assert (found["requests"], found["prompt_tokens"]) == (3, 12500 + 6000)
    assert found["charge"]["total"] == usd(WRITES + READS)
    assert any("partial" in s and "acme/large-2" in s for s in found["assumptions"])


def test_no_price_is_null_and_never_zero(bill: Bill, run_cli: RunCli, sketch: Sketch) -> None:
    log = sketch(line(0, S, model="acme/large-2"))
    (found,) = bill(log)
    assert (found["charge"], found["without_cache"], found["net_saving"]) == (None, None, None)
    assert {miss["cost"] for miss in found["misses"]} == {None}
    _, out, _ = run_cli("bill", log, "--per-request", "--json")
    assert json.loads(out)["charge"]["total"] is None


def test_a_run_is_kept_and_can_be_asked_in_sql(
    run_cli: RunCli, sketch: Sketch, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    assert run_cli("bill", sketch(*TWO), "--as", OPUS, "-o", run, "--json")[0] == 0

    def ask(query: str) -> list[dict[str, Any]]:
        code, out, err = run_cli("sql", run, query, "--json")
        assert code == 0, err
        return [json.loads(text) for text in out.splitlines()]

    assert ask("select reason, tokens, cost from by_reason order by reason") == [
        {"reason": "cold_start", "tokens": 6000, "cost": usd(6000 * 5.75)},
        {"reason": "uncached_tail", "tokens": 500, "cost": usd(500 * 4.5)},
    ]
    assert ask("select model, requests, charge, net_saving from by_model") == [
        {"model": OPUS, "requests": 2, "charge": usd(WRITES + READS), "net_saving": usd(19500)}
    ]
    assert ask("select session_id, charge from by_session order by session_id") == [
        {"session_id": "s1", "charge": usd(WRITES)}, {"session_id": "s2", "charge": usd(READS)},
    ]  # fmt: skip
    assert len(ask("select * from by_hour")) == 1
    code, out, err = run_cli("bill", sketch(*TWO), "--as", OPUS, "-o", run, "--json")
    assert (code, out, len(err.splitlines())) == (2, "", 1)  # never overwritten silently


def test_the_table_names_scenarios_reasons_and_what_is_assumed(
    run_cli: RunCli, sketch: Sketch
) -> None:
    code, out, err = run_cli("bill", sketch(*TWO), "--as", OPUS, "--as", "gpt-6-sol")
    assert code == 0
    for words in (OPUS, "gpt-6-sol", "12,500", "cold start", "uncached tail"):
        assert words in out
    assert "mark=log" in err
