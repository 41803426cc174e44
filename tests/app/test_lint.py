"""`cachecast lint`: two rendered requests, and whether the second keeps the first one's prefix."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_calls import claude, said, text

RunCli = Callable[..., tuple[int, str, str]]
TOOL = {"name": "grep", "description": "Searches.", "input_schema": {"type": "object"}}


def body(lead: str = "", ask: str = "Hello.", **more: Any) -> dict[str, Any]:
    """A rendered request: one tool, a system text of 10,000 tokens, a question."""
    system = [text(lead + "word " * 8000)]
    return claude(tools=[TOOL], system=system, messages=[said("user", ask)], **more)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., list[Path]]:
    """Bodies as files a.json, b.json …"""

    def written(*bodies: dict[str, Any]) -> list[Path]:
        paths = []
        for name, value in zip("abcd", bodies, strict=False):
            paths.append(tmp_path / f"{name}.json")
            paths[-1].write_text(json.dumps(value))
        return paths

    return written


Write = Callable[..., list[Path]]


def test_the_same_prefix_and_another_question_are_stable(run_cli: RunCli, write: Write) -> None:
    code, out, _ = run_cli("lint", *write(body(ask="One?"), body(ask="Two?")))
    assert (code, out) == (0, "2 requests: the prefix is stable\n")


def test_a_conversation_that_goes_on_is_stable(run_cli: RunCli, write: Write) -> None:
    first = body()
    second = body()
    second["messages"] += [said("assistant", "Hello you."), said("user", "And now?")]
    assert run_cli("lint", *write(first, second))[0] == 0


def test_a_clock_in_the_system_text_is_a_finding_with_its_place(
    run_cli: RunCli, write: Write
) -> None:
    files = write(body("It is 2026-11-29 10:00:00. "), body("It is 2026-11-29 10:07:13. "))
    code, out, _ = run_cli("lint", *files)
    assert code == 1
    assert out.startswith(
        "a.json → b.json: clock at system block 1, character 17: “10:00:00” → “10:07:13”\n"
    )


def test_shuffled_tools_are_a_finding(run_cli: RunCli, write: Write) -> None:
    other = TOOL | {"name": "read"}
    first, second = body(), body()
    first["tools"], second["tools"] = [TOOL, other], [other, TOOL]
    code, out, _ = run_cli("lint", *write(first, second))
    assert code == 1
    assert "tools reordered at tools block 0" in out


def test_a_changed_history_of_one_conversation_is_a_finding(run_cli: RunCli, write: Write) -> None:
    first, second = body(), body()
    first["messages"] += [said("assistant", "Answer."), said("user", "More?")]
    second["messages"] += [said("assistant", "Another answer."), said("user", "More?")]
    code, out, _ = run_cli("lint", *write(first, second), "--json")
    assert code == 1
    (found,) = json.loads(out)["breaks"]
    assert found["divergence"]["section"] == "assistant"


@pytest.mark.parametrize(("budget", "code"), [("1000", 0), ("1", 1)])
def test_a_budget_fails_only_what_costs_more_a_month(
    run_cli: RunCli, write: Write, budget: str, code: int
) -> None:
    files = write(body("It is 10:00:00. "), body("It is 10:07:13. "))
    per_month = ("--requests-per-month", "1000")
    got, out, _ = run_cli("lint", *files, "--budget", budget, *per_month, "--json")
    assert got == code
    found = json.loads(out)
    lost = found["breaks"][0]["lost_tokens"]
    # $6.25 a million to write them anew instead of $0.50 to read them, a thousand times
    assert float(found["cost_per_month"]) == pytest.approx(lost * 5.75e-6 * 1000)
    assert found["within_budget"] is (code == 0)


def test_one_log_is_compared_request_by_request(run_cli: RunCli, tmp_path: Path) -> None:
    log = tmp_path / "agent.jsonl"
    made = run_cli("generate", "coding-agent", "-o", log, "--requests", 30, "--sessions", 2,
                   "--clock-in-system", "--title-model", OTHER)  # fmt: skip
    assert made[0] == 0
    code, out, _ = run_cli("lint", log, "--json")
    assert code == 1
    assert {found["cause"] for found in json.loads(out)["breaks"]} == {"clock"}


OTHER = "claude-haiku-4.5"


@pytest.mark.parametrize(
    ("budget", "says"), [("much", "--budget much: expected an amount"), ("-1", "--budget -1")]
)
def test_a_budget_that_is_no_amount_is_refused(
    run_cli: RunCli, write: Write, budget: str, says: str
) -> None:
    code, _, err = run_cli("lint", *write(body(), body()), "--budget", budget)
    assert code == 2
    assert says in err


def test_one_request_alone_is_refused(run_cli: RunCli, write: Write) -> None:
    code, _, err = run_cli("lint", *write(body()))
    assert code == 2
    assert "holds 1; expected two or more" in err


def test_a_budget_without_a_known_model_is_refused(run_cli: RunCli, write: Write) -> None:
    files = write(body("10:00:00", model="mine"), body("10:00:01", model="mine"))
    code, _, err = run_cli("lint", *files, "--budget", "5")
    assert code == 2
    assert "add --as MODEL" in err
    assert run_cli("lint", *files, "--as", "claude-opus-5", "--budget", "5000")[0] == 0


def test_a_file_that_is_no_log_is_refused(run_cli: RunCli, tmp_path: Path) -> None:
    stray = tmp_path / "stray.json"
    stray.write_text('{"hello": 1}')
    code, _, err = run_cli("lint", stray, stray)
    assert code == 2
    assert "expected one of" in err
