"""Fitted coefficients: the sum they stand for, their file, and how far it can be trusted."""

import re
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from latency_models import FITTED, Files, fitted_with

from cachecast_datasets.errors import BadInput
from cachecast_sim.latency.features import KNOTS, feature_names, features, segments
from cachecast_sim.latency.fitted import FittedModel
from cachecast_sim.latency.fitted_file import fitted_toml, read_fitted
from cachecast_sim.latency.kinds import latency_of

US = 1_000


def test_a_step_is_the_sum_of_its_counts_times_their_coefficients() -> None:
    """6 new tokens: 1 of the first segment, 2 of the second, 2 beyond 4; the first is constant.

    1000 + 500 + 2·300 + 2·100 + 1·20 + 2·30 + 14·0.01 + 200·0.4 µs.
    """
    model = FittedModel(FITTED, "f")
    assert model.step_ns(4, 1, 14, 2, 200) == 2_460_140


def test_segments_are_the_tokens_between_two_knots() -> None:
    assert segments(1, (1, 2, 4)) == [0, 0, 0]
    assert segments(2, (1, 2, 4)) == [1, 0, 0]
    assert segments(3, (1, 2, 4)) == [1, 1, 0]
    assert segments(5, (1, 2, 4)) == [1, 2, 1]
    assert segments(1000, (1, 2, 4)) == [1, 2, 996]


def test_the_features_have_names_in_their_order() -> None:
    """10 prompt tokens after 90 cached ones, beside 2 decodes of together 50 tokens."""
    row = features(10, 1, 10 * 90 + 55, 2, 50, 140)
    by_name = dict(zip(feature_names(KNOTS), row, strict=True))

    assert by_name == {
        "constant": 1, **{f"new_tokens_above_{n}": 1 for n in range(1, 8)},
        "new_tokens_above_8": 4, "new_tokens_above_12": 0, "new_tokens_above_16": 0,
        "new_tokens_above_32": 0, "new_tokens_above_64": 0, "new_tokens_above_128": 0,
        "new_tokens_above_256": 0, "new_tokens_above_512": 0, "prefill_requests": 1,
        "decode_requests": 2, "prefill_pairs": 955, "decode_context": 50, "held_tokens": 140,
    }  # fmt: skip


@given(st.integers(0, 20), st.integers(0, 3), st.integers(0, 99), st.integers(0, 9))
def test_the_model_and_the_design_matrix_agree(
    tokens: int, prefills: int, pairs: int, decodes: int
) -> None:
    """What a calibration fits is what the model adds up, on every segment and at every knot."""
    file = fitted_with(held_token=7e-7)
    found = file.coefficients_s
    context, held = 40 * decodes, 16 * (tokens + decodes)
    row = features(tokens, prefills, pairs, decodes, context, held, found.knots)
    values = [
        found.constant, *found.new_token, found.prefill_request, found.decode_request,
        found.prefill_pair, found.decode_context_token, found.held_token,
    ]  # fmt: skip
    summed = sum(count * Fraction(str(value)) for count, value in zip(row, values, strict=True))

    model = FittedModel(file, "f")
    model.watch(lambda ahead: held)
    assert model.step_ns(tokens, prefills, pairs, decodes, context) == round(summed * 10**9)


def test_held_tokens_have_their_price_in_single_steps_and_in_a_stretch() -> None:
    """2 decodes, 1560 us and 0.4 us for each of 100, 102, 104 tokens; 0.5 us for each of 80 held
    ones, of which a block of 16 comes in the third step."""
    model = FittedModel(fitted_with(held_token=5e-7), "f")
    model.watch(lambda ahead: 80 + 16 * (ahead >= 2))
    assert model.step_ns(0, 0, 0, 2, 100) == 1_640_000
    assert model.decode_ends_ns(2, 100, 3) == [1_640_000, 3_280_800, 4_930_400]


def test_a_price_for_held_tokens_needs_somebody_who_knows_them() -> None:
    model = FittedModel(fitted_with(held_token=5e-7), "f")
    with pytest.raises(RuntimeError, match="`watch` the server before its first step"):
        model.step_ns(0, 0, 0, 2, 100)


def test_a_file_from_before_held_tokens_were_measured_gives_them_no_price() -> None:
    text = fitted_toml(fitted_with(held_token=5e-7))
    assert text.count("held_token = 5e-07\n") == 1
    assert read_fitted(text.replace("held_token = 5e-07\n", ""), "f") == FITTED


def test_decode_steps_grow_with_the_context_and_are_equal_where_it_is_free() -> None:
    """2 requests: 1000 + 500 + 2·30 µs, and 0.4 µs for each of 100, 102, 104 tokens."""
    assert FittedModel(FITTED, "f").decode_ends_ns(2, 100, 3) == [
        1600 * US,
        1600 * US + 1_600_800,
        1600 * US + 1_600_800 + 1_601_600,
    ]
    free = FittedModel(fitted_with(decode_context_token=0.0), "f")
    assert free.decode_ends_ns(2, 100, 3) == range(1560 * US, 3 * 1560 * US + 1, 1560 * US)


def test_a_file_written_by_a_calibration_is_read_back_equal() -> None:
    assert read_fitted(fitted_toml(FITTED), "f") == FITTED
    in_rounds = msgspec.structs.replace(FITTED, round_levels_pct=[-0.5, 0.0, 1.25])
    assert read_fitted(fitted_toml(in_rounds), "f") == in_rounds

    model = latency_of({"kind": "fitted", "file": "f"}, Files({"f": fitted_toml(FITTED)}))
    assert model.step_ns(4, 1, 14, 2, 200) == 2_460_140


