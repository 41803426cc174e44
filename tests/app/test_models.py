"""`cachecast models`: every price with its validity, source and reading date."""

import json
import sys
from typing import Any

import pytest

from cachecast.cli import main


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
    assert "cachecast models --provider anthropic" in shown
    code, out, _ = run("models", "--provider", "anthropic")

    assert code == 0
    assert "openai" not in out


def test_the_table_names_models_prices_and_reading_dates(run: Any) -> None:
    code, out, err = run("models", "--provider", "anthropic")

    assert (code, err) == (0, "")
    assert "anthropic/claude-opus-5.5" in out
    assert "5 (5m), 8 (1h)" in out
    assert "2026-10-08" in out


def test_an_unknown_provider_is_one_sentence_and_exit_code_2(run: Any) -> None:
    code, out, err = run("models", "--provider", "acme")

    assert (code, out) == (2, "")
    assert err.startswith("cachecast: unknown provider 'acme'; known: alibaba, anthropic")
