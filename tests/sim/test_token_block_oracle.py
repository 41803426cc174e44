"""Random sessions of token blocks: the real rules against a list of entries, scanned linearly."""

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cachecast.scenarios import scenario_of
from cachecast_datasets.importing import open_or_import
from cachecast_pricing.catalog import load_catalog
from cachecast_sim.billing import Billing

Session = dict[str, Any]
Row = tuple[int, int, int, str | None, int]  # read, written, fresh, reason, sum of the misses

B, TOOLS, SYSTEM = 64, 700, 900  # tools end at 10 blocks, tools and system at 25
LIFE = 300
CHAINS = [
    [*range(70)],
    [*range(40), *range(100, 130)],
    [*range(25), *range(200, 245)],
    [*range(10), *range(300, 360)],
]


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """One session whose prompts are the first blocks of a few chains."""
    calls, at = [], 0.0
    for _ in range(draw(st.integers(1, 10))):
        ids = draw(st.sampled_from(CHAINS))[: draw(st.integers(1, 70))]
        model = draw(st.sampled_from(["claude-opus-5"] * 4 + ["claude-opus-4.8"]))
        extra = draw(st.integers(0, B - 1))
        calls.append(
            {"t": at, "type": "n", "model": model, "in": len(ids) * B + extra, "out": 5,
             "hash_ids": ids}
        )  # fmt: skip
        at += draw(st.sampled_from([0, 1, 1, 60, 60, 299, 300, 301]))
    return {
        "id": "one", "block_size": B, "hash_id_scope": "local", "requests": calls,
        "tool_tokens": TOOLS, "system_tokens": SYSTEM,
    }  # fmt: skip


def replay(scenario: str, session: Session) -> list[Row]:
    """What the real rules say."""
    catalog = load_catalog()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "one.json"
        log.write_text(json.dumps(session))
        trace = open_or_import([log], tmp_dir=Path(folder))
        billing = Billing(scenario_of(scenario, catalog), catalog, trace.meta)
        rows = list(billing.rows(trace.requests(columns=billing.columns())))
    return [
        (row.usage.cache_read, row.usage.cache_write, row.usage.fresh,
         row.outcome.explanation.reason, sum(miss.tokens for miss in row.misses))
        for row in rows
    ]  # fmt: skip


def by_hand(session: Session, system_marked: bool) -> list[tuple[int, int, int]]:
    """Read, written, fresh: the longest live entry that is a prefix is read."""
    entries: dict[tuple[Any, ...], float] = {}  # (model, *ids) -> expiry
    found = []
    for call in session["requests"]:
        ids, now = call["hash_ids"], call["t"]
        live = [
            n for n in range(len(ids), 0, -1)
            if entries.get((call["model"], *ids[:n]), -1) >= now
        ]  # fmt: skip
        # the places a marker looks at: the ends of earlier turns, the system, the tools, its own
        read = live[0] if live else 0
        ends = [len(ids)]
        if system_marked and len(ids) >= (TOOLS + SYSTEM) // B:
            ends.append((TOOLS + SYSTEM) // B)
        ok = [n for n in ends if n * B >= 512]
        last = max([read, *ok])
        found.append((read * B, (last - read) * B, call["in"] - last * B))
        for n in [*ok, *([read] if read else [])]:
            entries[(call["model"], *ids[:n])] = now + LIFE
    return found


@settings(max_examples=100)
@given(sessions(), st.booleans())
def test_anthropic_on_token_blocks(session: Session, system_marked: bool) -> None:
    policy = "system+last" if system_marked else "last"
    rows = replay(f"claude-opus-5,mark={policy},first_token=0", session)
    assert [row[:3] for row in rows] == by_hand(session, system_marked)


@settings(max_examples=60)
@given(
    sessions(),
    st.sampled_from(
        ["claude-opus-5", "claude-opus-5,ttl=1h,mark=last", "gpt-6-sol", "gpt-5.4", "gpt-5.5",
         "deepseek-flash", "deepseek-flash,unit=64", "deepseek-flash,interval=500", "log"]
    ),
    st.data(),
)  # fmt: skip
def test_classes_misses_and_causality_hold_on_token_blocks(
    session: Session, scenario: str, data: st.DataObject
) -> None:
    rows = replay(scenario, session)
    for call, (read, written, fresh, _, unread) in zip(session["requests"], rows, strict=True):
        assert read + written + fresh == call["in"]
        assert unread == call["in"] - read
    kept = data.draw(st.integers(1, len(rows)))
    assert replay(scenario, session | {"requests": session["requests"][:kept]}) == rows[:kept]
