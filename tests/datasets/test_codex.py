"""Codex rollouts: which token counts are calls, what they used, and their prompts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_transcripts import codex, count, meta, micros, said, used

from cachecast_datasets.boundaries import content_boundaries
from cachecast_datasets.errors import LogError
from cachecast_datasets.importing import ImportSummary
from cachecast_datasets.request import Observed, Request
from cachecast_datasets.trace import Trace

Write = Callable[..., Path]
ImportAll = Callable[..., tuple[Trace, ImportSummary]]
Read = Callable[..., list[Request]]

A = "01a7c9e4-6d12-7b3a-9f42-8c6d5e1a0b73"
NAME = f"rollout-2026-06-01T12-00-00-{A}.jsonl"


@pytest.fixture
def read(write: Write, import_all: ImportAll) -> Read:
    """The requests of one rollout made of these lines."""

    def run(*lines: Any, name: str = NAME) -> list[Request]:
        return list(import_all(write(*lines, name=name))[0])

    return run


def seen(request: Request) -> Observed:
    assert request.observed is not None
    return request.observed


def usages(found: list[Request]) -> list[tuple[Any, ...]]:
    return [(one.prompt_tokens, seen(one).cache_read, one.output_tokens) for one in found]


def test_two_plain_calls_are_two_requests_with_their_own_counts(read: Read) -> None:
    # 43,884 - 20,149 = 23,735 in, 20,480 - 9,984 = 10,496 of them cached, 11 - 5 = 6 out
    found = read(
        meta(0, A),
        count(5, used(20_149, 9_984, 5), used(20_149, 9_984, 5)),
        count(9, used(43_884, 20_480, 11), used(23_735, 10_496, 6)),
    )
    assert usages(found) == [(20_149, 9_984, 5), (23_735, 10_496, 6)]
    assert [one.request_id for one in found] == [f"{A}/1", f"{A}/2"]
    assert seen(found[1]).fresh == 23_735 - 10_496


def test_without_last_the_totals_are_subtracted(read: Read) -> None:
    found = read(count(5, used(20_149, 9_984, 5), None), count(9, used(43_884, 20_480, 11), None))
    assert usages(found) == [(20_149, 9_984, 5), (23_735, 10_496, 6)]


def test_last_goes_before_the_difference_of_the_totals(read: Read) -> None:
    found = read(
        count(5, used(100, 0, 5), used(100, 0, 5)), count(9, used(900, 0, 50), used(300, 20, 6))
    )
    assert usages(found)[1] == (300, 20, 6)


def test_an_event_that_repeats_its_total_is_no_new_call(read: Read) -> None:
    event = count(5, used(100, 0, 5), used(100, 0, 5))
    later = count(7, used(100, 0, 5), used(100, 0, 5))  # new rate limits, an old count
    other = count(9, used(200, 0, 10), used(100, 0, 5))  # equal usage, but a call
    assert usages(read(event, event, later, other)) == [(100, 0, 5), (100, 0, 5)]


def test_the_keys_of_an_event_may_stand_in_any_order(read: Read) -> None:
    # as `jq -S` writes them, with 200 bytes and more before the type
    event = count(5, used(100, 20, 5), used(100, 20, 5))
    event["payload"] = dict(sorted(event["payload"].items()))
    assert list(event["payload"]) == ["info", "rate_limits", "type"]
    other = codex(6, "event_msg", info="token_count", type="agent_message")
    assert usages(read(event, other)) == [(100, 20, 5)]


def test_an_event_without_info_is_no_call(read: Read) -> None:
    nothing = codex(4, "event_msg", type="token_count", info=None, rate_limits={})
    assert usages(read(nothing, count(5, used(100), used(100)))) == [(100, 0, 0)]


def test_a_full_context_is_no_call_and_counting_goes_on_from_zero(read: Read) -> None:
    full = used(0) | {"total_tokens": 258_400}
    found = read(
        count(5, used(1_000, 0, 5), None), count(6, full, full), count(9, used(300, 0, 7), None)
    )
    assert usages(found) == [(1_000, 0, 5), (300, 0, 7)]


def test_a_full_context_is_no_call_even_if_last_repeats_the_call_before(read: Read) -> None:
    full = used(0) | {"total_tokens": 258_400}
    found = read(count(5, used(100, 0, 5), used(100, 0, 5)), count(6, full, used(100, 0, 5)))
    assert usages(found) == [(100, 0, 5)]


def test_cached_and_written_tokens_are_inside_the_input_and_reasoning_inside_the_output(
    read: Read,
) -> None:
    usage = used(1_000, 600, 50, cache_write_input_tokens=300, reasoning_output_tokens=20)
    (one,) = read(count(5, usage, usage))
    assert (seen(one).fresh, seen(one).cache_read, seen(one).cache_write_30m) == (100, 600, 300)
    assert (seen(one).output, seen(one).output_reasoning) == (50, 20)
    assert one.prompt_tokens == 1_000


def test_builds_that_report_no_writes_are_named(write: Write, import_all: ImportAll) -> None:
    with_writes = used(10, cache_write_input_tokens=0)
    _, summary = import_all(write(count(5, with_writes, with_writes), name=NAME))
    assert summary.warnings == []
    _, summary = import_all(write(count(5, used(10), used(10)), name=NAME))
    assert summary.warnings == ["calls of builds that report no cache writes, taken as none: 1"]


@pytest.mark.parametrize(
    ("model", "cached", "odd"),
    [
        ("gpt-5.4", 115_584, False),  # 903 x 128
        ("gpt-5.4", 115_585, True),
        ("gpt-5-codex", 100, True),
        ("gpt-5.6-sol", 3_207, False),
        ("gpt-5.10", 3_207, False),
        ("kimi-k3", 3_207, False),
    ],
)
def test_counts_that_openai_would_not_have_made_are_named(
    write: Write, import_all: ImportAll, model: str, cached: int, odd: bool
) -> None:
    usage = used(120_000, cached, cache_write_input_tokens=0)
    path = write(codex(1, "turn_context", model=model), count(5, usage, usage), name=NAME)
    assert [line for line in import_all(path)[1].warnings if "no multiple of 128" in line] == (
        [
            "calls of models before GPT-5.6 whose cached tokens are no multiple of 128: another "
            "server than OpenAI's may have counted them in its own way: 1"
        ]
        if odd
        else []
    )


def test_more_cached_than_input_is_an_error(write: Write, import_all: ImportAll) -> None:
    path = write(count(5, used(100, 101), used(100, 101)), name=NAME)
    with pytest.raises(LogError, match=r"line 1: cached_input_tokens 101 and .* input_tokens 100"):
        import_all(path)
    assert import_all(path, skip_bad=True)[1].skipped[0].count == 1


def test_model_effort_tier_and_provider_come_from_other_lines(read: Read) -> None:
    first, second = read(
        meta(0, A, model_provider="azure"),
        codex(1, "turn_context", model="gpt-5.4", effort="high"),
        count(5, used(100), used(100)),
        codex(6, "turn_context", model="codex-auto-review"),
        codex(7, "event_msg", type="thread_settings_applied",
              thread_settings={"service_tier": "priority"}),
        count(9, used(200), used(100)),
    )  # fmt: skip
    assert (first.model, dict(first.settings)) == ("gpt-5.4", {"reasoning.effort": "high"})
    assert (first.provider, first.service_tier) == ("azure", None)
    assert (second.model, second.service_tier) == ("codex-auto-review", "priority")


def test_a_file_without_a_model_has_none_and_openai_is_the_provider(read: Read) -> None:
    (one,) = read(meta(0, A), count(5, used(100), used(100)))
    assert (one.model, one.provider) == (None, "openai")


def call(at_s: float, name: str) -> dict[str, Any]:
    return codex(at_s, "response_item", type="function_call", name="exec", call_id=name,
                 arguments="{}")  # fmt: skip


def result(at_s: float, name: str, output: str) -> dict[str, Any]:
    return codex(at_s, "response_item", type="function_call_output", call_id=name, output=output)


THREAD = [
    meta(0, A, base_instructions={"text": "i" * 400}),
    said(1, "developer", "d" * 40),
    said(2, "user", "q" * 40),
    codex(4, "response_item", type="reasoning", summary=[], encrypted_content="e" * 80),
    call(5, "c1"),
    result(5.5, "c1", "early"),  # before the count of the call that asked for it
    count(6, used(1_000, 0, 30), used(1_000, 0, 30)),
    said(8, "assistant", "done"),
    count(9, used(2_100, 0, 40), used(1_100, 0, 10)),
]


def shape(request: Request) -> list[tuple[str, str, int]]:
    assert request.blocks is not None
    return [(block.section, block.kind, block.tokens) for block in request.blocks]


def test_a_prompt_is_the_instructions_and_every_item_before_the_answer(read: Read) -> None:
    first, second = read(*THREAD)
    # 480 visible characters are 120 tokens; the tools are the other 880
    assert shape(first) == [
        ("tools", "text", 880), ("system", "text", 100), ("developer", "text", 10),
        ("user", "text", 10),
    ]  # fmt: skip
    # of 100 more, 30 are what the first call wrote
    assert shape(second)[:4] == shape(first)
    (thinking, asked, answered) = shape(second)[4:]
    assert (thinking[1], asked[1], answered) == (
        "thinking",
        "tool_use",
        ("tool", "tool_result", 70),
    )
    assert thinking[2] + asked[2] == 30
    for one in (first, second):
        assert one.boundaries == content_boundaries(one.blocks or [])


def test_a_call_starts_at_its_last_input_and_ends_at_its_count(read: Read) -> None:
    first, second = read(*THREAD)
    assert (first.arrival_us, first.arrival_uncertainty_s, first.end_s) == (micros(2), 2.0, 4.0)
    assert (second.arrival_us, second.arrival_uncertainty_s, second.end_s) == (
        micros(5.5), 2.5, 3.5,
    )  # fmt: skip
    assert first.output_types == ["thinking", "tool_use"]


def test_after_a_compaction_the_prompt_starts_anew(read: Read) -> None:
    summary = {"type": "message", "role": "user",
               "content": [{"type": "input_text", "text": "s" * 40}]}  # fmt: skip
    lines = [
        *THREAD,
        codex(10, "compacted", message="s", replacement_history=[summary]),
        count(12, used(3_090, 0, 50), used(990, 0, 10)),
    ]
    *_, last = read(*lines)
    assert shape(last) == [("tools", "text", 880), ("system", "text", 100), ("user", "text", 10)]


def test_archived_copies_of_sessions_are_left_out(
    write: Write, import_all: ImportAll, tmp_path: Path
) -> None:
    write(*THREAD, name=f"home/sessions/2026/06/01/{NAME}")
    write(*THREAD, name=f"home/archived_sessions/{NAME}")
    other = NAME.replace("8c6d5e1a0b73", "8c6d5e1a0b74")
    write(meta(0, other[-42:-6]), *THREAD[1:], name=f"home/archived_sessions/{other}")
    trace, summary = import_all(tmp_path / "home")
    assert trace.rows == 4
    assert "archived files that sessions/ holds too, left out: 1" in summary.warnings


def test_the_same_thread_under_two_roots_is_counted_once(
    write: Write, import_all: ImportAll, tmp_path: Path
) -> None:
    for root in ("a", "b"):
        write(*THREAD, name=f"{root}/{NAME}")
    trace, summary = import_all(tmp_path / "a", tmp_path / "b")
    assert trace.rows == 2
    assert "requests in several files, counted once: 2" in summary.warnings


def test_codex_exec_output_is_a_row_a_turn_without_times(
    write: Write, import_all: ImportAll
) -> None:
    trace, summary = import_all(
        write(
            {"type": "thread.started", "thread_id": "t"},
            {"type": "turn.started"},
            {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "hi"}},
            {"type": "turn.completed", "usage": {"input_tokens": 100, "cached_input_tokens": 60,
                                                 "output_tokens": 5}},
            {"type": "turn.completed", "usage": {"input_tokens": 300, "cached_input_tokens": 160,
                                                 "output_tokens": 9}},
        )
    )  # fmt: skip
    assert usages(list(trace)) == [(100, 60, 5), (200, 100, 4)]
    assert (summary.evidence, trace.meta.time_origin) == ("counts", "relative")
    assert summary.warnings[0].startswith("output of codex exec --json: a row is a turn")
