"""How long a step takes under each latency model, and what a bad `[latency]` table is told."""

import itertools
import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal

import pytest
from latency_models import Files

from cachecast_datasets.errors import BadInput
from cachecast_sim.latency.kinds import LATENCY_MODELS, latency_of
from cachecast_sim.latency.model import growing_ends_ns

MS, US = 1_000_000, 1_000
GOLDEN = {"kind": "linear", "step_base_s": 0.010, "per_token_s": 0.00005}
PEERS = {"kind": "fixed", "prefill_step_s": 0.2, "decode_step_s": 0.02}
ROOFLINE = {"kind": "roofline", "model": "llama-3.1-8b", "hardware": "h100-sxm"}


def test_a_linear_step_costs_its_base_and_each_scheduled_token() -> None:
    """539 prompt tokens and 3 decodes: 10 ms + 542 × 50 µs."""
    assert latency_of(GOLDEN).step_ns(539, 1, 0, 3, 900) == 10 * MS + 542 * 50 * US


def test_a_linear_step_is_exact_where_floats_are_not() -> None:
    """0.1 + 3 × 0.1 in binary floats is not 0.4, and 30 such steps in a row drift."""
    model = latency_of({"kind": "linear", "step_base_s": 0.1, "per_token_s": 0.1})

    assert model.step_ns(0, 0, 0, 3, 30) == 400 * MS
    assert model.decode_ends_ns(3, 30, 30)[-1] == 30 * 400 * MS


