"""Proof in a real browser, with real runs of a small engine."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from dashboard_server import pick_option, settle
from playwright.sync_api import Page, expect
from small_replay import make_small_runs, write_small_replay

from cachecast.dashboard.wording import tokens

pytest.importorskip("torch", reason="the engine needs torch: pip install 'cachecast[engine]'")

Visit = Callable[..., Page]


def test_a_prediction_beside_two_replays(visit: Visit, tmp_path: Path) -> None:
    def cachecast(*words: str) -> str:
        command = [sys.executable, "-m", "cachecast", *words]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode in (0, 1, 3), ran.stderr
        return ran.stdout

    write_small_replay(tmp_path)
    make_small_runs(cachecast)
    page = visit("proof")
    folder = page.get_by_label("Folder with runs")
    folder.fill(str(tmp_path))
    folder.press("Enter")
    settle(page)
    expect(page.get_by_text("Pass, lock-step")).to_be_visible()
    expect(page.get_by_test_id("stMetricValue").first).to_have_text("0 of 8")

    pick_option(page, "Measured again", "measured2")
    pick_option(page, "Predicted", "other")

    found = json.loads(cachecast("compare", "other", "measured", "--again", "measured2", "--json"))
    hits = found["hit_tokens"]
    wrong = hits["mismatched_requests"]
    assert wrong > 0
    expect(page.get_by_test_id("stMetricValue").first).to_have_text(f"{tokens(wrong)} of 8")
    expect(page.get_by_role("cell", name=", ".join(hits["mismatched_ids"]))).to_be_visible()
    charts = page.get_by_test_id("stVegaLiteChart")
    expect(charts).to_have_count(3)  # TTFT, ITL, E2E
    expect(charts.first.locator("canvas, svg").first).to_be_visible()
    assert str(tmp_path) not in page.url
