"""What `why` says of logs with usage of their own, and of money (bug-cases.md, group 3), by ids."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rule_sketches import Item, line
from why_sketches import asked

from cachecast_datasets.encode import batch_of
from cachecast_datasets.importing import import_log
from cachecast_datasets.parquet_writer import log_writer
from cachecast_datasets.request import Observed
from cachecast_datasets.trace import open_trace
from cachecast_pricing.usage import CLASSES, PROMPT_CLASSES

RunCli = Callable[..., tuple[int, str, str]]
OPUS = "claude-opus-5"


def marked(section: str, name: str, tokens: int) -> Item:
    return (section, name, tokens, "5m")


def observed_log(folder: Path, lines: list[Any], usages: list[dict[str, int]]) -> Path:
    """Sketch lines with the usage that the provider reported."""
    source, made, out = folder / "log.jsonl", folder / "made.parquet", folder / "log.parquet"
    source.write_text("".join(json.dumps(entry) + "\n" for entry in lines))
    import_log([source], made)
    trace = open_trace(made)
    requests = list(trace)
    for request, told in zip(requests, usages, strict=True):
        classes = dict.fromkeys(PROMPT_CLASSES, 0) | {"output": 0} | told
        request.observed = Observed._make([*(classes[name] for name in CLASSES), *[None] * 7])
    with log_writer(out, trace.meta) as writer:
        writer.write(batch_of(requests))
    return out


def per_request(run_cli: RunCli, log: Path, scenario: str) -> dict[str, Any]:
    code, out, err = run_cli("why", log, "--as", scenario, "--per-request", "--json")
    assert code == 0, err
    return {row["request_id"]: row for row in map(json.loads, out.splitlines())}


def test_br_69_a_collapse_to_the_system_boundary_is_unknown_behind_it_and_not_a_ttl(
    run_cli: RunCli, tmp_path: Path
) -> None:
    system, q = marked("system", "S", 29_542), marked("user", "Q", 600_000)
    lines = [line(0, system, q, model=OPUS), line(30, system, q, model=OPUS)]
    log = observed_log(
        tmp_path,
        lines,
        [{"cache_write_5m": 629_542}, {"cache_read": 29_542, "cache_write_5m": 600_000}],
    )
    row = per_request(run_cli, log, OPUS)["2"]
    assert (row["cause"], row["reason"]) == (None, None)  # the rules would have read it all
    observed = row["observed"]
    assert (observed["stops_at"], observed["predicted"]) == ("system", 629_542)
    # predicted minus observed: 600,000 tokens more were read, at $5.75 a million less
    assert observed["explained"] == [{"cause": "unknown", "tokens": 600_000, "cost": "-3.45"}]
    assert observed["candidates"] == ["provider_miss", "unknown"]


def test_br_73_a_silent_change_of_the_lifetime_is_told_by_the_day(
    run_cli: RunCli, tmp_path: Path
) -> None:
    days = (1, 2, 6, 7)
    lines = [
        line(f"2026-03-0{day}T10:00:00Z", marked("system", f"S{day}", 5000), model=OPUS)
        for day in days
    ]
    usages = [{"cache_write_1h": 5000}, {"cache_write_1h": 5000}, *[{"cache_write_5m": 5000}] * 2]
    log = observed_log(tmp_path, lines, usages)
    code, out, _ = run_cli("why", log, "--as", f"{OPUS},on=2026-11-01", "--json")
    assert code == 0
    changes = json.loads(out)["ttl_tier_changes"]
    assert changes == [{"day": "2026-03-06", "before": "1h", "after": "5m"}]


def test_br_74_an_hour_is_a_loss_where_the_next_request_comes_within_a_minute() -> None:
    lines = [line(60 * n, marked("system", "S", 20_000), marked("user", f"Q{n}", 900))
             for n in range(6)]  # fmt: skip
    short, long = asked(OPUS, lines), asked(f"{OPUS},ttl=1h", lines)
    # the writes are the same 20,000 + 6 × 900 tokens, at $6.25 and at $10 a million
    assert long.rollup.totals.money.total - short.rollup.totals.money.total == (
        25_400 * 3_750_000  # picounits a token: $3.75 a million
    )
    assert "ttl_expired" not in short.rollup.causes


def test_br_75_few_expired_requests_are_a_large_part_of_the_money(
    run_cli: RunCli, tmp_path: Path
) -> None:
    """By requests 1 in 21 misses, by money it is most of what was lost."""
    big, small = marked("system", "S", 100_000), marked("system", "T", 1_000)
    lines = [line(0, big, model=OPUS), line(400, big, model=OPUS)]
    lines += [line(401 + n, small, marked("user", f"Q{n}", 600), model=OPUS, session="t")
              for n in range(19)]  # fmt: skip
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(entry) + "\n" for entry in lines))
    code, out, _ = run_cli("why", log, "--as", OPUS, "--json")
    assert code == 0
    document = json.loads(out)
    sessions = {group["session"]: group for group in document["by"]["session"]}
    # 100,000 tokens at $6.25 - $0.50 a million: once for the cold start, once for the expiry
    assert sessions["s"]["cost"] == "1.15"
    assert [m["reason"] for m in document["misses"]][:2] == ["cold_start", "ttl_expired"]
    expired = document["misses"][1]
    assert (expired["requests"], expired["tokens"], expired["cost"]) == (1, 100_000, "0.575")
    total = float(document["charge"]["total"])
    assert float(expired["cost"]) / total > 0.4
    assert expired["requests"] / document["requests"] == 1 / 21


def test_br_87_nothing_read_nor_written_below_4096_tokens_can_be_the_minimum(
    run_cli: RunCli, tmp_path: Path
) -> None:
    """Bedrock did not cache 2,038 tokens although the documents say 1,024."""
    prompt = [marked("system", "S", 2038)]
    model = "claude-sonnet-4.6"
    lines = [line(0, *prompt, model=model), line(60, *prompt, model=model)]
    log = observed_log(tmp_path, lines, [{"fresh": 2038}, {"fresh": 2038}])
    observed = per_request(run_cli, log, model)["2"]["observed"]
    assert (observed["stops_at"], observed["predicted"]) == ("start", 2038)
    assert "below_minimum" in observed["candidates"]
