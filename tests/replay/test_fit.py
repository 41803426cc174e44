"""From measured steps to coefficients, on steps whose price is known."""

import random
from collections.abc import Callable

import msgspec
import pytest
from latency_models import FITTED

from cachecast_datasets.errors import BadInput
from cachecast_replay.calibration.fit import Fit, fit
from cachecast_replay.calibration.measure import Sample
from cachecast_sim.latency.fitted import FittedModel

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


def line(new_tokens: int) -> int:
    """1 ms and 0.1 ms a token."""
    return 1_000_000 + 100_000 * new_tokens


def samples(
    sizes: tuple[int, ...] = SIZES, price: Callable[[int], int] = line, rounds: int = 1
) -> list[Sample]:
    """Prompts of each size behind three prefixes, beside three numbers of decodes."""
    draw = random.Random(0)
    found = []
    for scene, decodes in enumerate((0, 1, 3)):
        points = [(size, prefix) for size in sizes for prefix in (0, 100, 1000)]
        for point, (size, prefix) in enumerate(points):
            pairs = size * prefix + size * (size + 1) // 2
            context = decodes * draw.randrange(50, 900)
            counts = (size, 1, pairs, decodes, context, context + size)
            took_ns = price(size + decodes)
            found += [Sample(scene, point, counts, took_ns)] * rounds
    return found


def predicted_ns(found: Fit, new_tokens: int) -> int:
    """Of a single prompt."""
    file = msgspec.structs.replace(FITTED, coefficients_s=found.coefficients, valid=found.valid)
    model = FittedModel(file, "f")
    model.watch(lambda ahead: new_tokens)
    return model.step_ns(new_tokens, 1, new_tokens * (new_tokens + 1) // 2, 0, 0)


def test_a_price_that_the_features_can_say_is_found_again() -> None:
    found = fit(samples())
    assert found.steps == 180
    assert found.held_out.steps == 36  # every fifth
    assert found.held_out.p90_pct < 0.01
    assert predicted_ns(found, 300) == pytest.approx(line(300), rel=1e-4)


@pytest.mark.parametrize(("sizes", "last"), [(SIZES, 512), (SIZES[:-3], 128), (SIZES[:-5], 64)])
def test_the_line_goes_on_behind_the_largest_step(sizes: tuple[int, ...], last: int) -> None:
    """Three decodes beside it make the largest step 515, 195 and 99 tokens: a knot behind it would
    have a slope of 0, which nobody measured."""
    found = fit(samples(sizes))
    assert found.coefficients.knots[-1] == last
    assert predicted_ns(found, 2048) == pytest.approx(line(2048), rel=1e-3)


def test_a_knot_at_the_largest_step_itself_is_left_out() -> None:
    """Steps of exactly 512 tokens at most, as a calibration makes them."""
    within = [s for s in samples() if s.counts[0] + s.counts[3] <= 512]
    assert fit(within).valid.new_tokens == (1, 512)
    assert fit(within).coefficients.knots[-1] == 256
    assert predicted_ns(fit(within), 2048) == pytest.approx(line(2048), rel=1e-3)


def test_the_median_of_the_rounds_counts() -> None:
    """Three rounds, of which one was disturbed in every step."""
    disturbed = [
        Sample(s.scene, s.point, s.counts, s.duration_ns * (3 if number % 3 == 1 else 1))
        for number, s in enumerate(samples(rounds=3))
    ]
    found = fit(disturbed)
    assert found.steps == 540
    assert predicted_ns(found, 300) == pytest.approx(line(300), rel=1e-4)


def test_the_ranges_are_those_of_steps_that_had_any() -> None:
    found = fit(samples()).valid
    assert found.new_tokens == (1, 515)
    assert found.prefill_requests == (1, 1)
    assert found.decode_requests == (1, 3)
    assert found.prefill_pairs == (1, 512 * 1000 + 512 * 513 // 2)


def test_too_few_kinds_of_step_are_refused() -> None:
    """15 knots and six more coefficients, twice as many steps fitted, and every fifth held out."""
    with pytest.raises(BadInput, match=r"10 kinds of step .* give the calibration more time"):
        fit(samples()[:10])
