"""What surrounds every page: opening a log, choosing a scenario, refusals in one sentence."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from cachecast.dashboard.opened import example_path
from cachecast.dashboard.page_list import PAGES, PageEntry

OpenApp = Callable[..., AppTest]


def test_without_a_log_the_first_page_offers_the_example_a_path_and_a_drop(
    open_app: OpenApp, settle: Callable[[AppTest], AppTest]
) -> None:
    app = open_app()

    assert not app.exception
    assert [b.label for b in app.button] == ["Open the built-in example", "Open the path"]
    assert [t.label for t in app.text_input] == ["Path of a log, a folder of transcripts, or a run"]
    app.button[0].click()
    assert "the built-in example" in settle(app).header[0].value


@pytest.mark.parametrize("entry", PAGES, ids=lambda entry: entry.module)
def test_every_page_opens_with_the_example_and_no_fault(
    open_app: OpenApp, entry: PageEntry
) -> None:
    app = open_app(example_path(), page=entry.address, scenario="claude-opus-5")

    assert not app.exception
    assert not app.error
    assert app.header[0].value


def test_a_file_that_is_no_log_is_refused_in_a_sentence(open_app: OpenApp, tmp_path: Path) -> None:
    file = tmp_path / "<b>x<b>.html"
    file.write_text("<script>alert(1)</script>")

    app = open_app(file)

    (error,) = app.error
    assert "expected one of sketch" in error.value
    assert not app.exception
