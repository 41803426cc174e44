"""Hostile logs, addresses and folders: a sentence at most, never a fault of ours, never markup."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from made_transcripts import answer, text, tokens, user
from streamlit.testing.v1 import AppTest

from cachecast.dashboard.answers import Answers
from cachecast.dashboard.opened import example_path

OpenApp = Callable[..., AppTest]
Settle = Callable[[AppTest], AppTest]
EVIL = "<img src=x onerror=hacked=1>**b** $x$ :red[y] [l](javascript:alert(1))"


def well(app: AppTest) -> AppTest:
    """The app, which failed nowhere."""
    assert not app.exception
    assert not [said.value for said in app.error if "fault of ours" in said.value]
    return app


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    row = {
        "at": 0, "model": EVIL, "session": EVIL, "id": EVIL, "output": 10,
        "prompt": [["user", "Q", 3000, "5m"]],
    }  # fmt: skip
    log = tmp_path / "hostile.jsonl"
    log.write_text(json.dumps(row) + "\n" + json.dumps(row | {"at": 9, "id": "2"}) + "\n", "utf-8")
    return log


@pytest.mark.parametrize("page", ["overview", "misses"])
def test_names_in_a_log_are_text_on_every_page(open_app: OpenApp, hostile: Path, page: str) -> None:
    app = well(open_app(hostile, page=page, scenario="claude-opus-5"))
    shown = [text.value for text in (*app.markdown, *app.caption)]
    assert not [text for text in shown if "<img" in text.replace("\\<", "")]


def test_a_log_of_counts_has_a_plain_word_where_the_findings_stand(
    open_app: OpenApp, tmp_path: Path
) -> None:
    log = tmp_path / "azure.csv"
    log.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.979960,374,44\n", "utf-8"
    )
    app = well(open_app(log, scenario="claude-opus-5"))
    assert not app.error
    assert any("counts tokens" in text.value for text in app.caption)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log", "/etc/passwd"), ("session", EVIL), ("keep", "~~~"), ("as", EVIL),
        ("change", "fleet=/etc/passwd"), ("change", EVIL), ("fleet", "/etc/passwd"),
    ],
)  # fmt: skip
def test_a_broken_address_ends_in_a_sentence_or_nothing(
    open_app: OpenApp, name: str, value: str
) -> None:
    page = "misses" if name == "session" else "what-if"
    app = well(open_app(example_path(), page=page, address={name: value}))
    assert "root:" not in " ".join(text.value for text in app.markdown)


def test_a_folder_that_is_deleted_meanwhile_is_made_anew(
    open_app: OpenApp, settle: Settle, answers: Answers
) -> None:
    app = well(open_app(example_path(), scenario="claude-opus-5"))
    shutil.rmtree(answers.folder.path)
    app.selectbox[0].set_value("gpt-6-sol")
    well(settle(app))
    assert app.metric[0].value.startswith("$")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_a_sentence(open_app: OpenApp, answers: Answers) -> None:
    answers.folder.path.mkdir(parents=True)
    answers.folder.path.chmod(0o500)
    try:
        app = well(open_app(example_path()))
        assert "cannot be made" in app.error[0].value
    finally:
        answers.folder.path.chmod(0o700)


def test_a_folder_that_is_a_file_is_a_sentence(open_app: OpenApp, answers: Answers) -> None:
    answers.folder.path.write_text("", "utf-8")
    app = well(open_app(example_path()))
    assert "cannot be made" in app.error[0].value


def sketch(path: Path, *rows: dict[str, object]) -> Path:
    """A log of one prompt of 3,000 tokens in each row, with what the rows say otherwise."""
    row = {
        "at": 0, "model": "claude-opus-5", "session": "s", "output": 10, "took": 1,
        "prompt": [["user", "Q", 3000, "5m"]],
    }  # fmt: skip
    path.write_text("".join(json.dumps(row | other) + "\n" for other in rows), "utf-8")
    return path


@pytest.mark.parametrize("page", ["overview", "what-if", "misses", "own-servers"])
@pytest.mark.parametrize(
    "row",
    [
        {}, {"output": 0}, {"prompt": [["user", "Q", 10]]}, {"model": "nobody-9"},
        {"session": None},
    ],
    ids=["one request", "no output", "nothing to cache", "an unknown model", "no session"],
)  # fmt: skip
def test_a_log_with_next_to_nothing_in_it_is_shown(
    open_app: OpenApp, tmp_path: Path, row: dict[str, object], page: str
) -> None:
    log = sketch(tmp_path / "log.jsonl", row)
    scenario = "log" if "model" in row else "claude-opus-5"
    app = well(open_app(log, page=page, scenario=scenario))
    assert not app.error
    assert app.header[0].value


def test_an_answer_of_one_token_has_no_time_between_tokens(
    open_app: OpenApp, tmp_path: Path
) -> None:
    log = sketch(tmp_path / "log.jsonl", {"output": 1})
    app = well(open_app(log, page="own-servers"))
    assert "no answer has a second token" in [text.value for text in app.caption]


def test_money_in_another_currency_keeps_its_sign(open_app: OpenApp, tmp_path: Path) -> None:
    """3,000 tokens missed at 1 CNY and 10 written at 4 CNY a million, then 3,000 less a unit."""
    log = sketch(tmp_path / "log.jsonl", {}, {"at": 10})
    app = well(open_app(log, scenario="deepseek-flash,currency=CNY"))
    assert app.metric[0].value.startswith("¥0.00")


def test_a_log_that_grows_or_goes_under_an_open_page_is_seen(
    open_app: OpenApp, settle: Settle, tmp_path: Path
) -> None:
    """A write at $6.25 a million and 10 tokens out; then a read of the same; then none."""
    log = sketch(tmp_path / "log.jsonl", {})
    app = well(open_app(log, scenario="claude-opus-5"))
    assert app.metric[0].value == "$0.0190"

    sketch(log, {}, {"at": 9})
    assert well(settle(app)).metric[0].value == "$0.0208"

    log.unlink()
    (said,) = well(settle(app)).error
    assert "log.jsonl" in said.value
    assert "Open the path" in [button.label for button in app.button]


def test_a_folder_is_read_anew_when_it_is_opened_again(
    open_app: OpenApp, settle: Settle, tmp_path: Path
) -> None:
    """A file that changes deep in a folder leaves the folder itself as it is."""
    inner = tmp_path / "logs" / "deep"
    inner.mkdir(parents=True)
    lines = [
        user(0, "u1", None, "Q"), answer(1, "a1", "u1", tokens(3, 0, 5000, 10), text("A")),
        user(9, "u2", "a1", "Q"),
        answer(10, "a2", "u2", tokens(3, 5000, 0, 10), text("A"), id="msg_2"),
    ]  # fmt: skip
    log = inner / "session.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines[:2]), "utf-8")
    app = open_app(tmp_path / "logs", scenario="claude-opus-5")
    before = app.caption[0].value
    assert before.startswith("1 request ")
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert settle(app).caption[0].value == before

    next(b for b in app.text_input if b.label.startswith("Path of")).set_value(f"{tmp_path}/logs")
    next(button for button in app.button if button.label == "Open the path").click()
    assert any(said.value.startswith("2 requests ") for said in settle(app).caption)


@pytest.mark.parametrize("path", ["x" * 5000, "/dev/null", "relative.jsonl"])
def test_a_path_that_leads_nowhere_is_a_sentence(
    open_app: OpenApp, settle: Settle, path: str
) -> None:
    app = open_app()
    app.text_input[0].set_value(path)
    app.button[1].click()
    (said,) = well(settle(app)).error
    assert len(said.value) < 1_000
    assert "Open the path" in [button.label for button in app.button]


@pytest.mark.parametrize(
    ("path", "said"), [("~nobody-at-all/x", "no such home folder"), ("a\0b", "NUL character")]
)
@pytest.mark.parametrize("page", ["overview", "proof"])
def test_a_path_that_cannot_be_is_a_sentence(
    open_app: OpenApp, page: str, path: str, said: str
) -> None:
    app = open_app(example_path() if page == "proof" else None, page=page)
    box = next(box for box in app.text_input if box.label.lower().startswith(("path", "folder")))
    if page == "proof":
        box = next(box for box in app.text_input if box.label == "Folder with runs")
    box.set_value(path)
    if page == "overview":
        app.button[1].click()
    assert said in well(app.run()).error[0].value


def test_a_session_of_thousands_of_requests_is_drawn_in_parts(
    open_app: OpenApp, tmp_path: Path
) -> None:
    rows = [
        {"at": 30 * n, "prompt": [["system", f"S{n % 7}", 4000], ["user", f"Q{n}", 50, "5m"]]}
        for n in range(3_000)
    ]
    log = sketch(tmp_path / "log.jsonl", *rows)
    app = well(open_app(log, page="misses", scenario="claude-opus-5"))
    (parts,) = [box for box in app.selectbox if box.label == "Requests"]
    assert len(parts.options) == 75  # 3,000 / 40
    (missed,) = [box for box in app.selectbox if box.label == "A request that missed"]
    assert 0 < len(missed.options) <= 40
