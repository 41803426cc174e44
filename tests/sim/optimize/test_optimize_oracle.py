"""The fast evaluator gives to the picounit what the ordinary rules give; brute force agrees."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rule_sketches import Line, line
from sim.optimize_logs import CATALOG, SmallLog, from_sketch, scenario
from sim.sketch_strategies import FIRST_TOKENS, UNKNOWN, sketches
from sim.token_logs import META, built, step

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_pricing.rules.settings import RuleSettings
from cachecast_sim.billing import Billing
from cachecast_sim.optimize.policy import BLOCK_STEPS, Policy, candidates, place_names
from cachecast_sim.optimize.search import Judged
from cachecast_sim.scenario import Scenario

# small steps, so that small prompts have such places
STEPS = (4, 3, 2)
NAMES = place_names(STEPS)
POLICIES = candidates(NAMES)
TOKEN_STEPS = (8, 4, 2)
TOKEN_NAMES = tuple(name for name in place_names(TOKEN_STEPS) if name != "first_user")
TOKEN_POLICIES = candidates(TOKEN_NAMES)
FEW_NAMES = ("system", "end")
FEW = candidates(FEW_NAMES)

few = settings(max_examples=25)  # each one writes and reads a file


def drawn_from(policies: list[Policy]) -> st.SearchStrategy[list[Policy]]:
    """Some of the whole space and as many simple ones, in which less hides a wrong step."""
    simple = [p for p in policies if p.pings is None and len(p.places) <= 2]
    return st.builds(
        lambda any_, plain: any_ + plain,
        st.lists(st.sampled_from(policies), min_size=6, max_size=6),
        st.lists(st.sampled_from(simple), min_size=10, max_size=10),
    )


gaps = (0, 1, 20, 239, 241, 299, 300, 300.000001, 320, 600, 1_700, 3_299, 3_600, 20_000)
logs = sketches(gaps=gaps, first_tokens=(*FIRST_TOKENS, None, UNKNOWN))
rules = st.sampled_from(
    [
        RuleSettings(),
        RuleSettings(lookback=2, group_tools=False, upgrade=True, grace_s=5.0),
        RuleSettings(first_token_s=3.0),
    ]
)


def judged_or_none(log: SmallLog, one: Scenario, *space: Any) -> Judged:
    """Judged; a log without any prompt is not what the test is about."""
    try:
        return log.judged(one, *space)
    except BadInput:
        assume(any(r.boundaries and r.boundaries.tokens for r in log.requests))
        raise


@few
@given(lines=logs, own=rules, policies=drawn_from(POLICIES))
def test_content_block_logs_are_judged_as_the_rules_bill_them(
    lines: list[Line], own: RuleSettings, policies: list[Policy]
) -> None:
    """Any policy of the whole space, pings included."""
    log, one = from_sketch(lines), scenario("claude-opus-5", own)

    judged = judged_or_none(log, one, NAMES, STEPS, policies)
    assert judged.charges.tolist() == [
        log.replayed(one, policy).totals.money.total for policy in policies
    ]


@few
@given(
    steps=st.lists(step, min_size=1, max_size=14),
    typed=st.booleans(),
    own=rules,
    policies=drawn_from(TOKEN_POLICIES),
)
def test_token_block_logs_are_judged_as_the_rules_bill_them(
    steps: list[dict[str, object]], typed: bool, own: RuleSettings, policies: list[Policy]
) -> None:
    """With places at every N-th token block, whose hashes are no boundaries of the log."""
    log, one = SmallLog(built(steps, typed), META), scenario("claude-opus-5", own)

    judged = judged_or_none(log, one, TOKEN_NAMES, TOKEN_STEPS, policies)
    assert judged.charges.tolist() == [
        log.replayed(one, policy).totals.money.total for policy in policies
    ]


@settings(max_examples=8)
@given(lines=logs)
def test_brute_force_by_the_ordinary_way_finds_the_same_winner(lines: list[Line]) -> None:
    """Every candidate of a small space replayed one by one; the first cheapest wins."""
    log, one = from_sketch(lines), scenario("claude-opus-5")
    judged = judged_or_none(log, one, FEW_NAMES, BLOCK_STEPS, FEW)

    charges = [log.replayed(one, policy).totals.money.total for policy in FEW]
    assert judged.best == charges.index(min(charges))
    assert judged.charges[judged.best] == min(charges)


@few
@given(lines=logs, own=rules)
def test_no_policy_goes_below_its_bounds(lines: list[Line], own: RuleSettings) -> None:
    """Sessions that share a cache could each profit from another's writes: only the sum of the
    best ones is no bound there (see `Judged`)."""
    log, one = from_sketch(lines), scenario("claude-opus-5", own)
    judged = judged_or_none(log, one, NAMES, STEPS, POLICIES)

    assert judged.clairvoyant <= judged.charges.min()
    assert judged.per_session <= judged.charges.min()


@few
@given(steps=st.lists(step, min_size=1, max_size=14), typed=st.booleans())
def test_no_policy_over_token_blocks_goes_below_its_bounds(
    steps: list[dict[str, object]], typed: bool
) -> None:
    log = SmallLog(built(steps, typed), META)
    one = scenario("claude-opus-5")
    judged = judged_or_none(log, one, TOKEN_NAMES, TOKEN_STEPS, TOKEN_POLICIES)

    # each session has a cache of its own here
    assert judged.clairvoyant <= judged.per_session <= judged.charges.min()


@few
@given(lines=logs)
def test_a_sessions_own_best_is_the_least_of_its_charges(lines: list[Line]) -> None:
    """By session and model: the least over all candidates, by the ordinary way."""
    log, one = from_sketch(lines), scenario("claude-opus-5")
    policies = FEW[:8]  # those without pings
    judged = judged_or_none(log, one, FEW_NAMES, BLOCK_STEPS, policies)

    by_policy = []
    for policy in policies:
        charges: dict[tuple[object, ...], int] = {}
        for request, paid in _paid(log, one, policy):
            key = (request.account, request.session_id or request.request_id, request.model)
            charges[key] = charges.get(key, 0) + paid
        by_policy.append(charges)
    assert judged.per_session == sum(min(c[key] for c in by_policy) for key in by_policy[0])


def _paid(log: SmallLog, one: Scenario, policy: Policy) -> list[tuple[Request, int]]:
    """Each request with its charge, without pings."""
    marked = replace(one, settings=replace(one.settings, mark=policy.mark))
    rows = Billing(marked, CATALOG, log.meta).rows(log.requests)
    return [(row.request, 0 if row.charge is None else row.charge.total) for row in rows]


def test_a_marker_that_stands_before_a_1h_one_lives_an_hour() -> None:
    """Of seven blocks the fourth is marked 5m, the fifth (the previous end) 1h: both are 1h."""
    prompt = [("system", "S", 600), ("system", "T", 600), ("user", "U", 600),
              ("assistant", "A", 600), ("user", "V", 600), ("assistant", "B", 600),
              ("user", "W", 600)]  # fmt: skip
    log, one = from_sketch([line(0, *prompt)]), scenario("claude-opus-5")
    (policy,) = [p for p in POLICIES if p.mark == "every4:5m+previous:1h" and p.pings is None]

    judged = log.judged(one, NAMES, STEPS, [policy])
    assert judged.charges.tolist() == [5 * 600 * 10_000_000 + 2 * 600 * 5_000_000]
    # ten minutes later the shorter prefix is still there
    cut = line(601, *prompt[:4])
    later = from_sketch([line(0, *prompt), cut])
    assert later.judged(one, NAMES, STEPS, [policy]).charges.tolist() == [
        later.replayed(one, policy).totals.money.total
    ]


def test_segments_end_at_the_same_tokens_in_every_prompt() -> None:
    """The first prompt ends where the second has a position of the grid (found by hypothesis)."""
    one = {"after_s": 0, "session": "a", "keep": 1.0, "tail": 0, "first_token_s": None,
           "end_s": None, "model": "m", "typed": True}  # fmt: skip
    log = SmallLog(
        built([{**one, "new_blocks": 2}, {**one, "after_s": 1, "new_blocks": 3}], False), META
    )
    judged = log.judged(scenario("claude-opus-5"), TOKEN_NAMES, TOKEN_STEPS, TOKEN_POLICIES)

    # 512 tokens written and read again, 768 fresh: cheaper than twice fresh, 5 + 5
    output = 1 * 25_000_000  # the second request has one token
    assert judged.clairvoyant == 512 * (6_250_000 + 500_000) + 768 * 5_000_000 + output
    assert judged.clairvoyant <= judged.per_session <= judged.charges.min()


def test_a_boundary_inside_a_segment_can_be_read_before_the_segment_was_ever_seen() -> None:
    """Three blocks are shared, up to the system text; the segments end at 2 and 4 (hypothesis)."""
    one = {"session": "a", "tail": 0, "first_token_s": None, "end_s": None, "model": "m",
           "typed": True}  # fmt: skip
    steps = [
        {**one, "after_s": 0, "keep": 1.0, "new_blocks": 6},
        {**one, "after_s": 1, "keep": 0.5, "new_blocks": 1},
    ]
    log = SmallLog(built(steps, True), META)
    judged = log.judged(scenario("claude-opus-5"), TOKEN_NAMES, TOKEN_STEPS, TOKEN_POLICIES)

    # of 1536 tokens 512 are written and 1024 fresh; then 768 are read and 256 fresh
    output = 1 * 25_000_000  # the second request has one token
    assert judged.clairvoyant == (
        512 * 6_250_000 + 1024 * 5_000_000 + 768 * 500_000 + 256 * 5_000_000 + output
    )
    assert judged.clairvoyant <= judged.per_session <= judged.charges.min()


def test_candidates_are_all_lawful_choices_of_four_places() -> None:
    """Of n places in a fixed order, lives fall from 1h to 5m at one of n + 1 points."""
    two = [policy for policy in candidates(("tools", "end")) if policy.pings is None]
    assert [policy.mark for policy in two] == [
        "none", "tools:5m", "tools:1h", "end:5m", "end:1h", "tools:5m+end:5m", "tools:1h+end:5m",
        "tools:1h+end:1h",
    ]  # fmt: skip
    # 5m: 240 and 290 s, 1h: 3300 s, one to six times each; the mixed one has all 18
    assert len(candidates(("tools", "end"))) == 8 + 3 * 12 + 3 * 6 + 18


@pytest.mark.parametrize(
    ("names", "count"), [(place_names(BLOCK_STEPS), 11_145), (TOKEN_NAMES, 6_597)]
)
def test_the_whole_space_is_far_more_than_a_toy(names: tuple[str, ...], count: int) -> None:
    assert len(candidates(names)) == count
