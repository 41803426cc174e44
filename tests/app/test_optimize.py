"""`cachecast optimize`: the contract, the way back to `bill` and `whatif`, and what is refused."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from usage_logs import litellm

RunCli = Callable[..., tuple[int, str, str]]


def row(at: int, turns: int) -> dict[str, object]:
    """A conversation of so many turns without any marker."""
    prompt: list[list[object]] = [["tools", "T", 1000], ["system", "S", 2000]]
    for n in range(turns):
        prompt += [["user", f"U{n}", 500], ["assistant", f"A{n}", 300]]
    return {
        "at": at, "model": "claude-opus-5", "session": "s", "output": 300, "ttft": 1, "took": 2,
        "prompt": [*prompt, ["user", f"U{turns}", 500]],
    }  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three turns, the last after a pause of nine minutes."""
    file = tmp_path / "log.jsonl"
    rows = [row(0, 0), row(60, 1), row(600, 2)]
    file.write_text("".join(json.dumps(entry) + "\n" for entry in rows))
    return file


def test_the_json_has_the_contracts_keys(run_cli: RunCli, log: Path) -> None:
    code, out, _ = run_cli("optimize", log, "--as", "claude-opus-5", "--json")
    found = json.loads(out)

    assert code == 0
    assert {"policy", "instructions", "charge", "baseline", "bound", "candidates"} <= set(found)
    assert found["candidates"] >= 200
    # nothing is marked in the log: 3500 + 4300 + 5100 fresh tokens and 900 of output
    assert Decimal(found["baseline"]["total"]) == Decimal(12_900 * 5 + 900 * 25) / 10**6
    assert Decimal(found["bound"]["clairvoyant"]) <= Decimal(found["charge"]["total"])
    assert Decimal(found["charge"]["total"]) < Decimal(found["baseline"]["total"])


def test_the_winner_is_billed_the_same_by_whatif(run_cli: RunCli, log: Path) -> None:
    _, out, _ = run_cli("optimize", log, "--as", "claude-opus-5", "--json")
    found = json.loads(out)
    policy = found["policy"]
    change = f"mark={policy['mark']}"
    if policy["keep_alive"] is not None:
        change += f",keep-alive={policy['keep_alive']}"

    _, out, _ = run_cli("whatif", log, "--as", "claude-opus-5", "--change", change, "--json")
    assert json.loads(out)["scenarios"][0]["charge"]["total"] == found["charge"]["total"]


def test_the_instruction_is_plain(run_cli: RunCli, log: Path) -> None:
    """One ping bridges nine minutes; a 5m marker on the last block does the rest."""
    code, out, _ = run_cli("optimize", log, "--as", "claude-opus-5")
    assert code == 0
    assert "• put a 5m marker on the last block of the prompt" in out
    assert "clairvoyant bound" in out
    assert "Following it saves $0.0" in out
    assert "; no use of the cache could save more than another $0.0" in out


@pytest.mark.parametrize("model", ["gpt-6-sol", "deepseek-flash", "gpt-5.4"])
def test_a_model_without_markers_is_refused_in_one_sentence(
    run_cli: RunCli, log: Path, model: str
) -> None:
    code, out, err = run_cli("optimize", log, "--as", model)
    assert (code, out) == (2, "")
    assert "optimize takes Anthropic's models" in err
    assert err.count("\n") == 1


def test_openai_with_breakpoints_is_shown_what_there_is_to_choose(
    run_cli: RunCli, log: Path
) -> None:
    """The commands that it names must work, so that nobody is sent into a second refusal."""
    _, _, err = run_cli("optimize", log, "--as", "gpt-6-sol")
    assert "cachecast whatif --change mark=translate --change mark=auto compares" in err

    changes = ("--change", "mark=translate", "--change", "mark=auto")
    assert run_cli("whatif", log, "--as", "gpt-6-sol", *changes)[0] == 0


def test_a_log_of_counts_is_refused_in_one_sentence(run_cli: RunCli, tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text(json.dumps(litellm()) + "\n")
    code, out, err = run_cli("optimize", file, "--as", "claude-opus-5")
    assert (code, out) == (2, "")
    assert "this one has counts only" in err


def test_a_log_of_other_models_is_refused_in_one_sentence(run_cli: RunCli, tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text(json.dumps({**row(0, 0), "model": "gpt-6-sol"}) + "\n")
    code, out, err = run_cli("optimize", file)
    assert (code, out) == (2, "")
    assert "optimize takes Anthropic's models" in err
    assert err.count("\n") == 1
