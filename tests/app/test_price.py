"""`cachecast price`: the JSON contract, the table, and one sentence for bad input."""

import io
import json
import re
import shlex
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cachecast.cli import main

USAGE = {
    "input_tokens": 2048,
    "cache_read_input_tokens": 1800,
    "cache_creation_input_tokens": 248,
    "cache_creation": {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 100},
    "output_tokens": 503,
}


class Outcome:
    """What one call printed and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> dict[str, Any]:
        """The document on stdout."""
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Call the command line as a shell would."""

    def call(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["cachecast", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        code = left.value.code
        assert isinstance(code, int)
        return Outcome(code, *capsys.readouterr())

    return call


def test_the_json_has_every_key_of_the_contract_with_money_as_decimal_strings(run: Any) -> None:
    result = run("price", "--model", "claude-opus-5", "--usage", json.dumps(USAGE), "--json")

    assert result.code == 0
    assert result.err == ""
    document = result.json
    assert document["model"] == "claude-opus-5"
    assert document["provider"] == "anthropic"
    assert document["usage"] == {
        "fresh": 2048, "cache_read": 1800, "cache_write_5m": 148, "cache_write_30m": 0,
        "cache_write_1h": 100, "cache_write_12h": 0, "cache_write_unknown": 0, "output": 503,
    }  # fmt: skip
    assert document["prompt_tokens"] == 4096
    assert document["semantics"] == "additive"
    assert document["charge"] == {
        "currency": "USD", "fresh": "0.01024", "cache_read": "0.0009", "cache_write": "0.001925",
        "output": "0.012575", "storage": "0", "total": "0.02564",
    }  # fmt: skip
    assert document["interval"] is None
    assert Decimal(document["without_cache"]) == (4096 * 5 + 503 * 25) / Decimal(10**6)
    assert Decimal(document["net_saving"]) == Decimal("0.033055") - Decimal("0.02564")
    assert all(isinstance(note, str) for note in document["notes"])


def test_the_usage_may_come_from_a_file_or_from_stdin(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "usage.json"
    path.write_text(json.dumps(USAGE), "utf-8")
    from_file = run("price", "--model", "claude-opus-5", "--usage", f"@{path}", "--json")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    from_stdin = run("price", "--model", "claude-opus-5", "--usage", "-", "--json")

    assert from_file.json == from_stdin.json
    assert from_file.json["charge"]["total"] == "0.02564"


def test_a_cache_that_cost_money_has_a_negative_net_saving(run: Any) -> None:
    usage = '{"input_tokens": 10, "output_tokens": 100, "ephemeral_5m_input_tokens": 20000}'
    result = run("price", "--model", "claude-sonnet-4.5", "--usage", usage, "--json")

    assert result.json["charge"]["total"] == "0.07653"
    assert result.json["net_saving"] == "-0.015"


def test_an_open_lifetime_is_an_interval_of_decimal_strings(run: Any) -> None:
    usage = '{"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 1000000}'
    result = run("price", "--model", "claude-opus-4-8", "--usage", usage, "--json")

    assert result.json["charge"]["total"] == "6.25"
    assert result.json["interval"] == {"low": "6.25", "high": "10"}
    assert result.json["usage"]["cache_write_unknown"] == 1_000_000


def test_day_tier_api_provider_and_currency_are_taken_from_the_options(run: Any) -> None:
    usage = '{"prompt_tokens": 1000000, "completion_tokens": 0}'

    def total(*options: str) -> str:
        document = run("price", "--usage", usage, "--json", *options).json
        charged = document["charge"]["total"]
        assert isinstance(charged, str)
        return charged

    assert total("--model", "deepseek-flash", "--on", "2026-11-16T02:00:00Z") == "0.3"
    assert total("--model", "deepseek-flash", "--currency", "CNY", "--on", "2026-11-16") == "1"
    assert total("--model", "deepseek-v4-flash", "--provider", "fireworks") == "0.14"
    assert total("--model", "gpt-6-luna", "--tier", "flex") == "0.1"  # 0.20 above 272k, halved
    assert total("--model", "claude-opus-5", "--api", "openai-chat") == "5"


def test_negotiated_rates_lie_over_the_catalogue(run: Any, tmp_path: Path) -> None:
    rates = tmp_path / "rates.toml"
    rates.write_text(
        'provider = "openai"\n[[models]]\nmodel = "gpt-6-sol"\nsource = ["contract"]\n'
        'checked = "2026-11-01"\nprices = { input = "1.5", output = "8" }\n',
        "utf-8",
    )
    usage = '{"prompt_tokens": 1000, "completion_tokens": 0}'
    result = run("price", "--model", "gpt-6-sol", "--rates", str(rates), "--usage", usage, "--json")

    assert result.json["charge"]["total"] == "0.0015"


def test_without_json_a_table_goes_to_stdout_and_notes_go_to_stderr(run: Any) -> None:
    result = run("price", "--model", "claude-opus-5", "--usage", json.dumps(USAGE))

    assert result.code == 0
    assert "claude-opus-5 (anthropic)" in result.out
    assert "$0.02564 " in result.out  # every digit
    assert "net saving" in result.out
    assert "note: no date given" in result.err


def test_the_table_has_a_price_for_each_class_and_the_writes_by_lifetime(run: Any) -> None:
    out = run("price", "--model", "claude-opus-5", "--usage", json.dumps(USAGE)).out

    cells = [re.split(r"\s{2,}", line.strip()) for line in out.splitlines()]
    assert ["cache write 5m", "148", "6.25", "$0.000925"] in cells
    assert ["cache write 1h", "100", "10", "$0.001"] in cells
    assert ["output", "503", "25", "$0.012575"] in cells
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 80
    assert "…" not in out


def test_a_whole_response_is_priced_by_its_usage(run: Any) -> None:
    response = json.dumps({"id": "msg_1", "model": "claude-opus-5", "usage": USAGE})
    result = run("price", "--model", "claude-opus-5", "--usage", response, "--json")

    assert result.json["charge"]["total"] == "0.02564"
    assert "a whole response: its 'usage' is what was read" in result.json["notes"]


def test_a_web_search_is_a_note_on_stderr_and_in_the_json(run: Any) -> None:
    usage = json.dumps({**USAGE, "server_tool_use": {"web_search_requests": 2}})
    shown = run("price", "--model", "claude-opus-5", "--usage", usage)
    document = run("price", "--model", "claude-opus-5", "--usage", usage, "--json").json

    assert "note: 2 web search requests not priced" in shown.err
    assert any(note.startswith("2 web search requests not priced") for note in document["notes"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--usage", "{"), "not JSON"),
        (("--usage", "[1]"), "expected a JSON object, found list"),
        (("--usage", "{}"), "none of the known fields"),
        (("--usage", "@gone.json"), "gone.json: No such file"),
        (("--usage", '{"input_tokens": NaN}'), "NaN is not a number"),
        (("--usage", '{"input_tokens": 1, "input_tokens": 2}'), "stands there twice"),
        (("--usage", '{"input_tokens": -3}'), "input_tokens is -3, expected >= 0"),
        (("--usage", '{"input_tokens": 1.5}'), "input_tokens is 1.5"),
        (("--usage", '{"input_tokens": true}'), "input_tokens is true"),
        (("--usage", '{"input_tokens": 1e400}'), "expected at most"),
        (("--usage", "[" * 100_000), "not JSON"),
        (("--api", "cohere"), "unknown API 'cohere'; known: anthropic"),
        (("--tier", "flex"), "no flex price for anthropic/claude-opus-5; it has: standard, batch"),
        (("--tier", "turbo"), "it has: standard, batch, fast"),
        (("--model", "claude-opos-5"), "close names: claude-opus-5"),
        (("--model", "sonnet"), "close names: claude-sonnet-5.5, claude-sonnet-5, "),
        (("--model", "claude-opus-5.5", "--on", "2026-09-21"), "stated from 2026-09-22"),
        (("--provider", "acme"), "unknown provider 'acme'; known: alibaba"),
        (("--on", "soon"), "expected YYYY-MM-DD"),
        (("--currency", "EUR"), "no EUR price"),
        (("--rates", "gone.toml"), "gone.toml: No such file"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    run: Any, options: tuple[str, ...], message: str
) -> None:
    given = ["--model", "claude-opus-5", "--usage", '{"input_tokens": 1}', "--json", *options]
    result = run("price", *given)

    assert result.code == 2
    assert message in result.err
    assert result.err.startswith("cachecast: ")
    assert result.err.count("\n") == 1
    assert result.out == ""


def test_the_example_in_the_help_text_works(run: Any) -> None:
    shown = run("price", "--help").out
    example = shown[shown.index("cachecast price --model") : shown.index("Options:")]
    _, *arguments = shlex.split(" ".join(example.split()))
    result = run(*arguments, "--json")

    assert result.code == 0
    assert result.json["prompt_tokens"] == 50 + 100_000
