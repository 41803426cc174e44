"""The whole way: a pair log with markers, billed; predicted equals observed, to the token."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_calls import claude, message, pair, said, text, usage

RunCli = Callable[..., tuple[int, str, str]]

SYSTEM = [text("You are careful. " * 200, "1h")]
TOOLS = [{"name": "grep", "input_schema": {"type": "object"}}]


def turn(asked: list[Any], use: dict[str, Any], minute: int) -> dict[str, Any]:
    """A request whose last question carries a marker, as clients send it."""
    *before, last = asked
    said_before = [
        said("assistant" if n % 2 else "user", [text(words)]) for n, words in enumerate(before)
    ]
    messages = [*said_before, said("user", [text(last, "5m")])]
    body = claude(tools=TOOLS, system=SYSTEM, messages=messages)
    when = f"2026-11-20T10:{minute:02}:00Z"
    return pair(body, message(use, [text("Fine.")], id=f"msg_{minute}"), start_time=when)


def test_predicted_usage_is_observed_usage(tmp_path: Path, run_cli: RunCli) -> None:
    """Tools and system text 3,000 (1h), first question 900 (5m), answer and second one 404.

    At minute 20 the five minutes are over and the hour is not: only 3,000 are read.
    """
    asked = ["First question " * 80, "Fine.", "Second one " * 50]
    rows = [
        turn(asked[:1], usage(4, 0, 900, 3_000, out=3), 0),
        turn(asked, usage(5, 3_900, 404, 0, out=10), 1),
        turn(asked, usage(5, 3_000, 1_304, 0, out=10), 20),
    ]
    log = tmp_path / "pairs.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))

    code, out, _ = run_cli("bill", log, "--json")

    assert code == 0
    seen = json.loads(out)["scenarios"][0]["observed"]
    assert seen["requests"] == 3
    assert {k: v for k, v in seen["usage"].items() if v} == {
        "fresh": 14, "cache_read": 6_900, "cache_write_5m": 2_608, "cache_write_1h": 3_000,
        "output": 23,
    }  # fmt: skip
    assert set(seen["predicted_minus_observed"].values()) == {0}
    code, out, _ = run_cli("bill", log, "--per-request", "--json")
    reasons = [json.loads(line)["reason"] for line in out.splitlines()]
    assert reasons == ["cold_start", None, "ttl_expired"]


def test_pairs_without_usage_are_simulated_with_sizes_that_are_named_an_estimate(
    tmp_path: Path, run_cli: RunCli
) -> None:
    """A second turn reads all that the first one wrote: over 5,000 tokens, 0.5 s of estimate."""
    asked = ["First question " * 4_000, "Fine.", "Second one " * 50]
    rows = [turn(asked[:1], {}, 0), turn(asked, {}, 1)]
    for row in rows:
        del row["response"]["usage"]
    log = tmp_path / "pairs.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))

    code, out, notes = run_cli("bill", log, "--as", "claude-opus-5", "--per-request", "--json")

    assert code == 0
    assert "no prompt size reported: the blocks are an estimate" in notes
    first, second = [json.loads(line)["usage"] for line in out.splitlines()]
    written = first["cache_write_5m"] + first["cache_write_1h"]
    assert written > 5_000
    assert second["cache_read"] == written


def test_generated_pairs_keep_their_times(tmp_path: Path, run_cli: RunCli) -> None:
    log, sketch = tmp_path / "pairs.jsonl", tmp_path / "sketch.jsonl"
    common = ("generate", "coding-agent", "--requests", "12", "--seed", "3")
    assert run_cli(*common, "-o", log)[0] == 0
    assert run_cli(*common, "--format", "sketch", "-o", sketch)[0] == 0
    usages = []
    for path in (log, sketch):
        code, out, notes = run_cli("bill", path, "--as", "claude-opus-5", "--json")
        assert code == 0
        assert "no times in the file" not in notes
        assert "first token" not in out  # none had to be estimated
        usages.append(json.loads(out)["scenarios"][0]["usage"])
    assert usages[0] == usages[1]


@pytest.mark.parametrize(
    ("told", "compared"),
    [
        ({"input_tokens": None, "cache_read_input_tokens": None}, False),
        ({"input_tokens": None, "cache_read_input_tokens": 0}, True),
        ({"input_tokens": 40, "cache_read_input_tokens": None}, True),
        ({"input_tokens": None, "cache_read_input_tokens": None,
          "cache_creation_input_tokens": 40}, True),
    ],
)  # fmt: skip
def test_a_usage_of_output_alone_is_nothing_to_compare_with(
    tmp_path: Path, run_cli: RunCli, told: dict[str, int | None], compared: bool
) -> None:
    row = turn(["A question."], {}, 0)
    row["response"]["usage"] = {"output_tokens": 10} | told
    log = tmp_path / "pairs.jsonl"
    log.write_text(json.dumps(row) + "\n")

    code, out, _ = run_cli("bill", log, "--as", "claude-opus-5")
    assert code == 0
    assert ("predicted against observed" in out) == compared
