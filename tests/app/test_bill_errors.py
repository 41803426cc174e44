"""`cachecast bill` and what it does not accept: exit code 2, one sentence, nothing on stdout."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rule_sketches import Line, line

RunCli = Callable[..., tuple[int, str, str]]

GOOD = line(0, ("system", "S", 6000, "5m"), model="claude-opus-5")
KEYS = [
    "ttl", "mark", "on", "tier", "currency", "name", "first_token", "grace", "lookback",
    "group_tools", "lookup", "upgrade", "tool_choice", "hidden", "tail", "interval", "unit",
    "output_units", "build_delay", "overflow", "regional",
]  # fmt: skip


@pytest.fixture
def refused(run_cli: RunCli, tmp_path: Path) -> Callable[..., str]:
    """The one sentence of a call that must fail."""

    def run(*arguments: object, lines: tuple[Line | str, ...] = (GOOD,)) -> str:
        log = tmp_path / "log.jsonl"
        texts = [entry if isinstance(entry, str) else json.dumps(entry) for entry in lines]
        log.write_text("".join(text + "\n" for text in texts))
        for form in (["--json"], ["--per-request", "--json"], []):
            code, out, err = run_cli("bill", log, *arguments, *form)
            assert (code, out) == (2, ""), (out, err)
            assert len(err.strip().splitlines()) == 1
            assert "Traceback" not in err
        return err.strip()

    return run


Refused = Callable[..., str]


def test_an_unknown_model_lists_close_names(refused: Refused) -> None:
    said = refused("--as", "claude-opus-55")
    assert "claude-opus-55" in said
    assert "claude-opus-5" in said.replace("claude-opus-55", "")


def test_an_unknown_key_lists_every_known_one(refused: Refused) -> None:
    said = refused("--as", "claude-opus-5,colour=red")
    assert "colour" in said
    assert [key for key in KEYS if key not in said] == []


@pytest.mark.parametrize(
    ("scenario", "named"),
    [
        ("claude-opus-5,tier=gold", ["gold", "standard", "batch", "flex", "priority", "fast"]),
        ("claude-opus-5,ttl=2h", ["2h", "5m", "1h", "30m", "12h"]),
        ("claude-opus-5,ttl=30m", ["30m", "5m", "1h"]),
        ("gpt-6-sol,ttl=5m", ["5m", "30m"]),
        ("gpt-6-sol,ttl=12h", ["12h", "30m"]),
        ("deepseek-flash,ttl=5m", ["5m"]),
        ("claude-opus-5,mark=first", ["first", "log", "auto", "last", "system+last", "none"]),
        ("gpt-6-sol,lookup=51", ["51", "2+50", "50", "80"]),
        ("claude-opus-5,on=yesterday", ["yesterday"]),
        ("claude-opus-5.5,on=2026-01-01", ["2026-09-22"]),
        ("claude-opus-5,currency=EUR", ["EUR", "USD"]),
        ("claude-opus-5,lookback=0", ["lookback"]),
        ("claude-opus-5,lookback=2.5", ["2.5"]),
        ("claude-opus-5,grace=-1", ["-1"]),
        ("claude-opus-5,first_token=nan", ["nan"]),
        ("claude-opus-5,upgrade=yes", ["yes", "on", "off"]),
        ("deepseek-flash,unit=0", ["unit"]),
        ("claude-opus-5,ttl", ["ttl"]),
        ("claude-opus-5,ttl=5m,ttl=1h", ["ttl"]),
    ],
)
def test_a_bad_value_names_itself_and_what_is_accepted(
    scenario: str, named: list[str], refused: Refused
) -> None:
    said = refused("--as", scenario)
    assert [word for word in named if word not in said] == []


def test_a_model_whose_cache_has_no_rules_yet_is_refused_by_name(refused: Refused) -> None:
    said = refused("--as", "grok-4.6")
    assert [w for w in ("grok-4.6", "anthropic", "openai", "deepseek") if w not in said] == []


def test_the_same_scenario_twice_needs_a_name(refused: Refused) -> None:
    assert "name=" in refused("--as", "claude-opus-5", "--as", "claude-opus-5")


def test_an_unknown_column_of_by_lists_the_known_ones(refused: Refused) -> None:
    said = refused("--by", "colour")
    assert [word for word in ("colour", "session_id", "model") if word not in said] == []


def test_a_condition_that_is_no_sql_says_so(refused: Refused) -> None:
    assert "--where" in refused("--where", "colour = 1")


def test_rates_that_are_not_there_or_no_toml(refused: Refused, tmp_path: Path) -> None:
    assert "nowhere.toml" in refused("--rates", tmp_path / "nowhere.toml")
    bad = tmp_path / "bad.toml"
    bad.write_text("this is = = not toml")
    assert "bad.toml" in refused("--rates", bad)


def test_a_broken_line_names_file_and_line(refused: Refused) -> None:
    said = refused("--as", "claude-opus-5", lines=(GOOD, '{"at": 1, "prompt": [["system", "S"'))
    assert "log.jsonl line 2" in said


def test_skip_bad_goes_on_without_it(run_cli: RunCli, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    bad = GOOD | {"at": -5}
    log.write_text(f"{json.dumps(GOOD)}\n{json.dumps(bad)}\n{json.dumps(GOOD | {'at': 5})}\n")
    assert run_cli("bill", log, "--as", "claude-opus-5", "--json")[0] == 2
    code, out, err = run_cli("bill", log, "--as", "claude-opus-5", "--skip-bad", "--json")
    assert code == 0
    (found,) = json.loads(out)["scenarios"]
    assert found["requests"] == 2
    assert "skipped" in err  # and how many, and why
    assert any("skipped" in sentence for sentence in found["assumptions"])


def test_a_failed_bill_leaves_no_run_behind(run_cli: RunCli, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(GOOD) + "\n" + '{"at": "soon"}\n')
    before = sorted(tmp_path.iterdir())
    assert run_cli("bill", log, "--as", "claude-opus-5", "-o", tmp_path / "run")[0] == 2
    assert sorted(tmp_path.iterdir()) == before
