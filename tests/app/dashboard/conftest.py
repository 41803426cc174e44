"""The dashboard in Streamlit's own test harness: no browser, no server."""

import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from cachecast.dashboard.answers import Answers, answers_in
from cachecast.dashboard.arguments import Arguments

SCRIPT = str(files("cachecast.dashboard") / "script" / "cachecast_dashboard.py")
OpenApp = Callable[..., AppTest]


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    """The answers of this test's own folder, those that the app gives too."""
    return answers_in(tmp_path / "dashboard")


@pytest.fixture
def open_app(answers: Answers, monkeypatch: pytest.MonkeyPatch, root: Path) -> OpenApp:
    """`open_app(LOG, page="sql", scenario="claude-opus-5")`: the page, once all work has ended."""

    def run(
        source: Path | None = None, *, page: str = "overview", scenario: str = "log"
    ) -> AppTest:
        words = Arguments(source, scenario, answers.folder.path).as_list()
        monkeypatch.setattr(sys, "argv", ["dashboard", *words])
        app = AppTest.from_file(SCRIPT, default_timeout=60)
        app.run()
        # `switch_page` knows files only; ours are functions, found by their address
        addresses = {p["url_pathname"]: key for key, p in app._registered_pages.items()}
        app._page_hash = addresses["" if page == "overview" else page]
        return settled(app, answers)

    return run


@pytest.fixture
def settle(answers: Answers) -> Callable[[AppTest], AppTest]:
    """`settle(app)` after a click: the page, once what it asked has been answered."""
    return lambda app: settled(app, answers)


def settled(app: AppTest, answers: Answers) -> AppTest:
    """The app after everything that it asked has been answered."""
    for _ in range(5):
        app.run()
        answers.workshop.settle()
    return app.run()
