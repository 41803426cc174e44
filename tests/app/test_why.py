"""`cachecast why`: the table, the document and the lines of requests."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from api_calls import claude, message, pair, said, text

from cachecast_datasets.importing import import_log
from cachecast_datasets.kept_texts import kept_texts
from cachecast_datasets.text_file import text_path

RunCli = Callable[..., tuple[int, str, str]]
OPUS = "claude-opus-5"
UNKNOWN: dict[str, Any] = {
    "input_tokens": None, "cache_creation_input_tokens": None, "cache_read_input_tokens": None,
    "output_tokens": 5,
}  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three calls of a session with a clock in front; the system text has 5,000 tokens."""
    path = tmp_path / "log.jsonl"
    rows = []
    for n, clock in enumerate(("12:00:00", "12:00:14", "12:00:28")):
        lead = f"It is {clock}. "
        body = claude(
            system=[text(lead + "word " * 4000, "5m")], messages=[said("user", f"Question {n}")]
        )
        rows.append({**pair(body, message(UNKNOWN, id=f"m{n}")), "id": f"r{n}", "session": "s",
                     "account": "a", "start_time": f"2026-11-20T{clock}Z"})  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def document(run_cli: RunCli, *arguments: object) -> dict[str, Any]:
    code, out, err = run_cli("why", *arguments, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert isinstance(found, dict)
    return found


def test_the_document_has_what_the_contract_names(run_cli: RunCli, log: Path) -> None:
    found = document(run_cli, log, "--as", OPUS)
    assert set(found) >= {"scenario", "prompt_tokens", "misses", "by"}
    assert set(found["by"]) == {"section", "model", "account", "session", "day"}
    for miss in found["misses"]:
        contract = {"reason", "requests", "tokens", "cost", "avoidable", "sections", "examples"}
        assert set(miss) >= contract


def test_a_clock_costs_its_tokens_above_the_read_price_and_is_shown_exactly(
    run_cli: RunCli, log: Path
) -> None:
    found = document(run_cli, log, "--as", OPUS)
    (miss,) = [miss for miss in found["misses"] if miss["reason"] == "volatile_value"]
    (cause,) = miss["causes"]
    assert (cause["cause"], cause["requests"], cause["breaks"]) == ("clock", 2, 2)
    tokens = miss["sections"][0]["tokens"]
    assert miss["sections"][0]["section"] == "system"
    # a written token costs $6.25 a million, a read one $0.50
    assert Decimal(miss["sections"][0]["cost"]) == tokens * Decimal("5.75") / 1_000_000
    place = miss["examples"][0]["divergence"]
    assert (place["block"], place["offset"]) == (0, 6)
    assert place["after"] in ("12:00:14", "12:00:28")


def test_every_grouping_sums_to_the_misses(run_cli: RunCli, log: Path) -> None:
    found = document(run_cli, log, "--as", OPUS)
    tokens = sum(miss["tokens"] for miss in found["misses"])
    cost = sum(Decimal(miss["cost"]) for miss in found["misses"])
    for groups in (found["causes"], *found["by"].values()):
        assert sum(group["tokens"] for group in groups) == tokens
        assert sum(Decimal(group["cost"]) for group in groups) == cost


def test_the_reasons_and_their_money_are_those_of_the_bill(run_cli: RunCli, log: Path) -> None:
    _, out, _ = run_cli("bill", log, "--as", OPUS, "--json")
    bill = json.loads(out)["scenarios"][0]["misses"]
    ours = document(run_cli, log, "--as", OPUS)["misses"]
    names = ("reason", "requests", "tokens", "cost", "avoidable")
    assert [{name: miss[name] for name in names} for miss in ours] == bill


def test_a_line_of_a_request_has_its_reason_cause_and_place(run_cli: RunCli, log: Path) -> None:
    code, out, _ = run_cli("why", log, "--as", OPUS, "--per-request", "--json")
    assert code == 0
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(row["request_id"], row["reason"], row["cause"]) for row in rows] == [
        ("r0", "cold_start", "cold_start"),
        ("r1", "volatile_value", "clock"),
        ("r2", "volatile_value", "clock"),
    ]
    assert rows[1]["compared_with"] == "r0"
    assert rows[1]["divergence"]["before"] == "12:00:00"


def test_without_text_the_doubt_is_said(run_cli: RunCli, log: Path, tmp_path: Path) -> None:
    found = document(run_cli, log, "--as", OPUS, "--no-text")
    assert not found["with_text"]
    causes = {cause["cause"]: cause for cause in found["causes"]}
    assert causes["unknown"]["requests"] == 2
    example = found["misses"][0]["examples"][0]
    assert example["candidates"] == ["clock", "identifier", "counter_or_nonce"]
    assert any("no text beside the log" in sentence for sentence in found["assumptions"])


def test_a_parquet_uses_the_texts_beside_it_and_none_are_written_for_other_logs(
    run_cli: RunCli, log: Path, tmp_path: Path
) -> None:
    out = tmp_path / "kept.parquet"
    import_log([log], out, keep_text=True)
    assert document(run_cli, out, "--as", OPUS)["with_text"]
    text_path(out).unlink()
    assert not document(run_cli, out, "--as", OPUS)["with_text"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.parquet", "log.jsonl"]


def test_the_table_shows_the_cause_the_characters_and_the_sections(
    run_cli: RunCli, log: Path
) -> None:
    code, out, err = run_cli("why", log, "--as", OPUS)
    assert code == 0
    for words in (
        "volatile value",
        "  clock",
        "“12:00:00” → “12:00:14”",
        "by section of the prompt",
    ):
        assert words in out, out
    assert "Assumed:" in err


def test_a_log_of_counts_is_refused_with_what_it_would_need(
    run_cli: RunCli, tmp_path: Path
) -> None:
    log = tmp_path / "azure.csv"
    log.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2026-01-01 00:00:00.0,100,10\n")
    code, out, err = run_cli("why", log, "--as", OPUS)
    assert (code, out) == (2, "")
    assert "counts only: why needs a log with content blocks or token blocks" in err


def test_rows_that_where_leaves_out_are_not_counted(run_cli: RunCli, log: Path) -> None:
    found = document(run_cli, log, "--as", OPUS, "--where", "request_id = 'r1'")
    assert found["requests"] == 1
    assert found["misses"][0]["reason"] == "volatile_value"


def test_texts_come_back_by_request_over_several_row_groups(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cachecast_datasets.text_file.GROUP_CHARACTERS", 10_000)
    monkeypatch.setattr("cachecast_datasets.kept_texts.GROUPS_HELD", 1)
    out = tmp_path / "kept.parquet"
    import_log([log], out, keep_text=True)
    assert pq.ParquetFile(text_path(out)).num_row_groups == 3
    texts = kept_texts(out)
    assert texts is not None
    with texts:
        for name, clock in (("r2", "12:00:28"), ("r0", "12:00:00"), ("r1", "12:00:14")):
            found = texts.of(name)
            assert found is not None
            assert found[0].startswith(f"It is {clock}. ")
            assert found[1] == f"Question {name[1]}"
        assert texts.of("nobody") is None
