"""What a replay says before it runs."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from cachecast import replay_output


def test_what_reading_the_log_made_of_it_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = SimpleNamespace(warnings=["unknown column 'x' is ignored"])
    monkeypatch.setattr(replay_output, "open_or_import", lambda logs, **more: trace)
    replay_output.open_log([Path("log")], Path("tmp"), lambda what, done, total: None)
    assert capsys.readouterr().err == "note: unknown column 'x' is ignored\n"
