"""`cachecast curve` and what it does not accept: exit code 2, one sentence, nothing on stdout."""

from collections.abc import Callable
from pathlib import Path

import pytest
from log_examples import EXAMPLES

RunCli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def refused(run_cli: RunCli, tmp_path: Path) -> Callable[..., str]:
    """The one sentence of a call on one of the example logs that must fail."""

    def run(*arguments: object, log: str = "mooncake") -> str:
        path = EXAMPLES[log].write(tmp_path)
        code, out, err = run_cli("curve", path, *arguments, "--json")
        assert (code, out) == (2, ""), (out, err)
        assert len(err.strip().splitlines()) == 1, err
        assert "Traceback" not in err
        return err.strip()

    return run


Refused = Callable[..., str]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--capacity", "ten"], ["--capacity", "'ten'", "1000,3000"]),
        (["--capacity", "0"], ["--capacity", "'0'", "from 1"]),
        (["--capacity", "-5"], ["--capacity", "'-5'"]),
        (["--capacity", "1.5"], ["--capacity", "'1.5'"]),
        (["--capacity", "1000,,3000"], ["--capacity", "empty place"]),
        (["--capacity", "9" * 20], ["--capacity", "10^15"]),
        (["--ttl", "5m"], ["--ttl", "'5m'", "seconds"]),
        (["--ttl", "0"], ["--ttl", "'0'"]),
        (["--ttl", "nan"], ["--ttl", "'nan'"]),
        (["--ttl", "1e11"], ["--ttl", "10^10"]),
        (["--block-tokens", "0"], ["--block-tokens", "0"]),
        (["--block-tokens", "100"], ["--block-tokens is 100", "512", "divisor or a multiple"]),
        (["--sample", "0"], ["--sample is 0", "at most 1"]),
        (["--sample", "1.5"], ["--sample is 1.5"]),
        (["--sample", "nan"], ["--sample is nan"]),
        (["--sample", "0.01"], ["--sample 0.01", "too few"]),
        (["--sample", "0.5", "--no-refresh"], ["--sample and --no-refresh"]),
        (["--gib"], ["--gib", "--model SHAPE", "--kv-bytes-per-token"]),
        (["--gib", "--model", "llama-3.1-8"], ["llama-3.1-8", "llama-3.1-8b", "config.json"]),
        (["--gib", "--model", "nowhere.json"], ["nowhere.json", "cannot be read"]),
        (["--model", "m", "--kv-bytes-per-token", "1"], ["--model", "--kv-bytes-per-token"]),
        (["--as", "log"], ["--as log", "expected one model"]),
        (["--as", "claude-opus-5,ttl=1h"], ["ttl=1h", "no keys but on, tier, currency and name"]),
        (["--as", "claude-opus-55"], ["unknown model 'claude-opus-55'"]),
        (["--as", "claude-opus-5,currency=EUR"], ["no EUR price for anthropic/claude-opus-5"]),
        (["--as", "claude-opus-5,tier=flex"], ["no flex price"]),
        (["--chart", "chart.pdf"], ["chart.pdf", ".svg", ".json"]),
        (["--chart", "nowhere/chart.json"], ["nowhere/chart.json", "no folder nowhere"]),
    ],
)
def test_a_bad_value_names_itself_and_what_is_accepted(
    refused: Refused, arguments: list[str], named: list[str]
) -> None:
    said = refused(*arguments)
    assert [word for word in named if word not in said] == []


@pytest.mark.parametrize("log", ["azure", "litellm", "tracelab"])
def test_a_log_of_counts_says_what_is_missing(refused: Refused, log: str) -> None:
    said = refused(log=log)
    assert "does not say what its prompts share" in said
    assert "docs/log-formats.md" in said


def test_blocks_of_two_sizes_are_refused(run_cli: RunCli, tmp_path: Path) -> None:
    logs = []
    for name in ("mooncake", "kv-cache-tester-merged"):
        (tmp_path / name).mkdir()
        logs.append(EXAMPLES[name].write(tmp_path / name))

    code, out, err = run_cli("curve", *logs)
    assert (code, out) == (2, "")
    assert "expected one size in a log" in err


def test_a_file_that_is_not_there_is_named(run_cli: RunCli, tmp_path: Path) -> None:
    code, out, err = run_cli("curve", tmp_path / "nowhere.jsonl")

    assert (code, out) == (2, "")
    assert "nowhere.jsonl" in err
