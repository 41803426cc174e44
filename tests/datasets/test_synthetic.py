"""Synthetic logs: stated parameters, a seed, and no surprises."""

import dataclasses
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cachecast_datasets.errors import BadInput
from cachecast_datasets.importing import import_log
from cachecast_datasets.synthetic.calls import calls
from cachecast_datasets.synthetic.generating import generate
from cachecast_datasets.synthetic.lines import pair_line, sketch_line, text_of
from cachecast_datasets.synthetic.sessions import (
    CLOCK_TOKENS,
    SUMMARY_ASK_TOKENS,
    SUMMARY_TOKENS,
    TITLE_SYSTEM_TOKENS,
    Call,
)
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


def test_sessions_take_turns_with_the_faults_that_are_on_and_the_first_has_none() -> None:
    on = replaced("chat", clock_in_system=True, pause_s=900, add_tool=True)

    assert [on.fault_of(session) for session in range(1, 7)] == [
        None, "clock_in_system", "pause_s", "add_tool", None, "clock_in_system",
    ]  # fmt: skip
    assert KINDS["chat"].fault_of(1) is KINDS["chat"].fault_of(2) is None


def test_each_fault_hits_its_sessions_and_no_other() -> None:
    found = exact(
        "coding-agent", 400, 12, clock_in_system=True, shuffle_tools=True, pause_s=900, turns=2,
        edit_system=True, add_tool=True,
    )  # fmt: skip
    tools: dict[str, set[tuple[str, ...]]] = {}
    systems: dict[str, set[str]] = {}
    starts: dict[str, list[float]] = {}
    for c in found:
        names = tuple(part.name for part in c.prompt if part.section == "tools")
        tools.setdefault(c.session, set()).add(names)
        fixed = (p.name for p in c.prompt if p.section == "system" and not p.masked)
        systems.setdefault(c.session, set()).update(fixed)
        starts.setdefault(c.session, []).append(c.at_s)
    gaps = {s: max(b - a for a, b in pairwise(at)) for s, at in starts.items()}

    def sessions_where(test: Callable[[str], bool]) -> set[str]:
        return {session for session in tools if test(session)}

    assert {c.session for c in found if any(part.masked for part in c.prompt)} == {"s2", "s8"}
    shuffled = sessions_where(lambda s: len(tools[s]) > 1 and len({len(t) for t in tools[s]}) == 1)
    assert shuffled == {"s3", "s9"}
    assert sessions_where(lambda s: gaps[s] > 900) == {"s4", "s10"}
    assert sessions_where(lambda s: len(systems[s]) == 2) == {"s5", "s11"}
    assert sessions_where(lambda s: {len(t) for t in tools[s]} == {12, 13}) == {"s6", "s12"}
    lead = next(c for c in found if c.session == "s2").prompt[12]
    assert (lead.section, lead.tokens, lead.masked) == ("system", CLOCK_TOKENS, "clock")


def test_a_burst_starts_at_one_moment_and_the_rate_stays() -> None:
    found = list(calls(replaced("batch", rate_per_hour=3600, burst=4), 3, 4000))
    starts = [c.at_s for c in found]
    assert [starts.count(at_s) for at_s in dict.fromkeys(starts)] == [4] * 1000
    # 1,000 bursts, 4 s apart on average: four standard deviations are 4 x 4 x sqrt(1,000)
    assert abs(starts[-1] - 4000) < 16 * 1000**0.5


def test_a_title_is_asked_of_another_model_and_the_session_does_not_wait_for_it() -> None:
    title, first, second = exact("chat", 3, 1, title_model="claude-haiku-4.5")

    assert (title.id, title.model, title.at_s) == ("s1-title", "claude-haiku-4.5", 0)
    assert title.prompt_tokens == TITLE_SYSTEM_TOKENS + 120
    assert (first.id, first.model, first.at_s) == ("s1-1", "claude-opus-5", 0)
    assert first.prompt_tokens == 1200 + 120
    assert second.prompt_tokens == 1200 + 120 + 350 + 120  # the title is not in it


