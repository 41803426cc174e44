"""What `cachecast why` tells to do next, and that the command it prints does what it says."""

import json
import shlex
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rule_sketches import Item, Line, line

RunCli = Callable[..., tuple[int, str, str]]
OPUS, SOL = "claude-opus-5", "gpt-6-sol"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Sketch lines as a log whose name a shell has to quote."""

    def written(*lines: Line) -> Path:
        file = tmp_path / "my log.jsonl"
        file.write_text("".join(json.dumps(entry) + "\n" for entry in lines))
        return file

    return written


def tools(*names: str) -> list[Item]:
    return [("tools", name, 1000) for name in names]


def turned(*, pause_s: int) -> list[Line]:
    """Tools in another order once, then a pause."""
    system: Item = ("system", "S", 2000, "5m")
    return [
        line(0, *tools("A", "B"), system),
        line(10, *tools("B", "A"), system),
        line(20 + pause_s, *tools("B", "A"), system),
    ]


def steps(run_cli: RunCli, log: Path, scenario: str) -> list[dict[str, Any]]:
    code, out, err = run_cli("why", log, "--as", scenario, "--json")
    assert code == 0, err
    found = json.loads(out)["next"]
    assert isinstance(found, list)
    return found


def test_each_avoidable_cause_has_its_cost_a_remedy_and_the_change_that_proves_it(
    run_cli: RunCli, write: Callable[..., Path]
) -> None:
    """4,000 tokens each, written again at $6.25 instead of read at $0.50 a million."""
    found = steps(run_cli, write(*turned(pause_s=400)), OPUS)
    assert [(s["causes"], s["tokens"], s["cost"], s["change"]) for s in found] == [
        (["tools_reordered"], 4000, "0.023", "order=tools"),
        (["ttl_expired"], 4000, "0.023", "keep-alive=290x3:paying"),
    ]
    assert found[0]["advice"] == "send tools in a fixed order"


def test_the_last_lines_are_a_command_that_proves_the_savings(
    run_cli: RunCli, write: Callable[..., Path]
) -> None:
    code, out, _ = run_cli("why", write(*turned(pause_s=400)), "--as", OPUS)
    assert code == 0
    command = shlex.split(out.rstrip().splitlines()[-1])
    assert command[:2] == ["cachecast", "whatif"]
    code, out, err = run_cli(*command[1:], "--json")
    assert code == 0, err
    names = ["order=tools", "keep-alive=290x3:paying", "order=tools,keep-alive=290x3:paying"]
    scenarios = json.loads(out)["scenarios"]
    assert [scenario["name"] for scenario in scenarios] == names
    # the second request reads 4,000 tokens instead of writing them
    assert Decimal(scenarios[0]["delta"]["charge"]) == Decimal("-0.023")


def test_pings_and_lifetimes_are_not_offered_where_the_provider_does_not_sell_them(
    run_cli: RunCli, write: Callable[..., Path]
) -> None:
    found = steps(run_cli, write(*turned(pause_s=2000)), SOL)
    assert {s["change"] for s in found} <= {"order=tools", "mark=translate", None}


@pytest.mark.parametrize(
    ("scenario", "advice", "change"),
    [
        (OPUS, "pings in pauses, or a longer lifetime", "keep-alive=290x3:paying"),
        ("gpt-6.1-terra", "the lifetime of 12 hours, or shorter pauses", None),
        ("gpt-5.5", "shorter pauses between requests that share a prefix", None),
        (SOL, "shorter pauses between requests that share a prefix", None),
    ],
)
def test_what_is_said_of_an_expired_entry_is_what_the_model_sells(
    run_cli: RunCli, write: Callable[..., Path], scenario: str, advice: str, change: str | None
) -> None:
    """A pause of 31 minutes: longer than the 5 of Opus 5, and the 30 of OpenAI's models."""
    log = write(*(line(at, ("system", "S", 4096, "5m")) for at in (0, 1860)))
    (step,) = steps(run_cli, log, scenario)
    assert (step["causes"], step["advice"]) == (["ttl_expired"], advice)
    assert step["change"] == change


