"""`cachecast bill`: which price a request pays, by day, hour, tier, size and currency."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rule_sketches import Line, line

Bill = Callable[..., dict[str, Any]]
Sketch = Callable[..., Path]

OPUS = "claude-opus-5"


def plain(at: str, tokens: int = 100_000, **keys: Any) -> Line:
    """A request that asks for no caching under any provider's rules."""
    return line(at, ("user", f"Q{at}", tokens), cache="explicit", **keys)


def test_absolute_times_are_priced_by_each_arrival(bill: Bill, sketch: Sketch) -> None:
    # gpt-5.6-luna fell from 1 to 0.2 USD a million on 2026-07-30
    log = sketch(plain("2026-07-29T23:59:59.999999Z"), plain("2026-07-30T00:00:00Z"))
    assert bill(log, "--as", "gpt-5.6-luna")["charge"]["total"] == "0.12"
    assert bill(log, "--as", "gpt-5.6-luna,on=2026-07-29")["charge"]["total"] == "0.2"
    assert bill(log, "--as", "gpt-5.6-luna,on=2026-07-30")["charge"]["total"] == "0.04"


PEAK = [  # 2026-11-16 is a Monday; Beijing 9-12 and 14-18
    ("2026-11-16T00:59:59.999999Z", False), ("2026-11-16T01:00:00Z", True),
    ("2026-11-16T03:59:59.999999Z", True), ("2026-11-16T04:00:00Z", False),
    ("2026-11-16T06:00:00Z", True), ("2026-11-16T10:00:00Z", False),
    ("2026-11-16T17:30:00+08:00", True), ("2026-11-20T09:59:59Z", True),
    ("2026-11-21T02:00:00Z", False), ("2026-11-22T02:00:00Z", False),
]  # fmt: skip


@pytest.mark.parametrize(("at", "peak"), PEAK)
def test_deepseek_s_peak_hours_are_judged_by_the_arrival(
    at: str, peak: bool, bill: Bill, sketch: Sketch
) -> None:
    found = bill(sketch(plain(at)), "--as", "deepseek-flash")
    assert found["charge"]["total"] == ("0.03" if peak else "0.015")
    assert found["charge"]["interval"] is None


def test_without_absolute_times_the_newest_day_and_off_peak_hours_are_assumed(
    bill: Bill, sketch: Sketch
) -> None:
    found = bill(sketch(line(0, ("user", "Q", 100_000))), "--as", "deepseek-flash")
    assert found["charge"]["total"] == "0.015"
    said = " ".join(found["assumptions"])
    assert "off-peak" in said
    assert "newest" in said


def test_a_bare_day_of_a_model_with_peak_hours_is_an_interval(bill: Bill, sketch: Sketch) -> None:
    log = sketch(line(0, ("user", "Q", 100_000)))
    on_day = bill(log, "--as", "deepseek-flash,on=2026-11-16")["charge"]
    assert (on_day["total"], on_day["interval"]) == ("0.015", {"low": "0.015", "high": "0.03"})
    at_noon = bill(log, "--as", "deepseek-flash,on=2026-11-16T02:00:00Z")["charge"]
    assert (at_noon["total"], at_noon["interval"]) == ("0.03", None)


TIERS = [
    ({}, "", "0.5"), ({"batch": True}, "", "0.25"), ({}, ",tier=batch", "0.25"),
    ({}, ",tier=fast", "1"), ({"batch": True}, ",tier=standard", "0.5"),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "scenario", "usd"), TIERS)
def test_the_tier_is_the_request_s_own_unless_the_scenario_sets_it(
    keys: dict[str, Any], scenario: str, usd: str, bill: Bill, sketch: Sketch
) -> None:
    log = sketch(line(0, ("user", "Q", 100_000), model=OPUS, **keys))
    assert bill(log, "--as", OPUS + scenario)["charge"]["total"] == usd


@pytest.mark.parametrize(("tokens", "usd"), [(100_000, "0.01"), (100_001, "0.0500005")])
def test_the_whole_request_moves_to_the_long_context_price(
    tokens: int, usd: str, bill: Bill, sketch: Sketch
) -> None:
    # Haiku 5.5: 0.10 USD a million, five times that for everything above 100,000 tokens
    found = bill(sketch(line(0, ("user", "Q", tokens))), "--as", "claude-haiku-5.5")
    assert (found["charge"]["total"], found["without_cache"]) == (usd, usd)
    assert found["net_saving"] == "0"


def test_another_currency_of_the_price_list(bill: Bill, sketch: Sketch) -> None:
    found = bill(sketch(line(0, ("user", "Q", 100_000))), "--as", "deepseek-flash,currency=CNY")
    assert (found["charge"]["currency"], found["charge"]["total"]) == ("CNY", "0.1")


def test_a_write_price_that_no_source_states_is_no_price(bill: Bill, sketch: Sketch) -> None:
    # gpt-6.1-terra has no cache-write row for batch
    found = bill(sketch(line(0, ("user", "Q", 5000))), "--as", "gpt-6.1-terra,tier=batch")
    assert (found["charge"], found["usage"]["cache_write_30m"]) == (None, 5000)
    assert any("no price" in sentence for sentence in found["assumptions"])
