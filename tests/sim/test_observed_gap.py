"""Why prediction and observed usage differ: each cause by hand, and sums that must hold."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachecast_datasets.request import Observed
from cachecast_pricing.charge import Charge
from cachecast_pricing.usage import PROMPT_CLASSES, Usage
from cachecast_sim.observed_gap import CAUSES, Case, GapTotals, gaps_of


def paid(total: int) -> Charge:
    return Charge("USD", total, 0, 0, 0, 0, total, total)


def seen(**classes: Any) -> Observed:
    return Observed(**dict.fromkeys(PROMPT_CLASSES, 0) | {"output": 0} | classes)


def case(usage: Usage, reason: str | None = None, **how: Any) -> Case:
    known: dict[str, Any] = {
        "same_model": True, "marks_assumed": False, "predicted": paid(70), "observed": paid(50),
    }  # fmt: skip
    return Case(usage, reason, **known | how)


READS = Usage(fresh=100, cache_read=6000, cache_write_5m=200)  # 6,300 tokens
WRITES = Usage(fresh=100, cache_write_5m=6200)


@pytest.mark.parametrize(
    ("observed", "predicted", "causes"),
    [
        # they agree
        (seen(fresh=100, cache_read=6000, cache_write_5m=200), case(READS, observed=paid(70)), []),
        # the whole was written anew within the lifetime
        (seen(fresh=100, cache_write_5m=6200), case(READS), [("provider_miss", 6000)]),
        # a provider without a write class: the whole is fresh
        (seen(fresh=6300), case(READS), [("provider_miss", 6000)]),
        # a part was read: no provider does that of one prefix
        (seen(fresh=100, cache_read=4000, cache_write_5m=2200), case(READS), [("unknown", 2000)]),
        (
            seen(fresh=100, cache_read=4000, cache_write_5m=2200),
            case(READS, marks_assumed=True),
            [("marking_unknown", 2000)],
        ),
        # we took an hour's life, the log's writes live five minutes
        (
            seen(fresh=100, cache_write_5m=6200),
            case(Usage(fresh=100, cache_read=6000, cache_write_1h=200)),
            [("ttl_tier", 6000)],
        ),
        # and the other way round
        (
            seen(fresh=100, cache_read=6000, cache_write_1h=200),
            case(WRITES, "ttl_expired"),
            [("ttl_tier", -6000)],
        ),
        (
            seen(fresh=100, cache_read=6000, cache_write_5m=200),
            case(WRITES, "ttl_expired"),
            [("longer_life", -6000)],
        ),
        (
            seen(fresh=100, cache_read=6000, cache_write_5m=200),
            case(WRITES, "cold_start"),
            [("earlier_traffic", -6000)],
        ),
        # 5,000 tokens of tools and system text that the log does not show, and 1,000 besides
        (
            seen(fresh=100, cache_read=6000, cache_write_5m=200),
            case(Usage(fresh=1300), "cold_start"),
            [("unseen_prompt", -5000), ("earlier_traffic", -1000)],
        ),
        (seen(fresh=6300), case(READS, same_model=False), [("model", 6000)]),
        # as much was read, but the money differs
        (seen(fresh=100, cache_read=6000, cache_write_1h=200), case(READS), [("ttl_tier", 0)]),
        (seen(fresh=150, cache_read=6000, cache_write_5m=200), case(READS), [("unseen_prompt", 0)]),
        (seen(fresh=50, cache_read=6000, cache_write_5m=250), case(READS), [("unknown", 0)]),
        # what the log does not tell is not explained
        (seen(fresh=6300, cache_read=None), case(READS), []),
    ],
)  # fmt: skip
def test_each_difference_has_its_cause(
    observed: Observed, predicted: Case, causes: list[tuple[str, int]]
) -> None:
    found = gaps_of(observed, predicted)
    assert [(gap.cause, gap.tokens) for gap in found] == causes
    assert [gap.cost for gap in found] == [20, 0][: len(found)]


def test_a_charge_that_is_unknown_is_not_zero() -> None:
    (gap,) = gaps_of(seen(fresh=6300), case(READS, observed=None))
    assert (gap.tokens, gap.cost) == (6000, None)

    totals = GapTotals()
    totals.add([gap])
    totals.add(gaps_of(seen(fresh=6300), case(READS)))
    (total,) = totals.causes()
    assert (total.requests, total.tokens, total.cost) == (2, 12000, None)


few = st.integers(0, 3000)
usages = st.builds(Usage, few, few, few, st.just(0), few)
observations = st.builds(
    lambda fresh, read, short, long: seen(
        fresh=fresh, cache_read=read, cache_write_5m=short, cache_write_1h=long
    ),
    few, few, few, few,
)  # fmt: skip
cases = st.builds(
    case,
    usages,
    st.sampled_from([None, "ttl_expired", "cold_start", "volatile_value"]),
    same_model=st.booleans(),
    marks_assumed=st.booleans(),
    predicted=few.map(paid),
    observed=few.map(paid),
)


@given(st.lists(st.tuples(observations, cases), max_size=6))
def test_tokens_and_money_sum_to_the_difference_whatever_it_is(
    pairs: list[tuple[Observed, Case]],
) -> None:
    totals = GapTotals()
    for observed, predicted in pairs:
        totals.add(gaps_of(observed, predicted))
    found = totals.causes()

    read = sum(c.usage.cache_read - (o.cache_read or 0) for o, c in pairs)
    money = sum(
        c.predicted.total - c.observed.total for _, c in pairs if c.predicted and c.observed
    )
    assert sum(total.tokens for total in found) == read
    assert sum(total.cost or 0 for total in found) == money
    assert [total.cause for total in found] == sorted(
        {total.cause for total in found}, key=CAUSES.index
    )
