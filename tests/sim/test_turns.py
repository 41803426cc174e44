"""The columnar path and the shortcut for usual turns give exactly what the event path gives."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sim.token_logs import META, built, step

from cachecast_datasets.decode import requests_of
from cachecast_datasets.encode import batch_of
from cachecast_datasets.request import Request
from cachecast_datasets.turn_columns import turn_columns
from cachecast_pricing.catalog import load_catalog
from cachecast_pricing.rules.settings import RuleSettings, with_key
from cachecast_sim.billing import Billing
from cachecast_sim.provider import Outcome
from cachecast_sim.scenario import Scenario
from cachecast_sim.totals import Totals

SCENARIOS = (
    ("claude-opus-5", ""), ("claude-opus-5", "mark=last,ttl=1h"),
    ("claude-opus-5", "mark=system+last,lookback=3"), ("claude-opus-4.6", "grace=2"),
    ("claude-haiku-5.5", "first_token=0"), ("gpt-6-sol", ""), ("gpt-6-sol", "mark=last"),
    ("gpt-6-sol", "overflow=2"), ("gpt-6-sol", "first_token=3"),
    ("gpt-6.1-terra", ""), ("claude-opus-5", "mark=every2"),
    ("claude-haiku-5.5", "mark=every3+end"),
    ("claude-opus-5", "mark=system:1h+every2:5m,lookback=3"),
)  # fmt: skip


def billing(model: str, keys: str) -> Billing:
    """A scenario over a log of token blocks."""
    settings = RuleSettings()
    for pair in filter(None, keys.split(",")):
        settings = with_key(settings, *pair.split("="))
    catalog = load_catalog()
    return Billing(Scenario("s", catalog.resolve(model), settings), catalog, META)


def shown(totals: Totals) -> tuple[object, ...]:
    """Everything that a bill says of its totals."""
    misses = sorted((r.reason, r.requests, r.tokens, r.cost) for r in totals.misses.values())
    return totals.requests, totals.usage, totals.money, misses, totals.remarks()


def outcomes(one: Billing, requests: list[Request]) -> Iterator[Outcome]:
    """What the provider world makes of the requests."""
    return (row.outcome for row in one.rows(requests))


@pytest.mark.parametrize(("model", "keys"), SCENARIOS)
@given(steps=st.lists(step, min_size=1, max_size=14), system=st.booleans())
def test_the_columnar_path_has_the_totals_of_the_event_path(
    model: str, keys: str, steps: list[dict[str, object]], system: bool
) -> None:
    """To the picounit and the token, by reason, with the same number of estimated first tokens."""
    compare(model, keys, built(steps, system))


@pytest.mark.parametrize("keys", ["mark=every2", "mark=tools+every2", "mark=every3+end:1h"])
@given(steps=st.lists(step, min_size=1, max_size=14), names=st.integers(1, 9))
def test_the_columnar_path_has_them_too_where_an_id_stands_at_several_lengths(
    keys: str, steps: list[dict[str, object]], names: int
) -> None:
    """Ids that are not chained: the second prompt may hold an entry's id below the minimum."""
    compare("claude-opus-5", keys, built(steps, system=True, names=cycle(range(names))))


def test_an_entry_that_stands_below_the_minimum_of_a_later_prompt_is_not_read_there() -> None:
    """The last of 16 blocks is the second of the next prompt, where 512 tokens are too few."""
    first = {"after_s": 0, "session": "a", "keep": 0.0, "new_blocks": 16, "tail": 0,
             "first_token_s": 1.0, "end_s": 5.0, "model": "m1", "typed": True}  # fmt: skip
    second = {**first, "after_s": 20, "new_blocks": 2}
    requests = built([first, second], False, names=iter([*range(16), 99, 15]))
    compare("claude-haiku-4.5", "mark=every2", requests)


