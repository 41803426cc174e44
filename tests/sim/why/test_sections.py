"""Misses cut at the ends of sections: tokens and money to the last one."""

from rule_sketches import Line, line
from rule_sketches import rows as ledger_rows
from why_sketches import asked

from cachecast_datasets.request import Request
from cachecast_sim.why.sections import parts_of, section_ends

OPUS = "claude-opus-5"
FIVE_MINUTES, READ = 6_250_000, 500_000  # picounits a token


def conversation(tool: str) -> list[tuple[object, ...]]:
    return [
        ("tools", tool, 500),
        ("system", "S", 3000, "5m"),
        ("user", "Q", 200, "5m"),
        ("user", "tail", 40),
    ]


def two() -> list[Line]:
    return [line(0, *conversation("T1")), line(10, *conversation("T2"))]


def test_a_miss_over_three_sections_is_cut_at_their_ends() -> None:
    row = ledger_rows(OPUS, *two())[1]
    found = [(section, miss.reason, miss.tokens, miss.cost) for section, miss in parts_of(row)]
    dearer = FIVE_MINUTES - READ
    assert found == [
        ("tools", "tools_changed", 500, 500 * dearer),
        ("system", "tools_changed", 3000, 3000 * dearer),
        ("user", "tools_changed", 200, 200 * dearer),
        # behind the last marker at the plain price of $5 a million
        ("user", "uncached_tail", 40, 40 * (5_000_000 - READ)),
    ]


def test_the_groups_have_the_requests_that_missed_in_them() -> None:
    rollup = asked(OPUS, two()).rollup
    sections = {name: (s.requests, s.tokens) for name, s in rollup.groups["section"].items()}
    # both requests miss everything: the first is the cold start
    assert sections == {"tools": (2, 1000), "system": (2, 6000), "user": (2, 480)}
    changed = rollup.reasons["tools_changed"].sections
    assert {name: s.tokens for name, s in changed.items()} == {
        "tools": 500,
        "system": 3000,
        "user": 200,
    }


def test_token_blocks_have_the_sections_that_their_counts_tell() -> None:
    known = Request("r", 0, tools_tokens=100, system_tokens=50)
    assert section_ends(known, 400) == [("tools", 100), ("system", 150), ("messages", 400)]
    assert section_ends(Request("r", 0), 400) == [("unknown", 400)]
    only_tools = Request("r", 0, tools_tokens=400, system_tokens=0)
    assert section_ends(only_tools, 400) == [("tools", 400)]