def test_a_history_longer_than_the_limit_is_summed_up_before_the_next_turn() -> None:
    """After two turns the history is 2 x (120 + 350) tokens, 940; it is summed up beyond 939."""
    kept = exact("chat", 3, 1, compact_tokens=940)
    assert kept[2].prompt_tokens == 1200 + 940 + 120

    _, _, summary, third = exact("chat", 4, 1, compact_tokens=939)
    assert summary.prompt_tokens == 1200 + 940 + SUMMARY_ASK_TOKENS
    assert summary.output_tokens == SUMMARY_TOKENS
    assert third.prompt_tokens == 1200 + SUMMARY_TOKENS + 120
    assert [part.name for part in third.prompt[1:]] == ["s1 summary 3", "s1 ask 3"]
    assert [part.joined for part in third.prompt[1:]] == [False, True]
    assert third.at_s == pytest.approx(summary.at_s + summary.end_s, abs=0.001)


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
    workload = replaced(
        "tool-heavy", vary=0, turns=1, steps=2, clock_in_system=True, tool_tokens=50
    )
    _, second = (call for call in calls(workload, 0, 4, 2) if call.session == "s2")
    row = json.loads(pair_line(workload, second))

    body = row["request"]
    assert list(row) == [
        "id", "session", "account", "start_time", "first_token_s", "end_s", "request", "response",
    ]  # fmt: skip
    assert row["start_time"].startswith("2026-11-02T09:")
    assert len(body["tools"]) == 60
    assert len(json.dumps(body["tools"][0], separators=(",", ":"))) == 4 * 50
    assert body["system"][0]["text"].startswith(f"It is {row['start_time'][:-1]}+00:00. ")
    assert len(body["system"][0]["text"]) == 4 * CLOCK_TOKENS
    assert body["system"][1]["cache_control"] == {"type": "ephemeral"}
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    uses, results = (body["messages"][n]["content"] for n in (1, 2))
    assert [use["id"] for use in uses] == [result["tool_use_id"] for result in results]
    assert len(results[0]["content"]) == 4 * 2500 - 1


def test_the_usage_of_a_pair_tells_the_output_and_of_the_prompt_only_what_was_asked_for() -> None:
    (call,) = exact("chat", 1)
    told = [
        json.loads(pair_line(KINDS["chat"], call, usage=usage))["response"]["usage"]
        for usage in (False, True)
    ]

    assert told[0] == {
        "input_tokens": None, "cache_creation_input_tokens": None,
        "cache_read_input_tokens": None, "output_tokens": 350,
    }  # fmt: skip
    assert told[1] == {"input_tokens": 1320, "output_tokens": 350}


@pytest.mark.parametrize("kind", KINDS)
def test_the_blocks_of_a_pair_are_read_with_the_tokens_that_were_planned(
    tmp_path: Path, kind: str
) -> None:
    log, out = tmp_path / "log", tmp_path / "log.parquet"
    workload = replaced(kind, clock_in_system=True, title_model="claude-haiku-4.5")
    generate(workload, log, pair_line, requests=30, seed=1)
    import_log([log], out)

    for request, call in zip(open_trace(out), calls(workload, 1, 30), strict=True):
        assert request.blocks is not None
        assert [b.tokens for b in request.blocks] == [part.tokens for part in call.prompt]
        assert [b.kind for b in request.blocks] == [part.kind for part in call.prompt]
        assert {n for n, b in enumerate(request.blocks) if b.marker} == call.marked
        assert (request.output_tokens, request.model) == (call.output_tokens, call.model)


def test_equal_names_are_equal_text() -> None:
    assert text_of("a", 3) == text_of("a", 3) != text_of("b", 3)
    assert len(text_of("a", 100)) == 399
    assert len(text_of("a", 100, around=10)) == 390
    assert text_of("a", 2, around=9) == ""


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "log"
    out.write_text("mine")
    with pytest.raises(BadInput, match=r"exists already, expected a new file \(or --force\)"):
        generate(KINDS["chat"], out, sketch_line, requests=1)
    assert out.read_text() == "mine"
    assert generate(KINDS["chat"], out, sketch_line, requests=0, force=True) == (0, 0)