def test_the_assumptions_name_the_calibration() -> None:
    assert FittedModel(FITTED, "latency.toml").assumptions() == (
        'step times are those of torch 2.9.1 "eager", cpu, float32, 1 thread on two shared cores '
        "with tiny-llama, fitted to 312 steps (latency.toml, 2026-11-29)",
    )


def test_steps_at_the_end_of_the_calibrated_range_are_trusted_and_beyond_it_named() -> None:
    """512 new tokens were calibrated, 513 and 600 were not; no prefill is always in range."""
    model = FittedModel(FITTED, "f")
    for tokens in (512, 513, 600):
        model.step_ns(tokens, 1, 1000, 0, 0)
    model.step_ns(0, 0, 0, 1, 10)

    assert model.assumptions()[1:] == (
        "2 of 4 steps lie outside the calibrated new_tokens 1 to 512 (513 to 600): their times are "
        "extrapolated",
    )


@pytest.mark.parametrize("knot", [32, 33])
def test_a_segment_that_no_calibrated_step_reached_has_the_slope_before_it(knot: int) -> None:
    """100 tokens of one prompt whose largest calibrated step had 32: 1000 us of constant, 20 of
    the request, 500 for the second token and 300 for each of the other 98."""
    coefficients = msgspec.structs.replace(
        FITTED.coefficients_s, knots=[1, 2, knot], new_token=[0.0005, 0.0003, 0.0]
    )
    valid = msgspec.structs.replace(FITTED.valid, new_tokens=(1, 32))
    model = FittedModel(
        msgspec.structs.replace(FITTED, coefficients_s=coefficients, valid=valid), "f"
    )
    assert model.step_ns(100, 1, 0, 0, 0) == (1000 + 20 + 500 + 98 * 300) * US
    assert model.assumptions()[1] == (
        "1 of 1 steps lie outside the calibrated new_tokens 1 to 32 (100 to 100): their times are "
        "extrapolated"
    )


def test_a_segment_that_one_step_reached_keeps_its_own_slope() -> None:
    coefficients = msgspec.structs.replace(
        FITTED.coefficients_s, knots=[1, 2, 31], new_token=[0.0005, 0.0003, 0.0]
    )
    valid = msgspec.structs.replace(FITTED.valid, new_tokens=(1, 32))
    model = FittedModel(
        msgspec.structs.replace(FITTED, coefficients_s=coefficients, valid=valid), "f"
    )
    assert model.step_ns(100, 1, 0, 0, 0) == (1000 + 20 + 500 + 29 * 300) * US


def test_only_the_steps_of_a_stretch_that_ran_count_as_beyond() -> None:
    """Context 39,990, 39,992 … 40,008: the seventh (40,002) is the first above 40,000."""
    model = FittedModel(FITTED, "f")
    model.decode_ends_ns(2, 39_990, 10)
    model.taken(6)
    assert len(model.assumptions()) == 1

    model.decode_ends_ns(2, 39_990, 10)
    model.taken(0)
    assert len(model.assumptions()) == 1

    model.decode_ends_ns(2, 39_990, 10)
    model.taken(8)
    assert model.assumptions()[1] == (
        "2 of 14 steps lie outside the calibrated decode_context 10 to 40000 (39990 to 40004): "
        "their times are extrapolated"
    )


def test_too_many_decodes_are_beyond_in_every_step_of_a_stretch() -> None:
    model = FittedModel(FITTED, "f")
    model.decode_ends_ns(33, 1000, 5)
    model.taken(5)

    assert model.assumptions()[1].startswith(
        "5 of 5 steps lie outside the calibrated decode_requests 1 to 32 (33 to 33)"
    )


@pytest.mark.parametrize(
    ("written", "instead", "told"),
    [
        ('"cachecast.latency"', '"x"', "f: format 'x' version 1, expected \"cachecast.latency\""),
        ("version = 1", "version = 2", "f: format 'cachecast.latency' version 2, expected"),
        ("constant = 0.001", "constant = -0.001", "f: coefficients_s.constant is -0.001, expected"),
        ("constant = 0.001", "constant = nan", "f: coefficients_s.constant is nan, expected 0"),
        ("constant = 0.001", 'constant = "1"', "f: coefficients_s: `constant` is "),
        ("constant = 0.001", "", "f: coefficients_s: the field `constant` is missing; accepted: "),
        ("constant = 0.001", "constnt = 1", "f: coefficients_s: "),
        ("0.0005, 0.0003", "0.0005, -1", "f: coefficients_s.new_token[1] is -1"),
        ("0.0005, 0.0003", "0.0005", "f: coefficients_s.new_token has 2 slopes, expected one for "),
        ("knots = [1, 2, 4]", "knots = [1, 4, 4]", "f: coefficients_s.knots is [1, 4, 4], exp"),
        ("knots = [1, 2, 4]", "knots = [0, 2, 4]", "f: coefficients_s.knots is [0, 2, 4], exp"),
        ("knots = [1, 2, 4]", "knots = []", "f: coefficients_s.knots is [], expected rising"),
        ("[1, 512]", "[512, 1]", "f: valid.new_tokens is [512, 1], expected 0 <= low <= high"),
        ("[valid]", "[valid", "f: not TOML: "),
    ],
)
def test_a_file_that_no_calibration_wrote_is_told_with_its_place(
    written: str, instead: str, told: str
) -> None:
    text = fitted_toml(FITTED)
    assert text.count(written) == 1

    with pytest.raises(BadInput, match=f"^{re.escape(told)}"):
        read_fitted(text.replace(written, instead), "f")