def compare(model: str, keys: str, requests: list[Request]) -> None:
    """Both paths."""
    batch = batch_of(requests)
    slow = billing(model, keys)
    expected = Totals()
    for row in slow.rows(list(requests_of(batch))):
        expected.add(row)

    fast = billing(model, keys).turns()
    if fast is None:  # machines overflow; writes beyond 272k tokens have no price
        assert (model, keys) in (("gpt-6-sol", "overflow=2"), ("gpt-6.1-terra", ""))
        return
    fast.feed([turn_columns(batch)])
    assert slow.world is not None
    assert shown(expected) == shown(fast.totals)
    assert slow.world.desk.estimated_first_tokens == fast.desk.estimated_first_tokens


@pytest.mark.parametrize(("model", "keys"), SCENARIOS)
@given(steps=st.lists(step, min_size=1, max_size=14), system=st.booleans())
def test_the_shortcut_for_usual_turns_gives_the_outcomes_of_the_general_path(
    model: str, keys: str, steps: list[dict[str, object]], system: bool
) -> None:
    """Request by request: classes, hits, reasons, candidates and evidence."""
    requests = built(steps, system)
    general = billing(model, keys)
    assert general.rulebook is not None
    rules = general.rulebook.rules_of(requests[0])
    assert rules is not None
    rules.shortcut = False  # type: ignore[attr-defined]

    slow = [replace(o, request=requests[0]) for o in outcomes(general, requests)]
    fast = [replace(o, request=requests[0]) for o in outcomes(billing(model, keys), requests)]
    assert slow == fast


TURN = {
    "after_s": 20, "session": "a", "keep": 1.0, "new_blocks": 4, "tail": 3,
    "first_token_s": 1.0, "end_s": 5.0, "model": "m1", "typed": True,
}  # fmt: skip


def test_most_turns_of_an_ordinary_session_take_the_short_way() -> None:
    """Else the property tests above would compare the general path with itself."""
    requests = built([TURN] * 10, system=True)
    ordinary = billing("claude-opus-5", "").turns()
    assert ordinary is not None
    ordinary.feed([turn_columns(batch_of(requests))])

    # the first is a cold start; every later one is a usual turn, and none has a second reason
    assert {"cold_start", "new_content", "block_rounding"} == set(ordinary.totals.misses)
    assert ordinary.usual_turns == 9


@pytest.mark.parametrize(("tools", "reason"), [(5, "tools_changed"), (4, "system_changed")])
def test_such_text_inside_the_tools_or_the_system_text_was_lost_as_those_changed(
    tools: int, reason: str
) -> None:
    """As below: block 4 of the first prompt was not stored. If the second's tools go on to block 5,
    or its system text behind block 4, the prompts part inside of them, and that is the reason."""
    requests = [replace(r, tools_tokens=tools * 256) for r in built([TURN] * 2, system=True)]
    found = billing("claude-opus-5", "mark=every3").turns()
    assert found is not None
    found.feed([turn_columns(batch_of(requests))])

    assert found.totals.misses[reason].tokens == 256


def test_text_behind_the_last_marker_is_missed_by_the_next_turn_for_a_reason_of_its_own() -> None:
    """Four blocks of 256 tokens a turn, and a marker at the last third one: the first turn stores
    three, which the second reads. The fourth was in the first prompt, too, but nothing was stored
    there; the second's own marker stands at its sixth, with two blocks and 3 tokens behind it."""
    requests = built([TURN] * 2, system=False)
    found = billing("claude-opus-5", "mark=every3").turns()
    assert found is not None
    found.feed([turn_columns(batch_of(requests))])

    misses = {name: (one.requests, one.tokens) for name, one in found.totals.misses.items()}
    assert found.usual_turns == 1
    assert found.totals.usage.cache_read == 3 * 256
    assert misses == {
        "cold_start": (1, 3 * 256),
        "unknown": (1, 1 * 256),
        "new_content": (1, 2 * 256),
        "block_rounding": (2, 256 + 3 + 2 * 256 + 3),
    }
