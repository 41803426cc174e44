"""Synthetic logs: stated parameters, a seed, and no surprises."""

import dataclasses
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cachecast_datasets.errors import BadInput
from cachecast_datasets.importing import import_log
from cachecast_datasets.synthetic.calls import CLOCK_TOKENS, Call, calls
from cachecast_datasets.synthetic.generating import generate
from cachecast_datasets.synthetic.lines import pair_line, sketch_line, text_of
from cachecast_datasets.synthetic.workload import KINDS, Workload
from cachecast_datasets.trace import open_trace


def replaced(kind: str, **changed: Any) -> Workload:
    return dataclasses.replace(KINDS[kind], **changed)


def exact(kind: str, requests: int, sessions: int | None = None, **changed: Any) -> list[Call]:
    return list(calls(replaced(kind, vary=0, **changed), 0, requests, sessions))


def test_a_chat_without_variation_grows_by_an_answer_and_a_question() -> None:
    """1,200 of system text, questions of 120, answers of 350; 60 s to think after each answer."""
    first, second, third = exact("chat", 3, 1)

    assert [c.prompt_tokens for c in (first, second, third)] == [
        1200 + 120, 1200 + 120 + 350 + 120, 1200 + 120 + 2 * (350 + 120),
    ]  # fmt: skip
    # 0.3 s + 1,320 x 0.1 ms to the first token, 350 x 12.5 ms to the last
    assert (first.at_s, first.first_token_s, first.end_s) == (0, 0.432, 4.807)
    assert second.at_s == pytest.approx(4.807 + 60, abs=0.001)
    assert [part.name for part in third.prompt] == [
        "common system", "s1 ask 1", "s1 answer 1", "s1 ask 2", "s1 answer 2", "s1 ask 3",
    ]  # fmt: skip
    assert third.marked == {0, 5}


def test_a_turn_of_an_agent_is_steps_with_tool_results() -> None:
    """3 steps with 2 calls each: two results of 900 tokens before the next step."""
    first, second, third, fourth = exact("coding-agent", 4, 1, steps=3, parallel=2, turns=2)

    assert [len(c.answer) for c in (first, second, third, fourth)] == [2, 2, 1, 2]
    assert [part.kind for part in second.prompt[-4:]] == [
        "tool_use", "tool_use", "tool_result", "tool_result",
    ]  # fmt: skip
    assert [part.joined for part in second.prompt[-4:]] == [False, True, False, True]
    assert second.prompt_tokens == first.prompt_tokens + 250 + 2 * 900
    assert second.at_s == pytest.approx(first.at_s + first.end_s + 2, abs=0.001)
    assert fourth.at_s == pytest.approx(third.at_s + third.end_s + 45, abs=0.001)


@pytest.mark.parametrize("sharing", [0, 1])
def test_sharing_decides_whose_document_it_is(sharing: int) -> None:
    found = exact("documents", 4, turns=1, sharing=sharing)
    documents = {part.name for c in found for part in c.prompt if part.kind == "document"}
    assert len(documents) == (1 if sharing else 4)


def test_each_fault_hits_every_third_session_and_no_other() -> None:
    found = exact(
        "coding-agent", 200, 6, clock_in_system=True, shuffle_tools=True, pause_s=900, turns=2
    )
    clocks = {c.session for c in found if any(part.masked for part in c.prompt)}
    orders: dict[str, set[tuple[str, ...]]] = {}
    starts: dict[str, list[float]] = {}
    for c in found:
        tools = tuple(part.name for part in c.prompt if part.section == "tools")
        orders.setdefault(c.session, set()).add(tools)
        starts.setdefault(c.session, []).append(c.at_s)
    gaps = {s: max(b - a for a, b in pairwise(at)) for s, at in starts.items()}

    assert clocks == {"s1", "s4"}
    assert {session for session, seen in orders.items() if len(seen) > 1} == {"s2", "s5"}
    assert {session for session, gap in gaps.items() if gap > 900} == {"s3", "s6"}
    lead = next(c for c in found if c.session == "s1").prompt[12]
    assert (lead.section, lead.tokens, lead.masked) == ("system", CLOCK_TOKENS, "clock")


def test_arrivals_come_in_order_and_sessions_at_about_the_rate() -> None:
    found = list(calls(replaced("batch", rate_per_hour=3600), 3, 4000))
    assert [c.at_s for c in found] == sorted(c.at_s for c in found)
    # 4,000 arrivals, one a second on average: four standard deviations are 4 x sqrt(4,000)
    assert abs(found[-1].at_s - 4000) < 4 * 4000**0.5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("line", [sketch_line, pair_line])
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(
    tmp_path: Path, kind: str, line: Any
) -> None:
    made = []
    for number, seed in enumerate((7, 7, 8)):
        out = tmp_path / str(number)
        assert generate(KINDS[kind], out, line, requests=15, seed=seed)[0] == 15
        made.append(out.read_bytes())
    assert made[0] == made[1] != made[2]


@pytest.mark.parametrize("kind", KINDS)
def test_a_sketch_says_what_was_planned(tmp_path: Path, kind: str) -> None:
    log, out = tmp_path / "log", tmp_path / "log.parquet"
    generate(KINDS[kind], log, sketch_line, requests=30, seed=1)
    import_log([log], out)
    planned = list(calls(KINDS[kind], 1, 30))

    for request, call in zip(open_trace(out), planned, strict=True):
        assert (request.request_id, request.session_id) == (call.id, call.session)
        assert (request.prompt_tokens, request.output_tokens) == (
            call.prompt_tokens, call.output_tokens,
        )  # fmt: skip
        assert request.blocks is not None
        assert {n for n, b in enumerate(request.blocks) if b.marker} == call.marked


def test_a_pair_holds_the_prompt_as_text_four_characters_a_token() -> None:
    workload = replaced("tool-heavy", vary=0, turns=1, steps=2, clock_in_system=True)
    _, second = calls(workload, 0, 2, 1)
    row = json.loads(pair_line(workload, second))

    body = row["request"]
    assert list(row) == [
        "id", "session", "account", "start_time", "first_token_s", "end_s", "request", "response",
    ]  # fmt: skip
    assert row["start_time"].startswith("2026-11-02T09:00:")
    assert len(body["tools"]) == 60
    assert body["system"][0]["text"].startswith("It is 2026-11-02T09:00:")
    assert body["system"][1]["cache_control"] == {"type": "ephemeral"}
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    uses, results = (body["messages"][n]["content"] for n in (1, 2))
    assert [use["id"] for use in uses] == [result["tool_use_id"] for result in results]
    assert len(results[0]["content"]) == 4 * 2500 - 1
    assert "usage" not in row["response"]
    told = json.loads(pair_line(workload, second, usage=True))["response"]["usage"]
    assert told == {
        "input_tokens": second.prompt_tokens, "output_tokens": second.output_tokens,
    }  # fmt: skip


def test_equal_names_are_equal_text() -> None:
    assert text_of("a", 3) == text_of("a", 3) != text_of("b", 3)
    assert len(text_of("a", 100)) == 399


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "log"
    out.write_text("mine")
    with pytest.raises(BadInput, match=r"exists already, expected a new file \(or --force\)"):
        generate(KINDS["chat"], out, sketch_line, requests=1)
    assert out.read_text() == "mine"
    assert generate(KINDS["chat"], out, sketch_line, requests=0, force=True) == (0, 0)
