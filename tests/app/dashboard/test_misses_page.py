"""The page Misses: the command line's numbers, the ledger's ribbon, no text unless asked for."""

import json
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from api_calls import claude, message, pair, said, text
from streamlit.testing.v1 import AppTest

from cachecast.dashboard import misses_numbers, ribbon_numbers
from cachecast.dashboard.answers import Answers
from cachecast.dashboard.miss_rows import misses_by_hour, misses_of_ribbons
from cachecast.dashboard.opened import Opened, opened
from cachecast.dashboard.questions.run import RUN
from cachecast.dashboard.questions.texts import TEXTS
from cachecast.dashboard.questions.why import WHY
from cachecast.dashboard.ribbon_file import session_rows
from cachecast.dashboard.work import Answer

OpenApp = Callable[..., AppTest]
RunCli = Callable[..., tuple[int, str, str]]
OPUS = "claude-opus-5"
SECRET = "<script>alert('It is')</script>"
UNKNOWN: dict[str, Any] = {
    "input_tokens": None, "cache_creation_input_tokens": None, "cache_read_input_tokens": None,
    "output_tokens": 5,
}  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Two sessions with a system text of 5,000 tokens; the first has a clock in front of it."""
    rows = []
    for session, clocks in (("clocked", ("12:00:00", "12:00:14", "12:00:28")), ("calm", ("", ""))):
        for n, clock in enumerate(clocks):
            system = [text(f"{session} {SECRET} {clock}. " + "word " * 4000, "5m")]
            body = claude(system=system, messages=[said("user", f"Question {n}")])
            name = f"{session}-{n}"
            at = f"2026-11-20T12:00:{14 * n:02}Z"
            keys = {"id": name, "session": session, "account": "a", "start_time": at}
            rows.append({**pair(body, message(UNKNOWN, id=name)), **keys})
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def about(answers: Answers, log: Path) -> Opened:
    work = answers.open(log, log.name)
    work.wait()
    assert work.answer is not None, work.problem
    return opened(work.answer)


def asked(answers: Answers, log: Path, question: Any) -> Answer:
    work = answers.ask(question, about(answers, log), OPUS)
    work.wait()
    assert work.answer is not None, work.problem
    return work.answer


def printed(run_cli: RunCli, *arguments: object) -> Any:
    code, out, err = run_cli(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def words_on(app: AppTest) -> str:
    """Everything that the page says, but the log's name."""
    blocks = (
        app.markdown,
        app.caption,
        app.table,
        app.dataframe,
        app.info,
        app.error,
        app.selectbox,
    )
    html = [element.proto.body for element in app.get("html")]
    return "\n".join([*(str(element.value) for kind in blocks for element in kind), *html])


def test_the_answer_of_the_page_is_what_why_prints(
    answers: Answers, log: Path, run_cli: RunCli
) -> None:
    found = dict(asked(answers, log, WHY))
    del found["path"]

    assert found == printed(run_cli, "why", log, "--as", OPUS, "--no-text")


def test_reasons_have_the_money_of_the_bill(answers: Answers, log: Path, run_cli: RunCli) -> None:
    (bill,) = printed(run_cli, "bill", log, "--as", OPUS)["scenarios"]

    shown = misses_numbers.reasons(asked(answers, log, WHY))

    assert [(row["reason"], row["amount"]) for row in shown] == [
        (miss["reason"].replace("_", " "), float(miss["cost"])) for miss in bill["misses"]
    ]


def test_hours_sum_to_the_misses_of_the_bill(answers: Answers, log: Path, run_cli: RunCli) -> None:
    (bill,) = printed(run_cli, "bill", log, "--as", OPUS)["scenarios"]

    rows = misses_of_ribbons(Path(asked(answers, log, WHY)["path"]))

    assert rows == misses_by_hour(Path(asked(answers, log, RUN)["path"]), OPUS)
    assert {row["hour"].isoformat() for row in rows} == {"2026-11-20T12:00:00+00:00"}
    assert {row["reason"]: (row["tokens"], row["cost"]) for row in rows} == {
        miss["reason"]: (miss["tokens"], Decimal(miss["cost"])) for miss in bill["misses"]
    }
    (cell,) = misses_numbers.heat(rows, misses_numbers.EVERYTHING, "USD", relative=False)
    assert (cell["day"], cell["hour"]) == ("Fri 20 Nov", 12)
    assert cell["amount"] == float(sum(Decimal(miss["cost"]) for miss in bill["misses"]))


def test_a_ribbon_has_the_classes_of_the_ledger_and_sums_to_the_prompt(
    answers: Answers, log: Path, run_cli: RunCli
) -> None:
    code, out, _ = run_cli("bill", log, "--as", OPUS, "--per-request", "--json")
    ledger = {row["request_id"]: row for row in map(json.loads, out.splitlines())}
    path = Path(asked(answers, log, WHY)["path"])

    rows = [*session_rows(path, "clocked"), *session_rows(path, "calm")]

    assert code == 0
    assert {row["request_id"] for row in rows} == set(ledger)
    for row in rows:
        usage = ledger[row["request_id"]]["usage"]
        classes = ribbon_numbers.by_class(row)
        assert sum(classes.values()) == usage_total(usage)
        assert classes.get("read", 0) == usage["cache_read"]
        assert classes.get("written", 0) == usage["cache_write_5m"]
        assert classes.get("fresh", 0) + classes.get("uncached", 0) == usage["fresh"]


