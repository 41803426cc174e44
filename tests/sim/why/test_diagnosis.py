"""The provider's own diagnosis in a log, held against ours: it is the truth, and we say so."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_calls import claude, message, pair, response, responses, said, text
from why_sketches import asked

RunCli = Callable[..., tuple[int, str, str]]
OPUS = "claude-opus-5"
UNKNOWN: dict[str, Any] = {
    "input_tokens": None, "cache_creation_input_tokens": None, "cache_read_input_tokens": None,
    "output_tokens": 5,
}  # fmt: skip


def two_calls(told: str | None, second_system: str) -> list[dict[str, Any]]:
    """Two calls of a session, the second with the provider's word on its miss."""
    rows = []
    for n, system in enumerate(("Rules. " * 1200, second_system)):
        body = claude(system=[text(system, "5m")], messages=[said("user", f"Q{n}")])
        more = {}
        if n and told is not None:
            more = {"diagnostics": {"cache_miss_reason": {"type": told}}}
        rows.append(
            {**pair(body, message(UNKNOWN, id=f"m{n}", **more)), "id": f"r{n}", "session": "s",
             "start_time": f"2026-11-20T10:00:{10 * n:02}Z"}
        )  # fmt: skip
    return rows


CHANGED = "Rules. " * 1100 + "One more rule. " * 40


def test_a_diagnosis_that_fits_is_counted_as_agreeing() -> None:
    found = asked("log", two_calls("system_changed", CHANGED))
    (_, finding) = found.rows[-1]
    assert (finding.cause, finding.told, finding.agrees) == ("system_changed",) * 2 + (True,)
    assert (found.rollup.diagnoses.told, found.rollup.diagnoses.disagree) == (1, 0)


def test_where_the_provider_says_otherwise_its_word_holds_and_ours_is_reported() -> None:
    found = asked("log", two_calls("tools_changed", CHANGED))
    (_, finding) = found.rows[-1]
    assert (finding.cause, finding.agrees) == ("tools_changed", False)
    assert finding.evidence["ours"] == "system_changed"
    assert found.rollup.diagnoses.examples == [("r1", "tools_changed", "system_changed")]


def test_a_disagreement_is_in_the_table_and_in_the_json(run_cli: RunCli, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    rows = two_calls("tools_changed", CHANGED)
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, out, _ = run_cli("why", log, "--as", "log", "--json")
    assert json.loads(out)["diagnoses"] == {
        "told": 1, "agree": 0, "disagree": 1,
        "examples": [{"request_id": "r1", "provider": "tools_changed", "ours": "system_changed"}],
    }  # fmt: skip
    _, out, _ = run_cli("why", log, "--as", "log")
    assert "diagnosis: 1 told, 0 agree, 1 differ" in " ".join(out.split())


def test_a_coarse_word_that_ours_does_not_fit_leaves_candidates() -> None:
    found = asked("log", two_calls("messages_changed", CHANGED))
    (_, finding) = found.rows[-1]
    assert finding.cause is None
    assert "history_rewritten" in finding.candidates


@pytest.mark.parametrize("told", ["previous_message_not_found", "unavailable", None])
def test_a_diagnosis_that_does_not_tell_is_none(told: str | None) -> None:
    found = asked("log", two_calls(told, CHANGED))
    assert found.rollup.diagnoses.told == 0
    assert found.rows[-1][1].cause == "system_changed"


def test_under_another_model_the_providers_word_says_nothing() -> None:
    found = asked("claude-sonnet-5", two_calls("tools_changed", CHANGED))
    assert found.rollup.diagnoses.told == 0
    assert found.rows[-1][1].cause == "system_changed"


def test_openai_says_it_in_a_field_of_its_own() -> None:
    from cachecast_sim.why.diagnosis import told_by_provider

    said_so = {"type": "cache_miss", "reason": "reasoning_effort_changed"}
    assert told_by_provider(json.dumps(said_so)) == "reasoning_effort_changed"
    assert told_by_provider("not JSON") is None
    assert told_by_provider("[1]") is None


@pytest.mark.parametrize(
    ("told", "agree", "examples"),
    [
        ("input_changed", 1, []),  # OpenAI's word for a changed text, wherever it stands
        ("tools_changed", 0, [
            {"request_id": "r1", "provider": "tools_changed", "ours": "system_changed"}
        ]),
    ],
)  # fmt: skip
def test_openais_word_in_a_log_is_held_against_ours(
    run_cli: RunCli, tmp_path: Path, told: str, agree: int, examples: list[dict[str, str]]
) -> None:
    """Only the instructions differ between the two calls."""
    said_so = {"prompt_cache_diagnostics": {"type": "cache_miss", "reason": told}}
    rows = []
    for n, system in enumerate(("Rules. " * 1200, CHANGED)):
        body = responses([said("user", f"Q{n}")], instructions=system)
        usage = {"input_tokens": None, "output_tokens": 5}
        reply = response(usage, id=f"resp_{n}", **(said_so if n else {}))
        row = {**pair(body, reply), "id": f"r{n}", "session": "s"}
        rows.append(row | {"start_time": f"2026-11-20T10:00:{10 * n:02}Z"})
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))

    code, out, err = run_cli("why", log, "--as", "log", "--json")
    assert code == 0, err
    assert json.loads(out)["diagnoses"] == {
        "told": 1, "agree": agree, "disagree": 1 - agree, "examples": examples,
    }  # fmt: skip
    _, out, _ = run_cli("why", log, "--as", "log", "--per-request", "--json")
    (row,) = (row for row in map(json.loads, out.splitlines()) if row["request_id"] == "r1")
    assert row["cause"] == ("system_changed" if agree else told)
