"""Options without an effect, and faults of a request: each is one sentence with its place."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rule_sketches import Line, line
from usage_logs import as_lines, litellm

RunCli = Callable[..., tuple[int, str, str]]
Sketch = Callable[..., Path]

FLEET = """
[fleet]
servers = 1
router = "round_robin"
[engine]
block_tokens = 24
blocks = 100
[latency]
kind = "linear"
step_base_s = 0.01
per_token_s = 0.00001
"""
ROW: Line = line(0, ("user", "Q", 100))


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        (("bill", "LOG"), "-o RUN"),
        (("simulate", "LOG", "--fleet", "FLEET"), "-o RUN"),
        (("curve", "LOG"), "--chart FILE"),
        (("compare", "LOG", "LOG"), "--chart FILE"),
        (("replay", "LOG", "--engine", "torch:x", "--fleet", "FLEET"), "-o RUN or --chart FILE"),
    ],
)
def test_force_without_anything_to_replace_is_refused(
    command: tuple[str, ...], missing: str, sketch: Sketch, run_cli: RunCli, tmp_path: Path
) -> None:
    places = {"LOG": sketch(ROW), "FLEET": tmp_path / "fleet.toml"}
    code, out, err = run_cli(*(places.get(word, word) for word in command), "--force")
    assert (code, out, err) == (2, "", f"cachecast: --force: expected {missing} too\n")


@pytest.mark.parametrize("keep", [False, True])
def test_a_request_that_a_fleet_cannot_serve_is_named_with_its_log(
    keep: bool, run_cli: RunCli, tmp_path: Path
) -> None:
    """Blocks of 512 tokens are no multiple of 24, whether the log is streamed or imported."""
    log, fleet = tmp_path / "log.jsonl", tmp_path / "fleet.toml"
    log.write_text(
        json.dumps({"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [7]})
    )
    fleet.write_text(FLEET)
    kept = ("-o", tmp_path / "run") if keep else ()
    code, out, err = run_cli("simulate", log, "--fleet", fleet, *kept)
    assert (code, out) == (2, "")
    assert err == (
        f"cachecast: {log}: request 1: has blocks of 512 tokens, engine.block_tokens is 24, "
        "expected a divisor or a multiple of 512\n"
    )
    assert not (tmp_path / "run").exists()


def test_a_log_with_nothing_to_serve_is_named(
    sketch: Sketch, run_cli: RunCli, tmp_path: Path
) -> None:
    log, fleet = sketch(line(0)), tmp_path / "fleet.toml"
    fleet.write_text(FLEET)
    code, _, err = run_cli("simulate", log, "--fleet", fleet)
    assert code == 2
    assert err == (
        f"cachecast: {log}: no request of the log has a prompt size, expected at least one\n"
    )


@pytest.mark.parametrize("command", [("bill",), ("whatif", "--change", "tier=batch")])
def test_a_log_of_counts_is_named_where_another_provider_s_cache_is_asked_for(
    command: tuple[str, ...], run_cli: RunCli, tmp_path: Path
) -> None:
    log = tmp_path / "spend.jsonl"
    log.write_text(as_lines(litellm(model="claude-opus-5", custom_llm_provider="anthropic")))
    name, *options = command
    code, out, err = run_cli(name, log, "--as", "gpt-6-sol", *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"cachecast: {log}: request ")
    assert "this log has counts only" in err