@pytest.mark.parametrize(
    ("model", "retention", "advice"),
    [
        (
            "gpt-5.4",
            "in_memory",
            "prompt_cache_retention 24h instead of in_memory, or shorter pauses",
        ),
        ("gpt-5.4", "24h", "shorter pauses between requests that share a prefix"),
        # has no 24h class
        ("gpt-4o", "in_memory", "shorter pauses between requests that share a prefix"),
    ],
)
def test_the_longer_retention_is_advised_to_who_asked_for_the_shorter_one(
    run_cli: RunCli, write: Callable[..., Path], model: str, retention: str, advice: str
) -> None:
    """OpenAI before GPT-5.6: 5 minutes in memory, half an hour in the 24h class, at one price."""
    kept = {"prompt_cache_retention": retention}
    log = write(*(line(at, ("system", "S", 4096), settings=kept) for at in (0, 1860)))
    (step,) = steps(run_cli, log, model)
    assert (step["causes"], step["advice"]) == (["ttl_expired"], advice)


def test_the_longer_retention_reads_what_the_shorter_one_had_let_go(
    run_cli: RunCli, write: Callable[..., Path]
) -> None:
    for retention, hit_tokens in (("in_memory", 0), ("24h", 4096)):
        kept = {"prompt_cache_retention": retention}
        log = write(*(line(at, ("system", "S", 4096), settings=kept) for at in (0, 1000)))
        _, out, _ = run_cli("bill", log, "--as", "gpt-5.4", "--per-request", "--json")
        assert json.loads(out.splitlines()[-1])["hit_tokens"] == hit_tokens


def test_twelve_hours_read_what_half_an_hour_had_let_go(
    run_cli: RunCli, write: Callable[..., Path]
) -> None:
    """The advice that no change stands beside is true: one model has a price for it."""
    log = write(*(line(at, ("system", "S", 2000)) for at in (0, 1860)))
    _, out, _ = run_cli("whatif", log, "--as", "gpt-6.1-terra", "--change", "ttl=12h", "--json")
    assert json.loads(out)["scenarios"][0]["delta"]["hit_tokens"] == 2000


def test_a_marker_that_openai_ignored_is_proven_by_translating_it(
    run_cli: RunCli, write: Callable[..., Path]
) -> None:
    """Two sessions share a system text; only a breakpoint behind it could be read."""
    system: Item = ("system", "S", 5000, "5m")
    lines = [line(60 * n, system, ("user", f"Q{n}", 100, "5m"), session=f"s{n}") for n in range(2)]
    log = write(*lines)
    (step,) = steps(run_cli, log, SOL)
    assert (step["causes"], step["change"]) == (["marker_misplaced"], "mark=translate")
    _, out, _ = run_cli("whatif", log, "--as", SOL, "--change", step["change"], "--json")
    assert json.loads(out)["scenarios"][0]["delta"]["hit_tokens"] == 5000


def test_each_models_own_rules_decide_what_a_mixed_log_is_offered(
    run_cli: RunCli, write: Callable[..., Path]
) -> None:
    """Two hours' pause: Anthropic's callers can ping, OpenAI's cannot. Each lost 2,000 tokens."""
    system: Item = ("system", "S", 2000, "5m")
    lines = [line(at, system, model=model, session=model) for model in (OPUS, SOL)
             for at in (0, 7200)]  # fmt: skip
    found = steps(run_cli, write(*lines), "log")
    assert {(tuple(s["causes"]), s["tokens"], s["change"]) for s in found} == {
        (("ttl_expired",), 2000, "keep-alive=290x3:paying"), (("ttl_expired",), 2000, None),
    }  # fmt: skip


