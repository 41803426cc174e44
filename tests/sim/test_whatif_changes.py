"""What each change does to a small log, in numbers that a reader can redo."""

from collections.abc import Sequence

import pytest
from rule_sketches import Line, line
from sim.optimize_logs import CATALOG, from_sketch, scenario

from cachecast_datasets.errors import BadInput, EvidenceError
from cachecast_datasets.request import Request
from cachecast_sim.sessions import session_key
from cachecast_sim.whatif.change import ChangedLog, check_evidence
from cachecast_sim.whatif.changes import change_of
from cachecast_sim.whatif.compare import Difference, difference
from cachecast_sim.whatif.replay import Replay, replay

# Opus 5, picounits a token: input 5, read 0.5, written 6.25 (5m) and 10 (1h) dollars a million
FRESH, READ, SHORT, LONG, OUTPUT = 5_000_000, 500_000, 6_250_000, 10_000_000, 25_000_000
SYSTEM = ("system", "S", 1000, "5m")


def what_if(changes: str, *lines: Line) -> tuple[Replay, Difference]:
    """The lines under Opus 5, replayed with the changes against the lines as they are."""
    log, one = from_sketch(lines), scenario("claude-opus-5")
    sessions = {r.request_id: session_key(r) for r in log.requests}

    def run(asked: Sequence[str]) -> Replay:
        found = [change_of(text, CATALOG) for text in asked]
        return replay(one, found, ChangedLog(log.requests), CATALOG, log.meta, sessions)

    changed = run(changes.split(","))
    return changed, difference(changed, run(()))


def changed_log(change: str, *lines: Line) -> list[Request]:
    """The requests that the change sends."""
    log = from_sketch(lines)
    return list(change_of(change, CATALOG).log(ChangedLog(log.requests)).requests)


def test_an_hour_saves_a_write_that_five_minutes_would_pay_again() -> None:
    """1000 tokens, 10 minutes apart: two 5m writes against a 1h write and a read."""
    changed, moved = what_if("ttl=1h", line(0, SYSTEM), line(600, SYSTEM))

    assert changed.totals.money.total == 1000 * (LONG + READ)
    assert moved.charge == 1000 * (LONG + READ - 2 * SHORT)
    assert (moved.hit_tokens, moved.prefill_tokens) == (1000, -1000)


def test_lifetimes_with_a_slash_are_for_the_first_marker_and_the_others() -> None:
    prompt = SYSTEM, ("user", "A", 10, "5m"), ("user", "B", 9, "5m")
    made = changed_log("ttl=1h/5m", line(0, *prompt))

    assert [block.marker for block in made[0].blocks or ()] == ["1h", "5m", "5m"]


def test_a_session_that_never_comes_back_loses_what_the_other_wins() -> None:
    """s comes back after ten minutes, t does not: an hour costs t 1000 x (10 - 6.25)."""
    once = line(0, ("system", "other", 1000, "5m"), session="t")
    changed, moved = what_if("ttl=1h", line(0, SYSTEM), once, line(600, SYSTEM))

    assert (moved.better, moved.worse, moved.sessions) == (1, 1, 2)
    assert moved.share_worse == 0.5
    assert moved.charge == 1000 * (LONG + READ - 2 * SHORT) + 1000 * (LONG - SHORT)
    assert changed.prefill_tokens == 2000


def test_pings_keep_an_entry_alive_and_their_charge_is_in_the_total() -> None:
    """Ten minutes bridged by pings at 290 and 580 s; then two more after the last request."""
    changed, moved = what_if("keep-alive=290x2", line(0, SYSTEM), line(600, SYSTEM))

    assert changed.extra_requests == 4
    assert changed.extra_charge == 4 * (1000 * READ + OUTPUT)
    assert changed.totals.money.total == 1000 * (SHORT + READ) + changed.extra_charge
    assert (moved.hit_tokens, moved.prefill_tokens) == (1000, -1000)  # pings are not the log's own


