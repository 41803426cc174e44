"""`cachecast curve --chart`: a document or a picture of both curves."""

import json
import sys
from pathlib import Path

import pytest
from conftest import RunCli
from curve_logs import three_requests


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return three_requests(tmp_path)


def test_a_chart_is_a_vega_lite_document_of_both_curves(
    run_cli: RunCli, log: Path, tmp_path: Path
) -> None:
    """Logarithmic axes with their units; every point of the JSON, for tokens and blocks."""
    chart = tmp_path / "chart.json"
    assert run_cli("curve", log, "--chart", chart, "--gib", "--kv-bytes-per-token", 10)[0] == 0

    capacity, lifetime = json.loads(chart.read_text())["hconcat"]
    axes = [panel["layer"][0]["encoding"]["x"] for panel in (capacity, lifetime)]
    assert [axis["title"] for axis in axes] == [
        "cache capacity (GiB, 10 bytes a token)", "lifetime since the last use",
    ]  # fmt: skip
    assert "' min'" in axes[1]["axis"]["labelExpr"]
    assert [axis["scale"]["type"] for axis in axes] == ["log", "log"]
    assert {point["of"] for point in capacity["data"]["values"]} == {"tokens", "blocks"}
    assert len(capacity["data"]["values"]) == 2 * 4


def test_a_chart_of_a_sample_shows_its_intervals(run_cli: RunCli, tmp_path: Path) -> None:
    rows = [
        {"timestamp": at, "input_length": 512 * 900, "hash_ids": list(range(900))}
        for at in range(2)
    ]
    log, chart = tmp_path / "log.jsonl", tmp_path / "chart.json"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run_cli("curve", log, "--sample", "0.5", "--chart", chart)[0] == 0

    panel = json.loads(chart.read_text())["hconcat"][0]
    assert panel["layer"][0]["mark"]["type"] == "area"
    assert all(p["low"] <= p["hit_ratio"] <= p["high"] for p in panel["data"]["values"])


@pytest.mark.parametrize(
    ("ending", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("html", b"<!DOCTYPE html>")]
)
def test_a_picture_is_drawn_where_its_library_is_installed(
    run_cli: RunCli, log: Path, tmp_path: Path, ending: str, start: bytes
) -> None:
    pytest.importorskip("vl_convert", reason="pictures need the extra `dashboard`")
    chart = tmp_path / f"chart.{ending}"

    assert run_cli("curve", log, "--chart", chart)[0] == 0
    assert chart.read_bytes().lstrip().startswith(start)
    assert b"http" not in chart.read_bytes().split(b"<script")[0].replace(b"http://www.w3.org", b"")


def test_a_picture_without_its_library_says_what_to_install(
    run_cli: RunCli, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any work, and nothing is written."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    code, out, err = run_cli("curve", log, "--chart", tmp_path / "chart.svg")

    assert (code, out) == (2, "")
    assert "pip install 'cachecast[dashboard]'" in err
    assert not (tmp_path / "chart.svg").exists()


def test_an_existing_chart_is_kept_unless_forced(
    run_cli: RunCli, log: Path, tmp_path: Path
) -> None:
    chart = tmp_path / "chart.json"
    chart.write_text("mine")

    code, _, err = run_cli("curve", log, "--chart", chart)
    assert (code, chart.read_text()) == (2, "mine")
    assert "--force" in err
    assert run_cli("curve", log, "--chart", chart, "--force")[0] == 0
    assert json.loads(chart.read_text())["hconcat"]
