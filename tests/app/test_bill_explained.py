"""`cachecast bill` says why its prediction and the log's own usage differ."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cachecast_datasets.encode import batch_of
from cachecast_datasets.importing import import_log
from cachecast_datasets.parquet_writer import log_writer
from cachecast_datasets.request import Observed
from cachecast_datasets.trace import open_trace
from cachecast_pricing.usage import CLASSES, PROMPT_CLASSES

RunCli = Callable[..., tuple[int, str, str]]

OPUS = "claude-opus-5"
S = ["system", "S", 6000, "5m"]
# three calls of a session: at once, within five minutes, and after seven
AT = (0, 60, 480)
LINES = [
    {"at": at, "ttft": 0, "session": "s", "model": OPUS, "output": 10,
     "prompt": [S, ["user", f"Q{at}", 300]]}
    for at in AT
]  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> Callable[..., Path]:
    """The session as a Parquet with this observed usage."""

    def write(*observed: dict[str, int], markers: bool = True, **changed: Any) -> Path:
        source, made = tmp_path / "log.jsonl", tmp_path / "log.parquet"
        source.write_text("".join(json.dumps(line) + "\n" for line in LINES))
        import_log([source], made, force=True)
        trace = open_trace(made)
        requests = list(trace)
        for request, classes in zip(requests, observed, strict=True):
            told = dict.fromkeys(PROMPT_CLASSES, 0) | {"output": 10} | classes
            request.observed = Observed._make([*(told[name] for name in CLASSES), *[None] * 7])
            for name, value in changed.items():
                setattr(request, name, value)
        meta = dataclasses.replace(trace.meta, carries_markers=markers)
        out = tmp_path / "observed.parquet"
        with log_writer(out, meta) as writer:
            writer.write(batch_of(requests))
        return out

    return write


Log = Callable[..., Path]


def explained(run_cli: RunCli, path: Path, scenario: str) -> dict[str, Any]:
    code, out, err = run_cli("bill", path, "--as", scenario, "--json")
    assert code == 0, err
    observed = json.loads(out)["scenarios"][0]["observed"]
    assert isinstance(observed, dict)
    gaps = observed["explained"]
    assert sum(g["tokens"] for g in gaps) == observed["predicted_minus_observed"]["cache_read"]
    return {g["cause"]: (g["requests"], g["tokens"], g["cost"]) for g in gaps}


WROTE = {"fresh": 300, "cache_write_5m": 6000}
READ = {"fresh": 300, "cache_read": 6000}


def test_a_prediction_that_comes_true_needs_no_explanation(run_cli: RunCli, log: Log) -> None:
    path = log(WROTE, READ, WROTE)
    assert explained(run_cli, path, OPUS) == {}
    assert "why, as predicted" not in run_cli("bill", path, "--as", OPUS)[1]


def test_misses_of_the_provider_and_longer_lives_stand_beside_each_other(
    run_cli: RunCli, log: Log
) -> None:
    """6,000 tokens written at 6.25 instead of read at 0.5, and the reverse: money 5.75 a token."""
    path = log(WROTE, WROTE, READ)
    assert explained(run_cli, path, OPUS) == {
        "provider_miss": (1, 6000, "-0.0345"),
        "longer_life": (1, -6000, "0.0345"),
    }
    table = run_cli("bill", path, "--as", OPUS)[1]
    assert "claude-opus-5: why, as predicted − observed" in table
    assert "provider miss" in table
    assert "-6,000" in table


def test_a_lifetime_that_the_log_did_not_use_is_named(run_cli: RunCli, log: Log) -> None:
    """Predicted for an hour, but the third request found the five-minute entry gone."""
    path = log(WROTE, READ, WROTE)
    found = explained(run_cli, path, f"{OPUS},ttl=1h")
    # the first: 6,000 tokens written at 10 instead of 6.25; the third wrote what we read
    assert found == {
        "ttl_tier": (1, 0, "0.0225"),
        "provider_miss": (1, 6000, "-0.0345"),
    }


def test_the_first_request_may_read_what_came_before_the_log(run_cli: RunCli, log: Log) -> None:
    found = explained(run_cli, log(READ, READ, WROTE), OPUS)
    assert found == {"earlier_traffic": (1, -6000, "0.0345")}


def test_tools_and_system_text_that_the_log_does_not_hold(run_cli: RunCli, log: Log) -> None:
    """9,000 more tokens of prompt than the log shows, read as well."""
    more = READ | {"cache_read": 15000}
    found = explained(run_cli, log(WROTE, more, WROTE), OPUS)
    assert found == {"unseen_prompt": (1, -9000, "-0.0045")}


def test_a_part_of_the_prefix_is_a_question_of_unknown_markers(run_cli: RunCli, log: Log) -> None:
    part = {"fresh": 300, "cache_read": 2000, "cache_write_5m": 4000}
    whole, end = {"cache_write_5m": 6300}, {"cache_write_5m": 300}
    path = log(whole, part, whole, markers=False)
    # mark=auto stands in: the end is marked too
    assert explained(run_cli, path, OPUS)["marking_unknown"][:2] == (1, 4000)
    assert explained(run_cli, log(WROTE, part, WROTE), OPUS)["unknown"][:2] == (1, 4000)
    assert (
        explained(run_cli, log(whole, end | {"cache_read": 6000}, whole, markers=False), OPUS) == {}
    )


def test_another_model_explains_everything(run_cli: RunCli, log: Log) -> None:
    found = explained(run_cli, log(WROTE, READ, WROTE), "gpt-6-sol")
    assert set(found) == {"model"}
    served = explained(run_cli, log(WROTE, WROTE, WROTE, model_served="claude-opus-4.8"), OPUS)
    assert set(served) == {"model"}


def test_what_where_leaves_out_is_not_explained(run_cli: RunCli, log: Log) -> None:
    path = log(WROTE, WROTE, READ)
    code, out, _ = run_cli("bill", path, "--as", OPUS, "--where", "request_id <> '2'", "--json")
    assert code == 0
    observed = json.loads(out)["scenarios"][0]["observed"]
    assert [gap["cause"] for gap in observed["explained"]] == ["longer_life"]