def test_paying_pings_are_sent_in_bridged_pauses_only() -> None:
    """Not in 300 s, where the entry lives anyhow, nor in 881 s, which two pings cannot bridge."""
    times = [0, 300, 601, 1481, 2362]
    made = changed_log("keep-alive=290x2:paying", *(line(at, SYSTEM) for at in times))

    pings = [r.arrival_us // 10**6 for r in made if "ping" in r.request_id]
    assert pings == [300 + 290, 601 + 290, 601 + 580]


def test_a_ping_is_not_sent_at_the_moment_of_the_next_request() -> None:
    made = changed_log("keep-alive=290x2", line(0, SYSTEM), line(580, SYSTEM))
    assert [r.request_id for r in made] == ["1", "1~ping1", "2", "2~ping1", "2~ping2"]


def test_a_clock_that_is_dropped_leaves_one_system_text() -> None:
    noon, later = (line(at, ("system", f"at {at}", 1000, "5m", {"masked": "at"})) for at in (0, 10))
    changed, moved = what_if("volatile=drop", noon, later)

    assert moved.charge == 1000 * (READ - SHORT)
    assert changed.hit_tokens == 1000


def test_a_clock_that_is_moved_follows_its_turn_and_stays_in_the_history() -> None:
    first, second = (
        ("system", "at 0", 1000, "5m", {"masked": "at"}),
        ("system", "at 9", 1000, "5m", {"masked": "at"}),
    )
    lines = (
        line(0, first, ("user", "Q", 10, "5m")),
        line(9, second, ("user", "Q", 10), ("assistant", "A", 5), ("user", "R", 10, "5m")),
    )
    made = changed_log("volatile=move", *lines)

    assert [b.tokens for b in made[0].blocks or ()] == [1000, 10, 20]
    assert [b.tokens for b in made[1].blocks or ()] == [1000, 10, 20, 5, 10, 20]
    assert [b.marker for b in made[1].blocks or ()] == ["5m", None, None, None, None, "5m"]
    # all 1030 tokens of the first request are read
    assert what_if("volatile=move", *lines)[0].hit_tokens == 1030


def test_tools_in_another_order_are_put_in_one_and_markers_keep_their_places() -> None:
    a, b = ("tools", "A", 600), ("tools", "B", 400)
    lines = (line(0, a, (*b, "5m")), line(9, b, (*a, "5m")))
    made = changed_log("order=tools", *lines)

    assert [x.marker for x in made[1].blocks or ()] == [None, "5m"]
    assert what_if("order=tools", *lines)[1].charge == 1000 * (READ - SHORT)


def test_json_keys_in_another_order_are_one_text() -> None:
    lines = [
        line(at, ("tools", name, 1000, "5m", {"canonical": "T"}))
        for at, name in ((0, "x"), (9, "y"))
    ]
    assert what_if("order=keys", *lines)[1].charge == 1000 * (READ - SHORT)


def test_a_block_that_is_rewritten_in_place_goes_last() -> None:
    lines = [line(at, ("system", f"state {at}", 50), ("user", "Q", 1000, "5m")) for at in (0, 9)]
    changed, moved = what_if("summary=last", *lines)

    assert changed.hit_tokens == 1000
    assert moved.prefill_tokens == -1000


def test_a_history_above_the_limit_becomes_a_summary_that_one_more_request_makes() -> None:
    """1000 + 30 tokens are above 1020: the summary of 7 is asked with the prompt before."""
    q, a, r = ("user", "Q", 10), ("assistant", "A", 10), ("user", "R", 10, "5m")
    made = changed_log("compaction=1020:7", line(0, SYSTEM, q), line(9, SYSTEM, q, a, r))

    assert [request.request_id for request in made] == ["1", "2~summary", "2"]
    assert [b.tokens for b in made[1].blocks or ()] == [1000, 10]
    assert made[1].output_tokens == 7
    assert [b.tokens for b in made[2].blocks or ()] == [1000, 7, 10]


def test_sessions_that_no_longer_share_a_cache_write_each_for_itself() -> None:
    changed, moved = what_if("tenant=session", line(0, SYSTEM), line(9, SYSTEM, session="t"))
    assert moved.charge == 1000 * (SHORT - READ)
    assert changed.hit_tokens == 0


def test_accounts_that_share_a_cache_write_once() -> None:
    _, moved = what_if("tenant=shared", line(0, SYSTEM), line(9, SYSTEM, account="b"))
    assert moved.charge == 1000 * (READ - SHORT)


def test_a_batch_pays_half() -> None:
    changed, moved = what_if("batch=on", line(0, SYSTEM, output=4))
    assert changed.totals.money.total * 2 == 1000 * SHORT + 4 * OUTPUT
    assert moved.charge == -changed.totals.money.total


def test_a_prewarmed_head_is_read_by_the_first_request() -> None:
    lines = [line(10, SYSTEM, ("user", "Q", 5))]
    changed, moved = what_if("prewarm=5", *lines)

    assert changed.extra_charge == 1000 * SHORT
    assert changed.totals.money.total == 1000 * (SHORT + READ) + 5 * FRESH
    assert moved.charge == 1000 * READ


def test_an_exact_repeat_is_answered_without_the_provider() -> None:
    """The third one has other settings, the fourth comes before the second answer could have."""
    lines = [
        line(0, SYSTEM, output=40, took=2),
        line(1, SYSTEM, output=40, took=2),
        line(3, SYSTEM, output=40, took=2, settings={"temperature": "1"}),
        line(9, SYSTEM, output=40, took=2),
    ]
    changed, moved = what_if("response=exact", *lines)

    assert (changed.served_requests, changed.served_tokens) == (1, 1000)
    assert changed.served_output_tokens == 40
    assert moved.charge == -(1000 * READ + 40 * OUTPUT)
    assert any("could ever serve 2 of 4 requests (50.0 %)" in a for a in changed.assumptions)


@pytest.mark.parametrize(("life_s", "served"), [(8, 0), (9, 1)])
def test_an_answer_lives_as_long_as_it_is_asked_to(life_s: int, served: int) -> None:
    lines = [line(0, SYSTEM, took=2), line(9, SYSTEM, took=2)]
    assert what_if(f"response=exact:{life_s}", *lines)[0].served_requests == served


def test_changes_are_applied_one_after_the_other() -> None:
    """Without the clock the entry is kept alive: one write, a ping, a read, a ping."""
    noon, later = (
        line(at, ("system", f"at {at}", 1000, "5m", {"masked": "at"})) for at in (0, 500)
    )
    changed, _ = what_if("volatile=drop,keep-alive=290x1", noon, later)
    assert changed.totals.money.total == 1000 * (SHORT + READ) + 2 * (1000 * READ + OUTPUT)


def test_two_currencies_are_not_compared() -> None:
    log, one = from_sketch([line(0, SYSTEM)]), scenario("claude-opus-5")
    sessions = {r.request_id: session_key(r) for r in log.requests}

    def run(*changes: str) -> Replay:
        found = [change_of(text, CATALOG) for text in changes]
        return replay(one, found, ChangedLog(log.requests), CATALOG, log.meta, sessions)

    moved = difference(run("model=deepseek-flash", "currency=CNY"), run())
    assert (moved.charge, moved.better, moved.worse) == (None, None, None)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("ttl", "expected ttl=VALUE"),
        ("ttl=9m", "expected one of 5m"),
        ("ttl=1h/9m", "ttl=1h/5m"),
        ("mark=tools:9m", "tools:9m, expected tools:5m or tools:1h"),
        ("keep-alive=290", None),
        ("keep-alive=0x3", "as 290x3"),
        ("keep-alive=290x3:always", "as 290x3"),
        ("volatile=hide", "volatile=drop"),
        ("order=up", "order=tools"),
        ("summary=first", "summary=last"),
        ("compaction=0", "compaction=TOKENS"),
        ("tenant=all", "tenant=shared or tenant=session"),
        ("cache-key=x", "cache-key=session"),
        ("batch=off", "batch=on"),
        ("prewarm=soon", "prewarm=5"),
        ("response=similar", "response=exact"),
        ("response=exact:", "response=exact:SECONDS"),
        ("response=exact:0", "response=exact:SECONDS, 1 to 999999999"),
        ("model=claude-opus-55", "claude-opus-5.5"),
        ("nothing=1", "unknown change 'nothing'"),
    ],
)
def test_a_bad_change_says_what_is_accepted(change: str, says: str | None) -> None:
    if says is None:  # one ping is the default
        assert change_of(change, CATALOG).text == change
        return
    with pytest.raises(BadInput, match=says):
        change_of(change, CATALOG).scenario(scenario("claude-opus-5"))


@pytest.mark.parametrize(
    "change", ["volatile=drop", "order=stable", "summary=last", "compaction=9", "prewarm=5"]
)
def test_a_change_of_texts_needs_content_blocks(change: str) -> None:
    made = change_of(change, CATALOG)
    for evidence in ("text", "blocks"):
        check_evidence(made, evidence)
    for evidence in ("tokens", "token_blocks"):
        with pytest.raises(EvidenceError, match="needs a log with content blocks"):
            check_evidence(made, evidence)
