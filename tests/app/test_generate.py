"""`cachecast generate`, and that everything it makes can be billed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cachecast_datasets.synthetic.workload import KINDS

RunCli = Callable[..., tuple[int, str, str]]
PROVIDERS = ("claude-opus-5", "gpt-6-sol", "gpt-5.5", "deepseek-flash", "log")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_billed_under_every_family_of_rules(
    run_cli: RunCli, tmp_path: Path, kind: str
) -> None:
    log = tmp_path / "log"
    assert run_cli("generate", kind, "-o", log, "--requests", 40)[0] == 0
    scenarios = [word for name in PROVIDERS for word in ("--as", name)]

    code, out, err = run_cli("bill", log, *scenarios, "--json")
    assert code == 0, err
    for scenario in json.loads(out)["scenarios"]:
        assert scenario["requests"] == 40
        assert scenario["unpriced_requests"] == 0


def test_a_tiny_chat_costs_what_a_hand_says(run_cli: RunCli, tmp_path: Path) -> None:
    """Two turns: 1,320 tokens written; then 1,320 read and 470 written; 350 of output each."""
    log = tmp_path / "log"
    made = run_cli(
        "generate", "chat", "-o", log, "--sessions", 1, "--turns", 2, "--vary", 0, "--json"
    )
    assert json.loads(made[1])["requests"] == 2
    (found,) = json.loads(run_cli("bill", log, "--as", "claude-opus-5", "--json")[1])["scenarios"]

    assert (found["usage"]["cache_read"], found["usage"]["cache_write_5m"]) == (1320, 1320 + 470)
    # 1,320 x 0.5 + 1,790 x 6.25 + 700 x 25 millionths
    assert found["charge"]["total"] == "0.0293475"


def test_the_faults_are_found_by_their_reasons(run_cli: RunCli, tmp_path: Path) -> None:
    log = tmp_path / "log"
    faults = ("--clock-in-system", "--shuffle-tools", "--pause", 900)
    assert run_cli("generate", "coding-agent", "-o", log, "--sessions", 6, *faults)[0] == 0
    (found,) = json.loads(run_cli("bill", log, "--as", "log", "--json")[1])["scenarios"]

    reasons = {miss["reason"] for miss in found["misses"]}
    assert {"volatile_value", "tools_reordered", "ttl_expired"} <= reasons


def test_the_help_shows_the_defaults_of_every_kind(run_cli: RunCli) -> None:
    out = run_cli("generate", "--help")[1]
    (row,) = (line.split() for line in out.splitlines() if line.split()[:1] == ["defaults"])
    assert row[1:] == list(KINDS)
    (system,) = (
        line.split() for line in out.splitlines()
        if line.split()[:1] == ["--system-tokens"] and "INTEGER" not in line
    )  # fmt: skip
    assert system[1:] == [str(kind.system_tokens) for kind in KINDS.values()]


def test_people_get_a_table_and_the_next_command(run_cli: RunCli, tmp_path: Path) -> None:
    code, out, err = run_cli("generate", "batch", "-o", tmp_path / "log", "--requests", 3)
    assert code == 0
    assert "sessions" in out
    assert f"cachecast bill {tmp_path / 'log'} --as log" in err


def test_usage_belongs_to_pairs(run_cli: RunCli, tmp_path: Path) -> None:
    code, _, err = run_cli("generate", "chat", "-o", tmp_path / "log", "--usage")
    assert code == 2
    assert "--usage is for --format pairs" in err
    pairs = ("--format", "pairs", "--usage", "--requests", 2)
    assert run_cli("generate", "chat", "-o", tmp_path / "log", *pairs)[0] == 0
    assert '"usage":{"input_tokens":' in (tmp_path / "log").read_text()
