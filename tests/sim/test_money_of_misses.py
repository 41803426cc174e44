"""What a miss costs: with the read price of the whole prompt and the output it makes the charge."""

from hypothesis import given, settings
from hypothesis import strategies as st
from rule_sketches import Line, rows
from sim.sketch_strategies import sketches

MODELS = {  # picounits a token: read, fresh, output
    "claude-opus-5": (500_000, 5_000_000, 25_000_000),
    "claude-opus-5,ttl=1h,mark=system+last": (500_000, 5_000_000, 25_000_000),
    "claude-opus-5,tier=batch": (250_000, 2_500_000, 12_500_000),
    "gpt-6-sol": (200_000, 2_000_000, 10_000_000),
    "gpt-4o": (1_250_000, 2_500_000, 10_000_000),
    "deepseek-flash,build_delay=0": (3_000, 150_000, 600_000),
}


@settings(max_examples=40)
@given(st.sampled_from(list(MODELS)), sketches(), st.integers(0, 500))
def test_charge_is_the_prompt_at_the_read_price_plus_its_misses_plus_the_output(
    scenario: str, lines: list[Line], output: int
) -> None:
    read, fresh, out = MODELS[scenario]
    for row in rows(scenario, *(entry | {"output": output} for entry in lines)):
        usage, paid = row.usage, row.charge
        assert paid is not None
        costs = [miss.cost for miss in row.misses]
        assert all(cost is not None and cost >= 0 for cost in costs)
        spent = usage.prompt_tokens * read + sum(cost or 0 for cost in costs)
        assert paid.total == spent + usage.output * out
        assert row.without_cache == usage.prompt_tokens * fresh + usage.output * out
        assert paid.low <= paid.total <= paid.high


@settings(max_examples=40)
@given(st.sampled_from(list(MODELS)), sketches(first_tokens=(0, None)))
def test_only_an_aborted_request_is_an_interval(scenario: str, lines: list[Line]) -> None:
    for row in rows(scenario, *lines):
        assert row.charge is not None
        low = 0 if row.outcome.status == "aborted" else row.charge.total
        assert (row.charge.low, row.charge.high) == (low, row.charge.total)
