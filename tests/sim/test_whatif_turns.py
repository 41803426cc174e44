"""What-ifs by the columnar path: the totals and every session's charge of the ordinary one."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sim.token_logs import META, SIZE, built, step, steps_with

from cachecast_datasets.decode import requests_of
from cachecast_datasets.encode import batch_of
from cachecast_datasets.request import Request
from cachecast_datasets.turn_columns import turn_columns
from cachecast_pricing.catalog import load_catalog
from cachecast_sim.scenario import Scenario
from cachecast_sim.sessions import session_key
from cachecast_sim.whatif.change import Change, ChangedLog
from cachecast_sim.whatif.changes import change_of
from cachecast_sim.whatif.replay import Replay, replay, replay_turns

CATALOG = load_catalog()
OWN: dict[str, dict[str, Any]] = {  # what the models of the random logs are called here
    "m1": {"model": "claude-opus-5", "provider": "anthropic"},
    "m2": {"model": "claude-haiku-5.5"},
    "m3": {"model": "gpt-6-sol", "provider": "openai"},
    "m4": {"model": "nobody-knows-it"},
    "m5": {"model": "deepseek-flash", "provider": "deepseek"},
    "m6": {"model": "gpt-5.1", "provider": "openai"},
}
CHANGES = (
    (),
    ("ttl=1h",),
    ("batch=on",),
    ("model=gpt-6-sol",),
    ("model=claude-haiku-5.5", "batch"),
    ("mark=every2",),
    ("mark=every3:1h+end", "grace=2"),
    ("mark=system:1h+every4+every6+end",),
    ("mark=tools+previous:1h+end", "lookback=3"),
    ("mark=every1+first_user", "ttl=1h"),
)


def shown(found: Replay) -> tuple[object, ...]:
    """Everything that `whatif` says of a replay."""
    totals = found.totals
    misses = sorted((r.reason, r.requests, r.tokens, r.cost) for r in totals.misses.values())
    return (
        found.scenario, totals.requests, totals.usage, totals.money, misses, found.sessions,
        found.hit_tokens, found.prefill_tokens, found.extra_requests, set(found.assumptions),
    )  # fmt: skip


@pytest.mark.parametrize("texts", CHANGES)
@given(steps=st.lists(step, min_size=1, max_size=14), system=st.booleans(), nameless=st.booleans())
def test_the_columnar_path_gives_what_the_ordinary_one_gives(
    texts: tuple[str, ...], steps: list[dict[str, object]], system: bool, nameless: bool
) -> None:
    """To the picounit for each session; a request without a session is one by itself."""
    compare(texts, [replace(r, session_id=None) if nameless else r for r in built(steps, system)])


@pytest.mark.parametrize("texts", [(), ("ttl=1h",), ("batch=on",)])
@given(
    steps=st.lists(steps_with(("m1", "m1", "m2", "m3", "m4", "m5", "m6")), min_size=1, max_size=14),
    system=st.booleans(),
)
def test_models_of_the_log_side_by_side_give_what_the_ordinary_path_gives(
    texts: tuple[str, ...], steps: list[dict[str, object]], system: bool
) -> None:
    """Each by its own rules and prices; some have none, some look at token blocks, and models of
    one provider share its memory."""
    batch = batch_of([replace(r, **OWN[r.model or ""]) for r in built(steps, system)])
    log, columns = list(requests_of(batch)), turn_columns(batch)
    scenario = Scenario("log", None)

    sessions = {request.request_id: session_key(request) for request in log}
    slow = replay(scenario, changes(texts), ChangedLog(log), CATALOG, META, sessions)
    fast = replay_turns(scenario, changes(texts), [columns], CATALOG, META)

    assert fast is not None
    assert shown(slow) == shown(fast)


def test_a_change_of_the_log_has_no_columnar_path() -> None:
    """Nothing is taken of the log then: the ordinary path reads it."""
    untouched: Iterator[list[Request]] = iter([[]])

    found = replay_turns(
        Scenario("s", CATALOG.resolve("claude-opus-5")), changes(("keep-alive=290x3",)), untouched,
        CATALOG, META,
    )  # fmt: skip

    assert found is None
    assert next(untouched) == []


@pytest.mark.parametrize("texts", [("mark=every2",), ("mark=every1+end",), ("mark=tools+every3",)])
@given(steps=st.lists(step, min_size=2, max_size=14), tools=st.integers(0, 12), hole=st.booleans())
def test_markers_at_token_blocks_are_told_alike_of_large_tools_and_of_uncounted_turns(
    texts: tuple[str, ...], steps: list[dict[str, object]], tools: int, hole: bool
) -> None:
    """What is missed inside the tools has another reason; with an unknown position there is no
    look-back."""
    requests = [replace(r, tools_tokens=tools * SIZE) for r in built(steps, system=True)]
    for request in requests:
        assert request.boundaries is not None
        if hole and len(request.boundaries.positions) > 2:
            request.boundaries.positions[-2] = None
    compare(texts, requests)


def compare(texts: tuple[str, ...], requests: list[Request]) -> None:
    """Both paths, to the picounit for each session."""
    batch = batch_of(requests)
    log, columns = list(requests_of(batch)), turn_columns(batch)
    scenario = Scenario("s", CATALOG.resolve("claude-opus-5"))

    sessions = {request.request_id: session_key(request) for request in log}
    slow = replay(scenario, changes(texts), ChangedLog(log), CATALOG, META, sessions)
    fast = replay_turns(scenario, changes(texts), [columns], CATALOG, META)

    assert fast is not None
    assert shown(slow) == shown(fast)
    assert sum(fast.sessions.values()) == fast.totals.money.total


def changes(texts: tuple[str, ...]) -> list[Change]:
    """New ones for each replay: a change may count what it did."""
    return [change_of(text, CATALOG) for text in texts]
