"""From measured steps to coefficients, on steps whose price is known."""

import random
from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest
from latency_models import FITTED

from cachecast_datasets.errors import BadInput
from cachecast_replay.calibration.fit import Fit, fit, levels_pct
from cachecast_replay.calibration.measure import Sample
from cachecast_sim.latency.fitted import FittedModel

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


def line(new_tokens: int) -> int:
    """1 ms and 0.1 ms a token."""
    return 1_000_000 + 100_000 * new_tokens


def samples(sizes: tuple[int, ...] = SIZES, price: Callable[[int], int] = line) -> list[Sample]:
    """A round: prompts of each size behind three prefixes, beside three numbers of decodes."""
    draw = random.Random(0)
    found = []
    for scene, decodes in enumerate((0, 1, 3)):
        points = [(size, prefix) for size in sizes for prefix in (0, 100, 1000)]
        for point, (size, prefix) in enumerate(points):
            pairs = size * prefix + size * (size + 1) // 2
            context = decodes * draw.randrange(50, 900)
            counts = (size, 1, pairs, decodes, context, context + size)
            took_ns = price(size + decodes)
            found.append(Sample(scene, point, counts, took_ns))
    return found


def predicted_ns(found: Fit, new_tokens: int) -> int:
    """Of a single prompt."""
    file = msgspec.structs.replace(FITTED, coefficients_s=found.coefficients, valid=found.valid)
    model = FittedModel(file, "f")
    model.watch(lambda ahead: new_tokens)
    return model.step_ns(new_tokens, 1, new_tokens * (new_tokens + 1) // 2, 0, 0)


def test_a_price_that_the_features_can_say_is_found_again() -> None:
    found = fit([samples()])
    assert found.steps == 180
    assert found.held_out.steps == 36  # every fifth
    assert found.held_out.p90_pct < 0.01
    assert predicted_ns(found, 300) == pytest.approx(line(300), rel=1e-4)


@pytest.mark.parametrize(("sizes", "last"), [(SIZES, 512), (SIZES[:-3], 128), (SIZES[:-5], 64)])
def test_the_line_goes_on_behind_the_largest_step(sizes: tuple[int, ...], last: int) -> None:
    """Three decodes beside it make the largest step 515, 195 and 99 tokens: a knot behind it would
    have a slope of 0, which nobody measured."""
    found = fit([samples(sizes)])
    assert found.coefficients.knots[-1] == last
    assert predicted_ns(found, 2048) == pytest.approx(line(2048), rel=1e-3)


def test_a_knot_at_the_largest_step_itself_is_left_out() -> None:
    """Steps of exactly 512 tokens at most, as a calibration makes them."""
    within = [s for s in samples() if s.counts[0] + s.counts[3] <= 512]
    assert fit([within]).valid.new_tokens == (1, 512)
    assert fit([within]).coefficients.knots[-1] == 256
    assert predicted_ns(fit([within]), 2048) == pytest.approx(line(2048), rel=1e-3)


def slower(factor: float) -> list[Sample]:
    """A round in which every step took `factor` times as long."""
    return [replace(s, duration_ns=round(s.duration_ns * factor)) for s in samples()]


def test_the_median_of_the_rounds_counts() -> None:
    """Three rounds, of which one was disturbed in every step."""
    found = fit([samples(), slower(3), samples()])
    assert found.steps == 540
    assert predicted_ns(found, 300) == pytest.approx(line(300), rel=1e-4)


def test_each_round_has_a_level_beside_the_mean_of_all() -> None:
    """1, 1 and 1.331 times, the third power of 1.1: so 1.1 is the geometric mean."""
    found = fit([samples(), samples(), slower(1.331)])
    below, above = 100 * (1 / 1.1 - 1), 100 * (1.331 / 1.1 - 1)
    assert found.round_levels_pct == pytest.approx([below, below, above], abs=0.01)


def test_noise_that_differs_from_kind_to_kind_does_not_hide_the_level_of_a_round() -> None:
    """Each kind of step is disturbed by a third in another of three rounds, of which the last is
    4 % slower: most of its steps are 4 % above two that agree."""
    rounds = [samples(), samples(), slower(1.04)]
    for kind in range(len(rounds[0])):
        step = rounds[kind % 3][kind]
        rounds[kind % 3][kind] = replace(step, duration_ns=step.duration_ns * 4 // 3)
    first, second, last = levels_pct(rounds)
    assert first == pytest.approx(second, abs=0.01)
    assert (1 + last / 100) / (1 + first / 100) == pytest.approx(1.04, abs=0.001)


def test_a_round_that_ended_before_its_half_has_no_level() -> None:
    """Of 180 steps 90 are half."""
    assert len(levels_pct([samples(), samples(), slower(2)[:90]])) == 3
    assert levels_pct([samples(), samples(), slower(2)[:89]]) == pytest.approx([0, 0])
    assert levels_pct([samples(), slower(2)[:89]]) == []
    assert levels_pct([samples()]) == []


def test_the_ranges_are_those_of_steps_that_had_any() -> None:
    found = fit([samples()]).valid
    assert found.new_tokens == (1, 515)
    assert found.prefill_requests == (1, 1)
    assert found.decode_requests == (1, 3)
    assert found.prefill_pairs == (1, 512 * 1000 + 512 * 513 // 2)


def test_too_few_kinds_of_step_are_refused() -> None:
    """15 knots and six more coefficients, twice as many steps fitted, and every fifth held out."""
    with pytest.raises(BadInput, match=r"10 kinds of step .* give the calibration more time"):
        fit([samples()[:10]])