@pytest.mark.parametrize(("tokens", "ns"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
def test_a_half_nanosecond_is_rounded_up_once_and_time_always_passes(tokens: int, ns: int) -> None:
    """0.5 ns a token: 0.5, 1, 1.5, 2, 2.5."""
    model = latency_of({"kind": "linear", "step_base_s": 0, "per_token_s": Decimal("5e-10")})
    assert model.step_ns(tokens, 1, 0, 0, 0) == ns


def test_a_step_of_no_duration_lasts_one_nanosecond() -> None:
    model = latency_of({"kind": "linear", "step_base_s": 0, "per_token_s": 0})
    assert model.step_ns(1, 1, 1, 0, 0) == 1


def test_fixed_steps_cost_prefill_decode_or_the_sum() -> None:
    model = latency_of(PEERS)

    assert model.step_ns(8192, 4, 0, 0, 0) == 200 * MS
    assert model.step_ns(0, 0, 0, 256, 100_000) == 20 * MS
    assert model.step_ns(1, 1, 1, 1, 5) == 220 * MS


@pytest.mark.parametrize("table", [GOLDEN, PEERS], ids=["linear", "fixed"])
def test_steps_of_equal_length_cost_no_list(table: Mapping[str, object]) -> None:
    model = latency_of(table)
    step = model.step_ns(0, 0, 0, 7, 100)

    assert model.decode_ends_ns(7, 100, 10**9) == range(step, step * 10**9 + 1, step)
    assert list(model.decode_ends_ns(7, 100, 3)) == [step, 2 * step, 3 * step]
    assert len(model.decode_ends_ns(7, 100, 0)) == 0


def test_growing_steps_end_at_their_running_sum() -> None:
    """Two requests of together 10 tokens, 3 ns a token: 30, 36 and 42 ns."""
    assert growing_ends_ns(lambda context: 3 * context, 2, 10, 3) == [30, 66, 108]
    assert len(growing_ends_ns(lambda context: 3 * context, 2, 10, 0)) == 0


def test_a_stretch_that_ends_before_its_steps_grow_costs_no_list() -> None:
    """Contexts 10 and 12 last 5 ns, 14 would last 6."""

    def step_ns(context: int) -> int:
        return 5 if context < 14 else 6

    assert growing_ends_ns(step_ns, 2, 10, 2) == range(5, 11, 5)
    assert growing_ends_ns(step_ns, 2, 10, 3) == [5, 10, 16]


def test_recorded_steps_come_in_order_and_only_those_that_ran_are_used_up() -> None:
    run = Files(durations_ns={"run": [5, 7, 11, 13, 17]})
    model = latency_of({"kind": "recorded", "file": "run"}, run)

    assert model.step_ns(100, 1, 5050, 0, 0) == 5
    assert model.decode_ends_ns(1, 100, 4) == [7, 18, 31, 48]
    model.taken(2)  # an arrival came after the second
    assert model.step_ns(10, 1, 55, 1, 102) == 13
    assert model.assumptions() == ("1 of 5 recorded steps of run not used",)
    assert model.decode_ends_ns(1, 103, 1) == [17]
    model.taken(1)
    assert model.assumptions() == ()


def test_recorded_steps_that_run_out_show_that_it_was_another_run() -> None:
    model = latency_of({"kind": "recorded", "file": "r"}, Files(durations_ns={"r": [5, 7]}))
    model.step_ns(1, 1, 1, 0, 0)

    with pytest.raises(BadInput) as told:
        model.decode_ends_ns(1, 2, 2)
    assert str(told.value) == (
        "r has 2 recorded steps, the simulation needs at least 3: log or fleet are not those of "
        "the replay"
    )
    model.step_ns(1, 1, 1, 0, 0)
    with pytest.raises(BadInput, match="needs at least 3"):
        model.step_ns(1, 1, 1, 0, 0)


def test_a_recorded_duration_below_one_nanosecond_is_bad_input() -> None:
    with pytest.raises(BadInput, match=r"^r: step 2 lasts 0 ns, expected at least 1$"):
        latency_of({"kind": "recorded", "file": "r"}, Files(durations_ns={"r": [1, 0]}))


def test_only_models_that_idealise_have_assumptions() -> None:
    assert latency_of(GOLDEN).assumptions() == ()
    assert latency_of(PEERS).assumptions() == ()
    assert "lower bounds" in " ".join(latency_of(ROOFLINE).assumptions())


def test_fields_of_other_kinds_are_ignored() -> None:
    """So that `--set latency.kind=…` works on any fleet file."""
    both = {**PEERS, **GOLDEN, "file": "x", "model": "llama-3.1-8b"}
    assert latency_of(both).step_ns(1, 1, 1, 0, 0) == 10 * MS + 50 * US


def test_numbers_of_toml_are_taken_as_written() -> None:
    """As a float and as the decimal that a careful reader makes of it."""
    text = 'kind = "linear"\nstep_base_s = 0.010\nper_token_s = 0.00005\n'
    for parse in (float, Decimal):
        model = latency_of(tomllib.loads(text, parse_float=parse))
        assert model.step_ns(539, 1, 0, 0, 0) == 36_950 * US


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kind": "linea"}, "latency.kind is 'linea'; did you mean 'linear'? known: linear, fixed"),
        ({"kind": "x"}, "latency.kind is 'x'; known: linear, fixed, roofline, fitted, recorded"),
        (
            {"kind": None},
            "latency.kind is missing; known: linear, fixed, roofline, fitted, recorded",
        ),
        ({"kind": 3}, "latency.kind is 3, expected a text in quotes"),
        ({"per_tokn_s": 1}, "latency.per_tokn_s: unknown field; did you mean 'per_token_s'? known"),
        (
            {"per_token_s": None},
            "latency.per_token_s is missing, expected a number from 0 to 86400",
        ),
        ({"per_token_s": -1}, "latency.per_token_s is -1, expected a number from 0 to 86400"),
        ({"per_token_s": 86401}, "latency.per_token_s is 86401, expected a number from 0 to 86400"),
        ({"per_token_s": "1 s"}, "latency.per_token_s is '1 s', expected a number from 0 to 86400"),
        ({"per_token_s": True}, "latency.per_token_s is True, expected a number"),
        ({"per_token_s": float("nan")}, "latency.per_token_s is nan, expected a number"),
        ({"per_token_s": float("inf")}, "latency.per_token_s is inf, expected a number"),
        ({**PEERS, "decode_step_s": None}, "latency.decode_step_s is missing"),
        ({"kind": "recorded"}, "latency.file is missing, expected a text in quotes"),
        ({"kind": "recorded", "file": "r"}, "r: files cannot be read here"),
        ({"kind": "fitted", "file": "f"}, "f: files cannot be read here"),
        ({**ROOFLINE, "model": "m.json"}, "m.json: files cannot be read here"),
        ({**ROOFLINE, "model": "lama-3.1-8b"}, "unknown model 'lama-3.1-8b'; did you mean 'llama"),
        ({**ROOFLINE, "hardware": "h100"}, "unknown hardware 'h100'; did you mean 'h100-"),
        ({**ROOFLINE, "tensor_parallel": 3}, "tensor_parallel is 3, but llama-3.1-8b has 32 heads"),
        ({**ROOFLINE, "tensor_parallel": 0}, "latency.tensor_parallel is 0, expected a whole"),
        ({**ROOFLINE, "tensor_parallel": 2.0}, "latency.tensor_parallel is 2.0, expected a whole"),
        ({**ROOFLINE, "memory_efficiency": 0}, "latency.memory_efficiency is 0, expected a number"),
        ({**ROOFLINE, "compute_efficiency": 1.01}, "latency.compute_efficiency is 1.01, expected"),
        ({**ROOFLINE, "kv_dtype": "fp7"}, "unknown dtype 'fp7'; did you mean 'fp"),
        ({**ROOFLINE, "kv_dtype": "mxfp4"}, "unknown dtype 'mxfp4'"),
        ({**ROOFLINE, "weight_dtype": "fp32"}, "h100-sxm: its data sheet has no rate for fp32"),
    ],
)
def test_a_bad_table_is_told_in_one_sentence_with_what_is_accepted(
    change: Mapping[str, object], told: str
) -> None:
    table = {name: value for name, value in {**GOLDEN, **change}.items() if value is not None}

    with pytest.raises(BadInput, match=f"^{re.escape(told)}") as error:
        latency_of(table)
    assert "\n" not in str(error.value)


def test_every_kind_states_its_fields_and_no_two_kinds_disagree_about_one() -> None:
    assert list(LATENCY_MODELS) == ["linear", "fixed", "roofline", "fitted", "recorded"]
    fields = [kind.fields for kind in LATENCY_MODELS.values()]
    shared = [set(one) & set(other) for one, other in itertools.combinations(fields, 2)]
    assert set().union(*shared) == {"file"}
