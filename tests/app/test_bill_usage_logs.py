"""`cachecast bill` on usage logs: priced or "no price", and the observed usage as it stands."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from usage_logs import LOGS

RunCli = Callable[..., tuple[int, str, str]]

PROMPT_CLASSES = (
    "fresh", "cache_read", "cache_write_5m", "cache_write_30m", "cache_write_1h",
    "cache_write_12h", "cache_write_unknown",
)  # fmt: skip
PRICED = {"litellm", "langfuse", "otel", "openrouter", "tracelab"}


@pytest.fixture
def bill(run_cli: RunCli) -> Callable[..., tuple[dict[str, Any], str]]:
    """The only scenario of a bill as the log itself has it, and what was said beside it."""

    def run(*arguments: object) -> tuple[dict[str, Any], str]:
        code, out, err = run_cli("bill", *arguments, "--as", "log", "--json")
        assert code == 0, err
        (found,) = json.loads(out)["scenarios"]
        return found, err

    return run


Bill = Callable[..., tuple[dict[str, Any], str]]


@pytest.mark.parametrize("name", LOGS)
def test_every_format_has_a_bill(bill: Bill, tmp_path: Path, name: str) -> None:
    reader, text, rows, (prompt, output), evidence = LOGS[name]
    path = tmp_path / "log"
    path.write_text(text)
    found, err = bill(path)
    assert found["requests"] == rows
    priced = found["requests"] - found["unpriced_requests"]
    assert priced == (rows if reader in PRICED else 0)
    if reader not in PRICED:
        assert "no request of this log names a model that has a price" in err
        return
    seen = found["observed"]["usage"]
    assert seen["output"] == output
    if seen["fresh"] is None:  # writes are hidden, and one charge alone does not show them
        assert reader == "openrouter"
        interval = found["charge"]["interval"]
        assert float(interval["low"]) < float(interval["high"])
        return
    assert sum(seen[name] for name in PROMPT_CLASSES) == prompt
    if evidence == "counts":  # nothing is simulated: the prediction is what was observed
        assert {name: found["usage"][name] for name in seen} == seen


def test_the_tracelab_sessions_are_billed_to_the_token(bill: Bill, shared: Path) -> None:
    path = shared / "traces" / "tracelab" / "derived_round_trace.jsonl"
    if not path.exists():
        pytest.skip(f"{path.name} is not on this machine")
    claude, _ = bill(path, "--where", "provider = 'anthropic'")
    usage = claude["usage"]
    assert (usage["fresh"], usage["cache_write_unknown"], usage["cache_read"]) == (
        3_039, 21_086, 394_068,
    )  # fmt: skip
    assert sum(usage[name] for name in PROMPT_CLASSES) == 418_193
    assert claude["observed"]["usage"] == usage
    codex, _ = bill(path, "--where", "provider = 'openai'")
    assert (codex["usage"]["fresh"], codex["usage"]["cache_read"]) == (16_331, 79_488)
