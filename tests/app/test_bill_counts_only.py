"""`cachecast bill` on logs that know token counts only: repriced, never re-cached."""

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import made_transcripts as made
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cachecast_pricing.usage import CLASSES

RunCli = Callable[..., tuple[int, str, str]]
Bill = Callable[..., dict[str, Any]]

OPUS = "claude-opus-5"
NOTHING: dict[str, int | None] = dict.fromkeys(CLASSES, 0)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def counts_only(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A Parquet as another program would write it: no blocks, no boundaries, no metadata."""
    table = pa.table(
        {
            "request_id": pa.array([f"r{n}" for n in range(len(rows))]),
            "arrival": pa.array(
                [EPOCH + datetime.timedelta(seconds=n) for n in range(len(rows))],
                pa.timestamp("us", tz="UTC"),
            ),
            "model": [row.get("model", OPUS) for row in rows],
            "prompt_tokens": [row["prompt_tokens"] for row in rows],
            "observed": pa.array([row["observed"] for row in rows]),
        }
    )
    pq.write_table(table, path)
    return path


COUNTED = {
    "prompt_tokens": 6300,
    "observed": NOTHING | {"fresh": 300, "cache_read": 5000, "cache_write_1h": 1000, "output": 40},
}


@pytest.mark.parametrize("scenario", ["log", OPUS])
def test_a_counts_only_log_is_priced_as_it_was_observed(
    scenario: str, bill: Bill, tmp_path: Path
) -> None:
    found = bill(counts_only(tmp_path / "c.parquet", [COUNTED]), "--as", scenario)
    assert found["usage"] == COUNTED["observed"]
    assert found["misses"] == []
    # 300 x 5 + 5000 x 0.5 + 1000 x 10 + 40 x 25
    assert found["charge"]["total"] == "0.015"
    assert any("counts" in sentence for sentence in found["assumptions"])


def test_a_counts_only_log_can_be_repriced_as_another_model_of_its_provider(
    bill: Bill, tmp_path: Path
) -> None:
    found = bill(counts_only(tmp_path / "c.parquet", [COUNTED]), "--as", "claude-fable-5")
    assert found["charge"]["total"] == "0.03"  # twice Opus 5's prices


def test_a_counts_only_log_cannot_be_recached_by_another_provider(
    run_cli: RunCli, tmp_path: Path
) -> None:
    log = counts_only(tmp_path / "c.parquet", [COUNTED])
    code, out, err = run_cli("bill", log, "--as", "gpt-6-sol", "--json")
    assert (code, out, len(err.strip().splitlines())) == (2, "", 1)
    assert "counts" in err


def test_tokens_of_unknown_class_give_an_interval(bill: Bill, tmp_path: Path) -> None:
    row = {"prompt_tokens": 1000, "observed": dict.fromkeys(CLASSES) | {"fresh": 100, "output": 0}}
    charge = bill(counts_only(tmp_path / "c.parquet", [row]), "--as", OPUS)["charge"]
    # 100 fresh; the other 900 anything between read (0.5) and written for an hour (10)
    assert charge["interval"] == {"low": "0.00095", "high": "0.0095"}


def test_usage_of_unknown_class_at_a_model_without_a_write_price_is_an_interval(
    bill: Bill, tmp_path: Path
) -> None:
    """1,000 tokens somewhere between all read (0.5) and all fresh (5 millionths)."""
    log = tmp_path / "counts.parquet"
    at = pa.array([0], pa.timestamp("us", tz="UTC"))
    columns = {"request_id": ["a"], "arrival": at, "prompt_tokens": [1000], "output_tokens": [0]}
    pq.write_table(pa.table(columns), log)
    found = bill(log, "--as", "gpt-5.5")
    assert found["charge"]["interval"] == {"low": "0.0005", "high": "0.005"}


def used(tokens: int, output: int, kind: str) -> dict[str, Any]:
    """An iteration."""
    return {"type": kind, "input_tokens": tokens, "output_tokens": output}


def transcript(path: Path, calls: list[list[dict[str, Any]]]) -> Path:
    """A Claude Code session of calls with these iterations, without the messages before them."""
    usages = [{"input_tokens": 0, "output_tokens": 0, "iterations": steps} for steps in calls]
    lines = [
        made.answer(n, f"a{n}", None, usage, id=f"m{n}", model="claude-sonnet-4-5")
        for n, usage in enumerate(usages)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_br_29_iterations_pay_the_price_of_their_own_size_and_model(
    bill: Bill, tmp_path: Path
) -> None:
    """180,000 and 23,000 tokens are both below the 200,000 of Sonnet 4.5, their sum is not."""
    steps = [used(180_000, 3_500, "compaction"), used(23_000, 1_000, "message")]
    log = transcript(tmp_path / "s.jsonl", [steps])
    for scenario in ("log", "claude-sonnet-4.5"):
        found = bill(log, "--as", scenario)
        # 203,000 x 3 + 4,500 x 15 millionths
        assert (found["charge"]["total"], found["without_cache"]) == ("0.6765", "0.6765")
        assert found["observed"]["charge"]["total"] == "0.6765"
        assert not any("long-context" in sentence for sentence in found["assumptions"])

    # an adviser's iteration names Haiku 4.5: 1,000 x 1 + 100 x 5 millionths more
    adviser = used(1_000, 100, "advisor_message") | {"model": "claude-haiku-4-5"}
    log = transcript(tmp_path / "t.jsonl", [[*steps, adviser]])
    assert bill(log, "--as", "log")["charge"]["total"] == "0.678"
    # … unless the scenario says what model it all is: 1,000 x 3 + 100 x 15
    assert bill(log, "--as", "claude-sonnet-4.5")["charge"]["total"] == "0.681"


def test_iterations_without_counts_are_priced_as_one_request_and_that_is_said(
    bill: Bill, tmp_path: Path
) -> None:
    found = bill(transcript(tmp_path / "s.jsonl", [[{"type": "odd"}]]), "--as", "log")
    assert found["charge"]["total"] == "0"
    sentence = "iterations that do not tell all their tokens are priced as one request"
    assert sentence in found["assumptions"]
