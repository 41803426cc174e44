"""`cachecast generate`, and that everything it makes can be billed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cachecast_datasets.packed import open_bytes
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


@pytest.mark.parametrize("form", ["pairs", "sketch"])
def test_the_faults_are_found_by_their_reasons(run_cli: RunCli, tmp_path: Path, form: str) -> None:
    """Six sessions take turns: none, clock, tools, pause, edit, tool; two start at a time."""
    log = tmp_path / "log"
    faults = ("--clock-in-system", "--shuffle-tools", "--pause", 900, "--edit-system", "--add-tool")
    made = ("--sessions", 6, "--burst", 2, "--title-model", "claude-haiku-4.5", "--format", form)
    assert run_cli("generate", "coding-agent", "-o", log, *made, *faults)[0] == 0
    (found,) = json.loads(run_cli("bill", log, "--as", "log", "--json")[1])["scenarios"]

    assert {
        "volatile_value", "tools_reordered", "ttl_expired", "system_changed", "tools_changed",
        "concurrent_with_writer", "below_minimum",
    } <= {miss["reason"] for miss in found["misses"]}  # fmt: skip


def test_a_history_that_was_summed_up_is_a_rewritten_one(run_cli: RunCli, tmp_path: Path) -> None:
    """OpenAI's writes end at messages, so the summary's request finds none of its own."""
    log = tmp_path / "log"
    made = ("--sessions", 1, "--compact", 4000, "--requests", 40)
    assert run_cli("generate", "coding-agent", "-o", log, *made)[0] == 0
    (found,) = json.loads(run_cli("bill", log, "--as", "gpt-6-sol", "--json")[1])["scenarios"]

    assert "history_rewritten" in {miss["reason"] for miss in found["misses"]}


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
    sketch = ("--format", "sketch", "--usage")
    code, _, err = run_cli("generate", "chat", "-o", tmp_path / "log", *sketch)
    assert code == 2
    assert "--usage is for --format pairs" in err
    assert run_cli("generate", "chat", "-o", tmp_path / "log", "--usage", "--requests", 2)[0] == 0
    assert '"usage":{"input_tokens":' in (tmp_path / "log").read_text()


@pytest.mark.parametrize("scenario", ["claude-opus-5", "log,ttl=1h", "gpt-6-sol", "gpt-5.5"])
@pytest.mark.parametrize("kind", KINDS)
def test_text_costs_what_the_sketch_of_the_same_draw_costs(
    run_cli: RunCli, tmp_path: Path, kind: str, scenario: str
) -> None:
    """The text's tokens are counted by its bytes, the sketch states them: request by request."""
    bills = []
    for form in ("pairs", "sketch"):
        log = tmp_path / form
        made = ("--format", form, "--requests", 30, "--seed", 3, "--clock-in-system")
        assert run_cli("generate", kind, "-o", log, *made)[0] == 0
        code, out, _ = run_cli("bill", log, "--as", scenario, "--per-request", "--json")
        assert code == 0
        rows = [json.loads(line) for line in out.splitlines()]
        bills.append([(row["request_id"], row["usage"], row["reason"]) for row in rows])
    assert len(bills[0]) == 30
    assert bills[0] == bills[1]


def test_text_alone_says_nothing_of_a_provider_to_compare_with(
    run_cli: RunCli, tmp_path: Path
) -> None:
    """Its responses tell their output, and of the prompt nothing."""
    log = tmp_path / "log"
    assert run_cli("generate", "chat", "-o", log, "--requests", 5)[0] == 0

    code, out, err = run_cli("bill", log, "--as", "log")
    assert code == 0
    assert "predicted against observed" not in out
    assert "do not tell their output" not in err


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_compressed_log_is_the_same_log(run_cli: RunCli, tmp_path: Path, suffix: str) -> None:
    plain, packed = tmp_path / "log", tmp_path / f"log.{suffix}"
    for path in (plain, packed):
        assert run_cli("generate", "chat", "-o", path, "--requests", 20)[0] == 0

    assert packed.stat().st_size < plain.stat().st_size
    with open_bytes(packed) as stream:
        assert stream.read() == plain.read_bytes()
