"""Hostile logs, addresses and folders: a sentence at most, never a fault of ours, never markup."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
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
