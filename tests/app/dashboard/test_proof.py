"""The page Proof: its numbers are those of `compare`, on runs of a model of a few weights."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from small_replay import make_small_runs, write_small_replay
from streamlit.testing.v1 import AppTest

from cachecast.dashboard import proof_numbers as numbers
from cachecast.dashboard.opened import example_path

pytest.importorskip("torch", reason="the engine needs torch: pip install 'cachecast[engine]'")

OpenApp = Callable[..., AppTest]
RunCli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli: RunCli) -> Path:
    """A folder with replays, the prediction that their durations drive, and another cache's."""
    write_small_replay(tmp_path)
    monkeypatch.chdir(tmp_path)

    def cachecast(*words: str) -> None:
        code, _, err = run_cli(*words)
        assert code == 0, err

    make_small_runs(cachecast)
    return tmp_path


def test_the_page_has_the_verdict_and_the_numbers_of_compare(
    open_app: OpenApp, runs: Path, run_cli: RunCli
) -> None:
    app = open_app(runs / "measured", page="proof")
    assert not app.exception
    assert not app.error
    assert app.success[0].value.startswith("**Pass**, lock-step")
    metrics = {metric.label: metric.value for metric in app.metric}
    _, out, _ = run_cli("compare", "exact", "measured", "--json")
    found = json.loads(out)
    assert metrics["Requests whose hits differ"] == "0 of 8"
    assert metrics["Hit tokens predicted"] == str(found["hit_tokens"]["predicted"])
    assert metrics["TTFT, mean error"] == "0.0 %"
    assert metrics["Noise floor of TTFT"] == "unknown"
    assert any("torch" in text.value for text in app.markdown)


def test_another_prediction_is_chosen_and_its_mismatches_are_named(
    open_app: OpenApp, runs: Path, run_cli: RunCli
) -> None:
    app = open_app(runs / "other", page="proof")
    _, out, _ = run_cli("compare", "other", "measured", "--json")
    found = json.loads(out)
    assert found["hit_tokens"]["mismatched_requests"] > 0
    assert app.selectbox[0].value == "other"
    rows = numbers.differing(found)
    assert rows[0]["requests"] == found["hit_tokens"]["mismatched_requests"]
    tables = [element.proto.body for element in app.get("html")]
    assert f">{', '.join(found['hit_tokens']['mismatched_ids'])}</td>" in "".join(tables)


def test_without_runs_the_page_says_how_to_make_them(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = open_app(example_path(), page="proof")
    assert not app.exception
    assert any("no run of simulate and no run of replay" in text.value for text in app.markdown)
    assert "cachecast replay LOG" in app.code[0].value


def test_points_beyond_what_a_browser_draws_are_thinned_evenly() -> None:
    points = [{"n": n} for n in range(10_000)]
    assert numbers.shown(points) == points[::3]
    assert numbers.shown(points[:4_000]) == points[:4_000]