@pytest.mark.parametrize(("shared", "reason"), [(511, "below_minimum"), (512, "not_requested")])
def test_a_shared_prefix_below_the_minimum_is_nobodys_fault_in_why_and_bill(
    run_cli: RunCli, write: Callable[..., Path], shared: int, reason: str
) -> None:
    """Two sessions share a text without a marker; Opus 5 stores nothing below 512 tokens."""
    log = write(
        *(line(60 * n, ("system", "S", shared), ("user", f"Q{n}", 900, "5m"), session=f"s{n}")
          for n in range(2))
    )  # fmt: skip
    for command in ("why", "bill"):
        _, out, _ = run_cli(command, log, "--as", OPUS, "--json")
        document = json.loads(out)
        found = {
            m["reason"]: m for m in document.get("misses") or document["scenarios"][0]["misses"]
        }
        assert found[reason]["tokens"] == shared
        assert found[reason]["avoidable"] is (reason == "not_requested")


def test_a_log_that_knows_token_blocks_only_is_sent_to_no_change_that_needs_more(
    run_cli: RunCli, tmp_path: Path
) -> None:
    """Two requests at once; warming up first needs content blocks."""
    log = tmp_path / "mooncake.jsonl"
    row = {"timestamp": 0, "input_length": 2048, "output_length": 5, "hash_ids": [1, 2, 3, 4]}
    log.write_text("".join(json.dumps({**row, "timestamp": n}) + "\n" for n in (0, 100)))
    (step,) = steps(run_cli, log, OPUS)
    assert (step["causes"], step["change"]) == (["concurrent_with_writer"], None)


def test_nothing_to_avoid_is_nothing_to_do(run_cli: RunCli, write: Callable[..., Path]) -> None:
    log = write(line(0, ("system", "S", 2000, "5m")))
    assert steps(run_cli, log, OPUS) == []
    _, out, _ = run_cli("why", log, "--as", OPUS)
    assert "What to do about it" not in out


def test_a_second_scenario_is_refused_where_the_last_would_win_unseen(
    run_cli: RunCli, write: Callable[..., Path]
) -> None:
    log = write(line(0, ("system", "S", 2000, "5m")))
    code, out, err = run_cli("why", log, "--as", OPUS, "--as", SOL)
    assert (code, out) == (2, "")
    assert err == "cachecast: --as gpt-6-sol: why takes one --as a run\n"


def test_an_expired_entry_is_told_in_words(run_cli: RunCli, write: Callable[..., Path]) -> None:
    system: Item = ("system", "S", 12_000, "5m")
    _, out, _ = run_cli("why", write(line(0, system), line(861, system)), "--as", OPUS)
    assert "an entry of 12,000 tokens, expired 561 s before" in out


def test_days_of_a_log_without_a_calendar_are_counted(
    run_cli: RunCli, write: Callable[..., Path]
) -> None:
    """1970 would be a lie: the sketch counts seconds from its own zero."""
    system: Item = ("system", "S", 12_000, "5m")
    _, out, _ = run_cli("why", write(line(0, system), line(2 * 86_400 + 5, system)), "--as", OPUS)
    days = [row.split()[0] for row in out.split("by day")[1].splitlines()[4:6]]
    assert days == ["1", "3"]
    assert "1970" not in out


def test_openai_keeps_half_an_hour_whatever_lifetime_the_logs_markers_name(
    run_cli: RunCli, write: Callable[..., Path]
) -> None:
    """Ten minutes after a 5m marker nothing has expired under OpenAI's rules."""
    lines = [
        line(at, *tools(*names), ("system", "S", 2000), ("user", "Q", 50, "5m"))
        for at, names in ((0, "AB"), (600, "BA"))
    ]
    for scenario, also in ((SOL, []), (OPUS, ["ttl_expired"])):
        _, out, _ = run_cli("why", write(*lines), "--as", scenario, "--per-request", "--json")
        last = json.loads(out.splitlines()[-1])
        assert last["cause"] == "tools_reordered"
        assert [difference["cause"] for difference in last["also"]] == also
