"""The Overview says what the command line says, with money in every sentence."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from cachecast.dashboard import overview_numbers as numbers
from cachecast.dashboard import states, wording
from cachecast.dashboard.answers import Answers
from cachecast.dashboard.opened import example_path, opened
from cachecast_pricing.rules.reasons import REASONS, UNAVOIDABLE

OpenApp = Callable[..., AppTest]
RunCli = Callable[..., tuple[int, str, str]]


def asked(run_cli: RunCli, *arguments: object) -> dict[str, Any]:
    code, out, err = run_cli(*arguments, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("scenario", ["claude-opus-5", "gpt-6-sol", "log"])
def test_the_page_shows_the_numbers_of_bill_and_why(
    open_app: OpenApp, run_cli: RunCli, scenario: str
) -> None:
    log = example_path()
    (bill,) = asked(run_cli, "bill", log, "--as", scenario)["scenarios"]
    why = asked(run_cli, "why", log, "--as", scenario)

    app = open_app(log, scenario=scenario)
    currency = bill["charge"]["currency"]
    assert [metric.value for metric in app.metric] == [
        wording.money(bill["charge"]["total"], currency),
        wording.money(bill["without_cache"], currency),
        wording.money(bill["net_saving"].removeprefix("-"), currency),
        wording.share(bill["token_hit_ratio"]),
        wording.share(bill["spend_hit_ratio"]),
    ]
    shown = [text.value for text in app.markdown]
    dearest = [miss for miss in why["misses"] if miss["avoidable"]][:3]
    for number, miss in enumerate(dearest, start=1):
        cost = wording.plain(wording.money(miss["cost"], currency))
        assert any(text.startswith(f"{number}. **{cost}**") for text in shown), miss["reason"]


def test_numbers_come_before_charts_once_a_session(
    open_app: OpenApp, settle: Callable[[AppTest], AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(states, "time", SimpleNamespace(sleep=waits.append))

    settle(open_app(example_path(), scenario="claude-opus-5"))
    assert len(waits) == 1
    settle(open_app(example_path(), scenario="claude-opus-5"))
    assert len(waits) == 2


def test_a_run_shows_the_bill_that_it_keeps(
    open_app: OpenApp, run_cli: RunCli, tmp_path: Path
) -> None:
    log, run = example_path(), tmp_path / "run"
    out = asked(run_cli, "bill", log, "--as", "claude-opus-5", "--as", "gpt-6-sol", "-o", run)

    app = open_app(run)
    assert app.metric[0].value == wording.money(out["scenarios"][0]["charge"]["total"], "USD")
    assert not app.error


@pytest.mark.parametrize("calendar", [True, False])
def test_times_of_a_run_have_the_calendar_of_its_log(
    answers: Answers, run_cli: RunCli, tmp_path: Path, calendar: bool
) -> None:
    """Without it the axis of a run would count minutes from 1970."""
    log = tmp_path / "log.jsonl"
    at = "2026-11-20T12:00:00Z" if calendar else 0
    row = {"at": at, "model": "claude-opus-5", "output": 1, "prompt": [["user", "Q", 3000]]}
    log.write_text(json.dumps(row) + "\n", "utf-8")
    asked(run_cli, "bill", log, "--as", "claude-opus-5", "-o", tmp_path / "run")

    work = answers.open(tmp_path / "run", "run")
    work.wait()
    assert work.answer is not None, work.problem
    assert opened(work.answer).relative is not calendar


def test_every_avoidable_reason_has_words_of_its_own() -> None:
    assert set(numbers.SAID) == set(REASONS) - set(UNAVOIDABLE) - {"unknown"}


@pytest.mark.parametrize(
    ("count", "said"), [(999, "999"), (1000, "1.00 k"), (3_953_006_531, "3.95 G")]
)
def test_counts_in_charts_have_three_digits(count: int, said: str) -> None:
    assert wording.short_tokens(count).replace(wording.THIN, " ") == said


def test_a_number_keeps_its_thin_spaces_so_that_it_is_never_broken() -> None:
    assert wording.plain(f"{wording.tokens(30_569_819)} tokens\n") == "30\u202f569\u202f819 tokens"


def test_other_peoples_words_are_no_markup() -> None:
    assert wording.plain("a*b*\n<i> $x$ :red[y]") == r"a\*b\* \<i\> \$x\$ \:red\[y\]"
