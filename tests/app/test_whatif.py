"""`cachecast whatif`: the contract, the tables, the fleet beside the API, and what is refused."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from usage_logs import litellm

RunCli = Callable[..., tuple[int, str, str]]

ROWS = [
    {"at": at, "model": "claude-opus-5", "session": "s", "output": 10, "took": 1,
     "prompt": [["system", "S", 6000, "5m"]]}
    for at in (0, 600)
]  # fmt: skip
FLEET = """
[fleet]
servers = 1
[engine]
blocks = 1000
[latency]
kind = "linear"
step_base_s = 0.01
per_token_s = 0.00005
[cost]
gpu_hour = "3.60"
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Two requests of one prompt, ten minutes apart."""
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def test_the_json_has_a_baseline_and_a_scenario_for_each_change(run_cli: RunCli, log: Path) -> None:
    """5m: two writes; 1h: a write and a read; the answers cost 2 x 10 x $25."""
    code, out, _ = run_cli(
        "whatif", log, "--as", "claude-opus-5", "--change", "ttl=1h", "--change", "batch", "--json"
    )
    found = json.loads(out)
    hour, batch = found["scenarios"]

    assert code == 0
    assert found["baseline"]["charge"]["total"] == "0.0755"
    assert hour["name"] == "ttl=1h"
    assert hour["charge"]["total"] == "0.0635"
    assert hour["delta"] == {"charge": "-0.012", "hit_tokens": 6000, "prefill_tokens": -6000}
    assert (hour["sessions_better"], hour["sessions_worse"], hour["share_worse"]) == (1, 0, 0.0)
    assert Decimal(batch["charge"]["total"]) * 2 == Decimal("0.0755")
    assert {"usage", "misses", "assumptions", "token_hit_ratio", "net_saving"} <= set(hour)


def test_the_baseline_is_what_bill_says(run_cli: RunCli, log: Path) -> None:
    _, billed, _ = run_cli("bill", log, "--as", "claude-opus-5", "--json")
    _, found, _ = run_cli("whatif", log, "--as", "claude-opus-5", "--change", "ttl=1h", "--json")

    (scenario,), baseline = json.loads(billed)["scenarios"], json.loads(found)["baseline"]
    shared = set(scenario) - {"assumptions", "observed"}
    assert {key: baseline[key] for key in shared} == {key: scenario[key] for key in shared}


def test_own_servers_stand_beside_the_api_with_their_first_token(
    run_cli: RunCli, log: Path, tmp_path: Path
) -> None:
    (tmp_path / "own.toml").write_text(FLEET)
    code, out, _ = run_cli(
        "whatif", log, "--as", "claude-opus-5", "--change", f"fleet={tmp_path / 'own.toml'}",
        "--json",
    )  # fmt: skip
    (fleet,) = json.loads(out)["scenarios"]

    assert code == 0
    assert fleet["model"] == "fleet"
    assert fleet["ttft_s"]["p50"] > 0
    # the last token is computed anew: 374 whole blocks of 16 tokens
    assert fleet["usage"]["cache_read"] == 374 * 16
    paid, was = Decimal(fleet["charge"]["total"]), Decimal("0.0755")
    assert Decimal(fleet["delta"]["charge"]) == paid - was
    assert (fleet["sessions_better"], fleet["sessions_worse"]) == (None, None)


def test_the_table_has_a_row_a_change_and_names_its_assumptions(run_cli: RunCli, log: Path) -> None:
    code, out, err = run_cli(
        "whatif", log, "--as", "claude-opus-5", "--change", "keep-alive=290x3",
        "--change", "response=exact,ttl=1h",
    )  # fmt: skip
    assert code == 0
    assert "(replayed as it is)" in out
    assert "keep-alive=290x3" in out
    assert "answered without the provider" in out
    assert "pings, each the conversation's last prompt" in err


def test_blanks_around_names_and_values_mean_nothing(run_cli: RunCli, log: Path) -> None:
    for change in ("ttl=1h", " ttl = 1h "):
        _, out, _ = run_cli("whatif", log, "--as", "claude-opus-5", "--change", change, "--json")
        assert json.loads(out)["scenarios"][0]["charge"]["total"] == "0.0635"


def test_a_second_baseline_is_refused(run_cli: RunCli, log: Path) -> None:
    code, _, err = run_cli(
        "whatif", log, "--as", "claude-opus-5", "--as", "gpt-6-sol", "--change", "ttl=1h"
    )
    assert code == 2
    assert "--as gpt-6-sol: whatif takes one --as a run" in err


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (("nothing=1",), "unknown change 'nothing'"),
        (("ttl=1h,ttl=5m",), "ttl is given twice"),
        (("fleet=x.toml,ttl=1h",), "fleet=FILE stands alone"),
        (("fleet=x.toml",), "x.toml: cannot be read"),
        (("mark=tools:1h,model=gpt-6-sol",), "places hold Anthropic's markers"),
        (("flet=x.toml",), "response, fleet"),
        (("compaction=off",), "expected compaction=TOKENS"),
        (("keep-alive=1x1001",), "expected at most 1,000 pings after a request"),
    ],
)
def test_what_does_not_exist_is_one_sentence(
    run_cli: RunCli, log: Path, changes: tuple[str, ...], says: str
) -> None:
    asked = [word for change in changes for word in ("--change", change)]
    code, out, err = run_cli("whatif", log, "--as", "claude-opus-5", *asked)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_the_sentence_below_says_what_saves_most_and_for_whom(run_cli: RunCli, log: Path) -> None:
    """5m: two writes, $0.0755; batch is half of it, ttl=1h $0.0635."""
    _, out, _ = run_cli(
        "whatif", log, "--as", "claude-opus-5", "--change", "ttl=1h", "--change", "batch"
    )
    assert (
        "batch saves most: $0.038 of $0.076 (50.0 %); of 1 session 1 pays less and 0 more." in out
    )
    _, out, _ = run_cli("whatif", log, "--as", "claude-opus-5", "--change", "compaction=99999")
    assert "No change saves anything on this log." in out


@pytest.mark.parametrize("change", ["ttl=1h", "keep-alive=290x3", "tenant=shared", "order=tools"])
def test_a_log_of_counts_cannot_be_cached_anew(
    run_cli: RunCli, tmp_path: Path, change: str
) -> None:
    """It would have said that no such change saves anything, which nobody knows."""
    file = tmp_path / "log.jsonl"
    file.write_text(json.dumps(litellm()) + "\n")
    code, out, err = run_cli("whatif", file, "--change", change)
    assert (code, out) == (2, "")
    assert "has counts only: its usage can be repriced (batch, tier, on, currency)" in err
    assert err.count("\n") == 1

    assert run_cli("whatif", file, "--change", "batch")[0] == 0


@pytest.mark.parametrize(
    "change", ["prewarm=5", "volatile=drop", "order=keys", "summary=last", "ttl=1h/5m",
               "compaction=900"],
)  # fmt: skip
def test_what_needs_content_blocks_says_so_before_anything_is_replayed(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.delattr("cachecast.whatif_job.replay")
    file = tmp_path / "mooncake.jsonl"
    row = {"timestamp": 0, "input_length": 1100, "output_length": 5, "hash_ids": [1, 2, 3]}
    file.write_text(json.dumps(row) + "\n")
    code, out, err = run_cli(
        "whatif", file, "--as", "claude-opus-5", "--change", "tier=batch", "--change", change
    )
    assert (code, out) == (2, "")
    assert f"--change {change}: needs a log with content blocks" in err
