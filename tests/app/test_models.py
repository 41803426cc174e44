"""`cachecast models`: every price with its validity, source and reading date."""

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from cachecast.cli import main
from cachecast.model_table import model_tables


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Call the command line as a shell would; (exit code, stdout, stderr)."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["cachecast", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        code = left.value.code
        assert isinstance(code, int)
        return (code, *capsys.readouterr())

    return call


def rows(run: Any, *options: str) -> list[dict[str, Any]]:
    code, out, _ = run("models", "--json", *options)
    assert code == 0
    found = json.loads(out)["models"]
    assert isinstance(found, list)
    return found


def test_every_row_has_the_keys_of_the_contract(run: Any) -> None:
    for row in rows(run):
        assert set(row) >= {
            "model", "provider", "valid_from", "valid_to", "prices", "source", "checked",
        }  # fmt: skip
        assert row["source"]
        for classes in row["prices"].values():
            for price in classes.values():
                assert price is None or isinstance(price, str)


def test_one_model_with_two_prices_has_two_rows_that_meet(run: Any) -> None:
    before, after = [r for r in rows(run, "--provider", "openai") if r["model"] == "gpt-5.6-luna"]

    assert (before["valid_from"], before["valid_to"]) == ("2026-07-09", "2026-07-30")
    assert (after["valid_from"], after["valid_to"]) == ("2026-07-30", None)
    assert before["prices"]["standard"]["cache_write_30m"] == "1.25"
    assert after["prices"]["batch"]["output"] == "0.6"


def test_a_price_that_is_not_listed_is_null_and_not_zero(run: Any) -> None:
    (pro,) = [r for r in rows(run, "--provider", "openai") if r["model"] == "gpt-5.5-pro"]

    assert pro["prices"]["standard"]["cache_read"] is None
    assert "0" not in {p for classes in pro["prices"].values() for p in classes.values()}


def test_only_the_provider_that_was_asked_for_is_listed(run: Any) -> None:
    assert {row["provider"] for row in rows(run, "--provider", "moonshot")} == {"moonshot"}


def test_the_example_in_the_help_text_works(run: Any) -> None:
    _, shown, _ = run("models", "--help")
    assert "cachecast models opus --provider anthropic" in shown
    code, out, _ = run("models", "opus", "--provider", "anthropic")

    assert code == 0
    assert "claude-opus-5" in out
    assert "sonnet" not in out


def test_the_table_names_models_prices_and_reading_dates(run: Any) -> None:
    code, out, err = run("models", "--provider", "anthropic")

    assert (code, err) == (0, "")
    assert "anthropic/claude-opus-5.5" in out
    assert "5 5m, 8 1h" in out
    assert "2026-10-08" in out
    assert "standard prices in USD per million tokens" in out


def test_a_name_keeps_the_models_whose_id_contains_it_with_dots_or_dashes(run: Any) -> None:
    assert {row["model"] for row in rows(run, "opus-4-8")} == {"claude-opus-4.8"}
    assert {row["model"] for row in rows(run, "GPT-6-")} >= {"gpt-6-sol", "gpt-6-luna"}
    # no id contains this one, but it is a spelling of one
    assert {row["model"] for row in rows(run, "claude-opus-4-5-20251101")} == {"claude-opus-4.5"}
    assert {row["provider"] for row in rows(run, "flash", "--provider", "google")} == {"google"}


def test_a_name_that_fits_no_model_is_one_sentence_with_close_names(run: Any) -> None:
    code, out, err = run("models", "claude-opos-5")

    assert (code, out) == (2, "")
    assert err.startswith("cachecast: unknown model 'claude-opos-5'; close names: claude-opus-5")
    assert err.count("\n") == 1


def test_a_row_says_whether_bill_can_simulate_its_cache(run: Any) -> None:
    simulated = {row["provider"]: row["cache_rules"] for row in rows(run)}

    assert [simulated[name] for name in ("anthropic", "openai", "deepseek")] == [True] * 3
    assert not simulated["moonshot"]


def test_long_context_and_peak_prices_are_marked_in_the_table(run: Any) -> None:
    _, out, _ = run("models")
    lines = {line.split()[0]: line for line in out.splitlines() if "/" in line}

    assert re.search(r" yes +L ", lines["openai/gpt-6-sol"])
    assert re.search(r" yes +P ", lines["deepseek/deepseek-flash"])
    assert not re.search(r" L ", lines["anthropic/claude-opus-5"])


@pytest.mark.parametrize("number", range(6))
def test_no_price_and_no_date_is_cut_in_any_of_the_tables(run: Any, number: int) -> None:
    listed = rows(run)
    text = printed(model_tables(listed)[number])

    assert "…" not in text
    whole = text.split()
    for row in listed:
        shown = {n: p for n, p in row["prices"]["standard"].items() if n != "storage"}
        assert {price for price in shown.values() if price is not None} <= set(whole)
        for moment in (row["valid_from"], row["valid_to"]):
            assert moment is None or moment in whole
        if row["currency"] == "CNY":
            assert "CNY" in whole


def test_a_narrow_terminal_has_fewer_columns_and_keeps_prices_and_bill(run: Any) -> None:
    tables = model_tables(rows(run))
    widths = [max(len(line) for line in printed(table).splitlines()) for table in tables]

    assert widths == sorted(widths, reverse=True)
    at_80 = next(table for table, width in zip(tables, widths, strict=True) if width <= 80)
    titles = [column.header for column in at_80.columns]
    assert titles == ["model", "input", "read", "write", "output", "bill"]


def printed(table: Table) -> str:
    """The table at the width of its content."""
    wide = Console(width=10_000)
    width = Measurement.get(wide, wide.options, table).maximum
    console = Console(width=width, file=io.StringIO(), highlight=False)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_new_model_in_a_rates_file_is_a_note_on_stderr(run: Any, tmp_path: Path) -> None:
    rates = tmp_path / "rates.toml"
    rates.write_text(
        'provider = "openai"\n[[models]]\nmodel = "rocket-1"\nsource = ["contract"]\n'
        'checked = "2026-11-01"\nprices = { input = "1.5", output = "8" }\n',
        "utf-8",
    )
    code, out, err = run("models", "rocket", "--rates", str(rates))

    assert code == 0
    assert "rocket-1" in out
    assert err == f"note: {rates}: openai/rocket-1 is not in the catalogue, taken as a new model\n"