def usage_total(usage: dict[str, int]) -> int:
    return sum(tokens for name, tokens in usage.items() if name != "output")


def test_what_is_drawn_of_a_ribbon_keeps_every_token_and_has_a_bound() -> None:
    row = {
        "request_id": "r", "prompt_tokens": 30_000, "ends": list(range(10, 30_010, 10)),
        "kinds": ["cache_read"] * 2_000 + ["fresh"] * 1_000,
        "reasons": [None] * 2_000 + ["new_content"] * 1_000,
        "blocks": list(range(3_000)), "block_names": ["user"] * 3_000,
        "block_labels": [None] * 3_000,
    }  # fmt: skip

    drawn = ribbon_numbers.segments([row], (0, 1))

    # thinner than 30,000 / 150 = 200 tokens is joined to its neighbour
    assert len(drawn) <= 2 * 150
    assert [drawn[0]["start"], drawn[-1]["end"]] == [0, 30_000]
    assert all(a["end"] == b["start"] for a, b in pairwise(drawn))
    assert sum(s["end"] - s["start"] for s in drawn if s["class"] == "read") == 20_000


def test_the_sessions_that_lost_most_come_first_and_are_found_by_their_id(
    answers: Answers, log: Path
) -> None:
    rows = misses_numbers.sessions(asked(answers, log, WHY))

    assert [row["session"] for row in rows] == ["clocked", "calm"]
    assert [row["session"] for row in misses_numbers.searched(rows, " CAL")] == ["calm"]


def test_the_page_opens_with_the_dearest_session_and_its_dearest_request(
    open_app: OpenApp, log: Path
) -> None:
    app = open_app(log, page="misses", scenario=OPUS)

    assert not app.exception
    assert not app.error
    said = words_on(app)

    assert "was lost to avoidable misses" in said
    assert "**clocked\\: 3 requests, \\$0.0576 lost of " in said
    assert "**clocked-1: volatile value**" in said


def test_the_url_names_the_session_to_drill_into(open_app: OpenApp, log: Path) -> None:
    app = open_app(log, page="misses", scenario=OPUS, address={"session": "calm"})

    assert "**calm\\: 2 requests" in words_on(app)


def test_a_session_that_is_not_there_is_answered_with_how_many_there_are(
    open_app: OpenApp, log: Path
) -> None:
    app = open_app(log, page="misses", scenario=OPUS)
    app.text_input(key="search sessions").set_value("nobody")

    assert "None of 2 sessions has that in its id" in words_on(app.run())


def test_no_text_is_shown_or_kept_until_it_is_asked_for_and_then_escaped(
    open_app: OpenApp, answers: Answers, log: Path
) -> None:
    app = open_app(log, page="misses", scenario=OPUS)
    before = words_on(app)
    app.toggle(key="show text").set_value(True).run()
    answers.workshop.settle()
    after = words_on(app.run())

    assert "12:00:" not in before
    assert "script" not in before
    assert "&lt;script&gt;alert(&#x27;It is&#x27;)&lt;/script&gt;" in after
    assert SECRET not in after
    assert "12:00:" in after
    assert not any(
        b"alert" in file.read_bytes() for file in answers.folder.path.rglob("*") if file.is_file()
    )
    assert "alert" not in str(dict(app.query_params))


def test_the_passages_show_both_clocks(answers: Answers, log: Path) -> None:
    found = asked(answers, log, TEXTS)["requests"]["clocked-1"]

    assert found["cause"] == "clock"
    (passage,) = found["passages"]
    assert (passage["before"], passage["after"]) == ("12:00:00", "12:00:14")
    assert passage["lead"] == f"clocked {SECRET} "


def test_a_log_of_counts_says_what_it_would_need(open_app: OpenApp, tmp_path: Path) -> None:
    log = tmp_path / "azure.csv"
    log.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2026-01-01 00:00:00.0,100,10\n")

    app = open_app(log, page="misses", scenario=OPUS)

    assert not app.exception
    assert not app.error
    assert "counts only" in words_on(app)


def test_requests_of_sub_agents_are_marked_in_the_ribbon() -> None:
    row = {
        "request_id": "r", "arrival_us": 0, "prompt_tokens": 10, "reason": None, "finding": None,
    }  # fmt: skip
    rows = [row | {"agent_id": agent} for agent in (None, "explorer", "a" * 20)]
    notes = ribbon_numbers.notes(rows, (0, 3), "USD")
    assert [note["label"] for note in notes] == ["", "↳ explorer", "↳ " + "a" * 14 + "…"]
    assert [note["agent"] for note in notes][:2] == ["main conversation", "agent explorer"]
    assert ribbon_numbers.notes(rows[1:2], (0, 1), "USD")[0]["label"] == ""
