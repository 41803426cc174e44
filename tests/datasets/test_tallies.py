"""What is counted of a log is the same whether its rows come as requests or in columns."""

from hypothesis import given
from hypothesis import strategies as st

from cachecast_datasets.encode import batch_of
from cachecast_datasets.request import Request
from cachecast_datasets.tallies import Tally

names = st.none() | st.sampled_from(("a", "b", "ä"))
Row = tuple[int, str | None, str | None]  # microseconds after the row before, session, model
rows = st.lists(st.tuples(st.integers(0, 5), names, names), max_size=12)


@given(st.lists(rows, max_size=3))
def test_columns_count_as_requests_do(batches: list[list[Row]]) -> None:
    at, slow, fast = 0, Tally(), Tally()
    for batch in batches:
        requests = []
        for gap_us, session, model in batch:
            at += gap_us
            requests.append(Request(f"r{at}", at, session_id=session, model=model))
        slow.add(requests)
        fast.add_batch(batch_of(requests))

    for origin in ("relative", "absolute"):
        assert fast.period(origin) == slow.period(origin)
    assert (fast.sessions, fast.models) == (slow.sessions, slow.models)
