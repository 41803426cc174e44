"""What a quote says, or refuses, about tiers, dates, currencies and costs that cannot be meant."""

from typing import Any

import pytest
from priced import price

from cachecast_datasets.errors import BadInput

PLAIN = {"input_tokens": 8, "output_tokens": 1}


@pytest.mark.parametrize(
    ("tier", "fields", "note"),
    [
        ("standard", {"service_tier": "batch"},
         "priced at tier standard as asked, but the usage says batch"),
        ("batch", {"service_tier": "standard"},
         "priced at tier batch as asked, but the usage says standard"),
        ("batch", {"speed": "fast"}, "priced at tier batch as asked, but the usage says fast"),
        (None, {"service_tier": "turbo"},
         "the usage says tier turbo, which has no price of its own: standard is used"),
        (None, {"service_tier": "tur\nbo"},
         "the usage says tier 'tur\\nbo', which has no price of its own: standard is used"),
        (None, {"speed": "warp"}, "speed is 'warp', known: standard, fast: not priced"),
    ],
)  # fmt: skip
def test_a_tier_or_speed_that_contradicts_or_is_unknown_is_a_note(
    tier: str | None, fields: dict[str, Any], note: str
) -> None:
    assert note in price("claude-opus-5", {**PLAIN, **fields}, tier=tier).notes


@pytest.mark.parametrize(
    ("tier", "fields"),
    [
        ("batch", {}),
        ("batch", {"service_tier": "batch"}),
        ("batch", {"service_tier": "auto"}),
        ("standard", {"service_tier": "standard", "speed": "standard"}),
    ],
)
def test_a_tier_that_agrees_with_the_usage_is_no_note(tier: str, fields: dict[str, Any]) -> None:
    notes = price("claude-opus-5", {**PLAIN, **fields}, tier=tier).notes

    assert not [note for note in notes if "usage says" in note or "speed" in note]


DATE = "expected YYYY-MM-DD or a time like 2026-11-16T02:30:00Z"


@pytest.mark.parametrize(
    ("fields", "how", "message"),
    [
        ({"service_tier": {}}, {}, "service_tier is an object, expected text"),
        ({"service_tier": 3}, {}, "service_tier is 3, expected text"),
        ({"speed": ["fast"]}, {}, "speed is a list, expected text"),
        ({"inference_geo": 1}, {}, "inference_geo is 1, expected text"),
        ({}, {"tier": " "},
         "the service tier is empty; accepted: standard, batch, flex, priority, fast"),
        ({}, {"currency": ""}, "no '' price for anthropic/claude-opus-5; it has: USD"),
        ({}, {"on": "2026-W01-1"}, f"date '2026-W01-1', {DATE}"),
        ({}, {"on": "2026-001"}, f"date '2026-001', {DATE}"),
        ({}, {"on": "20261116"}, f"date '20261116', {DATE}"),
        ({}, {"on": "2026-11-16T02Z"}, f"date '2026-11-16T02Z', {DATE}"),
        ({}, {"on": "٢٠٢٦-11-16"}, f"date '٢٠٢٦-11-16', {DATE}"),
        ({}, {"on": "1999-12-31"},
         "date '1999-12-31', expected a date from 2000-01-01 to 2199-12-31"),
        ({}, {"on": "2200-01-01"},
         "date '2200-01-01', expected a date from 2000-01-01 to 2199-12-31"),
        ({}, {"on": "2026-11-16T02:30"},
         "date '2026-11-16T02:30' has no time zone, add Z or an offset like +08:00"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_with_what_is_accepted(
    fields: dict[str, Any], how: dict[str, str], message: str
) -> None:
    with pytest.raises(BadInput) as caught:
        price("claude-opus-5", {**PLAIN, **fields}, **how)
    assert str(caught.value) == message


def test_an_api_that_is_empty_is_not_the_one_that_fits() -> None:
    with pytest.raises(BadInput, match=r"^unknown API ''; known: anthropic, openai-chat"):
        price("claude-opus-5", PLAIN, api="")


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ("NaN", "cost is 'NaN', expected an amount of money"),
        ("1_0", "cost is '1_0', expected an amount of money"),
        (float("inf"), "cost is inf, expected a finite amount of money"),
        ("1e300", "cost is '1e300', expected an amount from 0 to 1000000000000000"),
        (-1, "cost is -1, expected an amount from 0 to 1000000000000000"),
        ({}, "cost is an object, expected an amount of money"),
    ],
)
def test_a_reported_cost_that_is_no_amount_is_refused(cost: object, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        price("claude-opus-5", {"prompt_tokens": 1, "completion_tokens": 1, "cost": cost})
    assert str(caught.value) == message


def test_an_object_in_an_object_a_hundred_times_is_refused_in_a_sentence() -> None:
    deep: dict[str, Any] = {}
    for _ in range(800):
        deep = {"x": deep}
    with pytest.raises(BadInput) as caught:
        price("claude-opus-5", {**PLAIN, **deep})
    assert str(caught.value) == "usage is nested deeper than 100 levels"
