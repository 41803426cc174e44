"""When a price holds: validity, the day it was read, the hours of the week."""

from datetime import datetime, timedelta

import pytest
from priced import CATALOG, NEWEST, at, card, dated, row

from cachecast_datasets.errors import BadInput
from cachecast_pricing.money import per_mtok_string


@pytest.mark.parametrize(
    ("moment", "peak"),
    [
        ("2026-11-16T00:59:59", False),
        ("2026-11-16T01:00:00", True),
        ("2026-11-16T03:59:59", True),
        ("2026-11-16T04:00:00", False),
        ("2026-11-16T06:00:00", True),
        ("2026-11-16T09:59:59", True),
        ("2026-11-16T10:00:00", False),
        ("2026-11-20T02:00:00", True),  # a Friday
        ("2026-11-21T02:00:00", False),  # a Saturday
        ("2026-11-22T02:00:00", False),
    ],
)
def test_deepseek_peak_hours_are_half_open_and_only_on_weekdays(moment: str, peak: bool) -> None:
    assert card("deepseek-flash").is_peak(at(moment)) is peak


def test_peak_hours_are_judged_in_utc_and_double_the_price() -> None:
    flash = card("deepseek-flash")

    assert flash.has_peak
    assert flash.is_peak(datetime.fromisoformat("2026-11-16T09:30:00+08:00"))  # 01:30 UTC
    assert row(flash.prices(0, peak=True)) == ("0.3", "0.006", None, None, None, None, "1.2")
    assert not card("claude-opus-5").has_peak


@pytest.mark.parametrize(
    ("model", "last_before", "first_after", "fresh_before", "fresh_after"),
    [
        ("gpt-5.6-luna", "2026-07-29T23:59:59", "2026-07-30", "1", "0.2"),
        ("gpt-5.6-terra", "2026-07-29T23:59:59", "2026-07-30", "2.5", "2"),
        ("gpt-5.6-sol", "2026-08-20T23:59:59", "2026-08-21", "5", "4"),
        ("deepseek-v4-pro", "2026-08-16T15:59:59", "2026-08-16T16:00:00", "0.435", "0.66"),
        ("deepseek-v4-flash", "2026-08-16T15:59:59", "2026-08-16T16:00:00", "0.14", "0.22"),
        ("deepseek-v4-flash", "2026-09-09T23:59:59", "2026-09-10", "0.22", "0.15"),
        ("gemini-3.7-flash", "2026-12-31T23:59:59", "2027-01-01", "0.75", "1.5"),
    ],
)
def test_a_price_changes_at_the_first_moment_of_the_new_one(
    model: str, last_before: str, first_after: str, fresh_before: str, fresh_after: str
) -> None:
    assert per_mtok_string(card(model, last_before).prices(0).fresh) == fresh_before
    assert per_mtok_string(card(model, first_after).prices(0).fresh) == fresh_after


def test_the_surcharge_of_opus_and_sonnet_4_6_ends_with_2026_03_12() -> None:
    for model in ("claude-opus-4.6", "claude-sonnet-4.6"):
        assert card(model, "2026-03-12T23:59:59").thresholds()
        assert card(model, "2026-03-13").thresholds() == ()


def test_the_read_price_of_sonnet_5_5_halves_on_2026_10_07() -> None:
    assert per_mtok_string(card("claude-sonnet-5.5", "2026-10-06").prices(0).cache_read) == "0.2"
    assert per_mtok_string(card("claude-sonnet-5.5", "2026-10-07").prices(0).cache_read) == "0.1"


@pytest.mark.parametrize(
    ("model", "day", "stated"),
    [
        ("claude-opus-5.5", "2026-09-21", "from 2026-09-22"),
        ("claude-haiku-5.5", "2026-10-06", "from 2026-10-07"),
        ("claude-sonnet-5.5", "2026-09-27", "from 2026-09-28 until before 2026-10-07"),
        ("gpt-6-sol", "2026-09-21", "from 2026-09-22"),
        ("gpt-5.6-luna", "2026-07-08", "from 2026-07-09"),
    ],
)
def test_a_day_outside_the_stated_validity_is_an_error_that_states_it(
    model: str, day: str, stated: str
) -> None:
    with pytest.raises(BadInput, match=f"no price for .*{model} on {day}: .*{stated}"):
        dated(model, day)


def test_a_day_before_the_reading_is_answered_with_a_note() -> None:
    assert dated("claude-opus-5", "2026-08-22").notes == ()
    (note,) = dated("claude-opus-5", "2026-08-21").notes
    assert "read on 2026-08-22" in note


def test_sol_after_its_promotion_keeps_the_promotion_price_with_a_note() -> None:
    assert dated("gpt-5.6-sol", "2026-11-21").notes == ()
    later = dated("gpt-5.6-sol", "2026-11-22")
    assert per_mtok_string(later.card.prices(0).fresh) == "4"
    assert "not confirmed" in later.notes[0]


def test_the_newest_date_is_the_latest_full_day_on_which_a_price_was_read() -> None:
    assert CATALOG.newest.isoformat() == "2026-11-15"


def test_the_periods_of_one_model_do_not_overlap() -> None:
    for each in CATALOG.rows():
        twins = [
            other for other in CATALOG.rows()
            if (other.provider, other.model, other.currency)
            == (each.provider, each.model, each.currency)
        ]  # fmt: skip
        for moment in (each.valid_from, each.valid_to, NEWEST):
            assert moment is None or sum(twin.valid_on(moment) for twin in twins) <= 1
        edge = each.valid_to
        if edge is not None:
            assert any(twin.valid_on(edge) for twin in twins), f"a gap after {each.model}"
            assert each.valid_on(edge - timedelta(microseconds=1))
