"""Claude Code transcripts: which lines are one request, and what it used."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from made_transcripts import (
    answer,
    clock,
    micros,
    split,
    text,
    tokens,
    tool_use,
    user,
    without,
)

from cachecast_datasets.errors import LogError
from cachecast_datasets.importing import ImportSummary
from cachecast_datasets.request import Observed, Request
from cachecast_datasets.trace import Trace

Write = Callable[..., Path]
ImportAll = Callable[..., tuple[Trace, ImportSummary]]
Read = Callable[..., list[Request]]


@pytest.fixture
def read(write: Write, import_all: ImportAll) -> Read:
    """The requests of one transcript made of these lines."""

    def run(*lines: Any, **options: Any) -> list[Request]:
        return list(import_all(write(*lines, name="s1.jsonl"), **options)[0])

    return run


def seen(request: Request) -> Observed:
    assert request.observed is not None
    return request.observed


def test_br45_the_lines_of_one_response_are_one_request_with_the_final_output(read: Read) -> None:
    lines = [
        answer(1, "a1", None, tokens(10, output=9), text("a"), stop=None),
        answer(2, "a2", "a1", tokens(10, output=9), text("b"), stop=None),
        answer(3, "a3", "a2", tokens(10, output=159), tool_use("t1"), stop="tool_use"),
    ]
    (one,) = read(*lines)
    assert (one.output_tokens, seen(one).output) == (159, 159)
    (one,) = read(*reversed(lines))  # wherever the final line stands
    assert one.output_tokens == 159


def test_br46_two_snapshots_of_one_response_keep_the_input_and_the_larger_output(
    read: Read,
) -> None:
    (one,) = read(
        answer(1, "a1", None, tokens(10, 15_555, 11_862, 3), text("a"), stop=None),
        answer(2, "a2", "a1", tokens(10, 15_555, 11_862, 812), text("a")),
    )
    assert (one.prompt_tokens, one.output_tokens) == (10 + 15_555 + 11_862, 812)


def test_of_equal_outputs_the_line_with_a_stop_reason_counts(read: Read) -> None:
    (one,) = read(
        answer(1, "a1", None, tokens(10, output=5, service_tier="standard"), stop=None),
        answer(2, "a2", "a1", tokens(10, output=5, service_tier="priority")),
    )
    assert one.service_tier == "priority"


def test_br48_without_a_request_id_the_message_id_counts_within_its_session(read: Read) -> None:
    lines = [
        answer(1, "a1", None, tokens(10, output=1), id="m"),
        answer(2, "a2", "a1", tokens(10, output=7), id="m"),
        answer(3, "a3", None, tokens(10, output=3), id="m", sessionId="s2"),  # another gateway's
    ]
    found = read(*(without(line, "requestId") for line in lines))
    assert [(one.request_id, one.output_tokens) for one in found] == [("s1/m", 7), ("s2/m", 3)]


def test_br50_twins_14_ms_apart_are_two_requests(read: Read) -> None:
    lines = [
        answer(at, uuid, None, tokens(1_000, output=5), text("warm"), id=uuid, requestId=uuid)
        for at, uuid in ((1.0, "a1"), (1.014, "a2"))
    ]
    assert len(read(*lines)) == 2


def test_lines_without_any_id_are_a_request_each(read: Read) -> None:
    line = without(answer(1, "a1", None, tokens(10, output=5)), "requestId", "uuid")
    del line["message"]["id"]
    found = read(line, line)
    assert [one.request_id for one in found] == ["s1:1", "s1:2"]


def test_br51_placeholder_counts_of_old_versions_are_named_as_lower_bounds(
    write: Write, import_all: ImportAll
) -> None:
    old = [
        answer(
            at, f"a{at}", None, tokens(at % 2, 900, 50, 1), id=f"m{at}", stop=None, version="1.0.9"
        )
        for at in range(4)
    ]
    new = answer(9, "a9", None, tokens(1, 900, 50, 1), id="m9")  # final: 1 is what it was
    trace, summary = import_all(write(*old, new))
    assert summary.warnings == [
        "placeholder counts (input 0 or 1, no stop reason), so that input and output are lower "
        "bounds: 4 requests, client versions up to 1.0.9",
        "requests without a stop reason, whose output is a lower bound: 4",
    ]
    assert sum(seen(one).cache_read or 0 for one in trace) == 5 * 900


def test_br52_sub_agents_in_folders_of_their_own_are_read(
    write: Write, import_all: ImportAll, tmp_path: Path
) -> None:
    write(answer(1, "a1", None, tokens(100)), name="projects/p/s1.jsonl")
    side = answer(2, "b1", None, tokens(40), id="m2", isSidechain=True)
    write(side, name="projects/p/s1/subagents/agent-7f.jsonl")
    trace, _ = import_all(tmp_path / "projects")
    main, agent = trace
    assert (main.is_sidechain, main.agent_id) == (False, None)
    assert (agent.is_sidechain, agent.agent_id, agent.session_id) == (True, "7f", "s1")


@pytest.mark.parametrize("where", ["same file", "agent's file", "another source"])
def test_a_message_that_a_side_chain_repeats_is_counted_once_on_the_main_chain(
    write: Write, import_all: ImportAll, tmp_path: Path, where: str
) -> None:
    replay = answer(0, "b1", None, tokens(10, output=5), isSidechain=True, requestId="req_other")
    own = answer(3, "b2", None, tokens(30), id="msg_2", isSidechain=True)
    main = answer(1, "a1", None, tokens(10, output=5))
    if where == "same file":
        write(replay, main, own, name="p/s1.jsonl")
    else:
        write(main, name="p/s1.jsonl")
        write(replay, own, name="p/agent-1.jsonl")
    files = [tmp_path / "p" / name for name in ("s1.jsonl", "agent-1.jsonl")]
    trace, summary = import_all(*(files if where == "another source" else [tmp_path / "p"]))
    assert [(one.request_id, one.is_sidechain) for one in trace] == [
        ("msg_1/req_1", False), ("msg_2/req_1", True),
    ]  # fmt: skip
    assert summary.warnings == ["messages that side chains repeat, counted once: 1"]


@pytest.mark.parametrize("roots", [1, 2])
def test_a_resumed_session_does_not_count_its_copied_lines_again(
    write: Write, import_all: ImportAll, tmp_path: Path, roots: int
) -> None:
    first = answer(1, "a1", None, tokens(10, output=5), text("one"))
    more = answer(2, "a2", "a1", tokens(30, output=5), text("two"), id="msg_2", sessionId="s2")
    write(first, name="r0/s1.jsonl")
    write(first | {"sessionId": "s2"}, more, name=f"r{roots - 1}/s2.jsonl")
    trace, summary = import_all(*(tmp_path / f"r{number}" for number in range(roots)))
    assert [one.prompt_tokens for one in trace] == [10, 30]
    assert summary.warnings == ["requests in several files (resumed sessions), counted once: 1"]


def test_what_the_client_wrote_itself_is_no_request(write: Write, import_all: ImportAll) -> None:
    trace, summary = import_all(
        write(
            answer(1, "a1", None, tokens(0), text("API Error"), model="<synthetic>"),
            answer(2, "a2", None, tokens(0), text("529"), id="m2", isApiErrorMessage=True),
            answer(3, "a3", None, tokens(7), id="m3"),
        )
    )
    assert [one.prompt_tokens for one in trace] == [7]
    assert summary.warnings == [
        "messages that the client wrote (<synthetic>, API errors), no requests: 2"
    ]


def test_an_answer_without_usage_is_counted_and_named(write: Write, import_all: ImportAll) -> None:
    _, summary = import_all(write(answer(1, "a1", None, None, text("hello"))))
    assert (summary.rows, summary.warnings[0]) == (
        0,
        "assistant lines without usage, no requests: 1",
    )


def test_writes_are_split_by_lifetime_where_the_log_splits_them(read: Read) -> None:
    both, none = read(
        answer(1, "a1", None, tokens(3, 100, 50, 5, cache_creation=split(20, 30))),
        answer(2, "a2", None, tokens(3, 100, 50, 5), id="m2"),
    )
    assert (seen(both).cache_write_5m, seen(both).cache_write_1h) == (20, 30)
    assert seen(both).cache_write_unknown == 0
    assert (seen(none).cache_write_5m, seen(none).cache_write_unknown) == (0, 50)
    assert both.prompt_tokens == none.prompt_tokens == 153


def test_a_null_is_unknown_and_a_missing_class_is_zero(read: Read) -> None:
    null, missing = read(
        answer(1, "a1", None, tokens(3) | {"cache_read_input_tokens": None}),
        answer(2, "a2", None, {"input_tokens": 3, "output_tokens": 1}, id="m2"),
    )
    assert (seen(null).cache_read, null.prompt_tokens) == (None, None)
    assert (seen(missing).cache_read, missing.prompt_tokens) == (0, 3)


def test_a_split_that_contradicts_its_total_is_an_error(read: Read) -> None:
    line = answer(1, "a1", None, tokens(3, 0, 50, cache_creation=split(20, 31)))
    with pytest.raises(LogError, match=r"line 1: cache_creation_input_tokens is 50, expected 51"):
        read(line)
    assert read(line, skip_bad=True) == []


def test_iterations_are_summed_and_the_prompt_is_the_first_ones(read: Read) -> None:
    # the top level counts only the last iteration: 3 + 700 and 3 + 200, 60 + 40 out
    steps = [tokens(3, 700, 0, 60, type="compaction"), tokens(3, 200, 0, 40, type="message")]
    (one,) = read(answer(1, "a1", None, tokens(3, 200, 0, 40, iterations=steps)))
    assert (seen(one).fresh, seen(one).cache_read, one.output_tokens) == (6, 900, 100)
    assert one.prompt_tokens == 703  # the prompt that was sent
    assert seen(one).iterations is not None


def test_model_suffix_tier_speed_cost_and_raw_usage_are_kept(read: Read) -> None:
    usage = tokens(3, output=5, service_tier="standard", speed="fast", new_field=1)
    (one,) = read(answer(1, "a1", None, usage, model="claude-opus-4-8[1m]", costUSD=0.12))
    assert (one.model, one.service_tier, one.speed) == ("claude-opus-4-8[1m]", "standard", "fast")
    assert (one.provider, one.platform, one.region, one.account) == ("anthropic", None, None, None)
    assert (seen(one).cost, seen(one).cost_kind) == (Decimal("0.12"), "estimate")
    assert '"new_field": 1' in (seen(one).raw_json or "")


@pytest.mark.parametrize(
    ("message_id", "platform"), [("msg_bdrk_1", "bedrock"), ("msg_vrtx_1", "vertex")]
)
def test_the_platform_is_known_where_the_message_id_names_it(
    read: Read, message_id: str, platform: str
) -> None:
    assert read(answer(1, "a1", None, tokens(3), id=message_id))[0].platform == platform


@pytest.mark.parametrize(
    ("geo", "region"), [("us", "us"), ("global", None), ("not_available", None)]
)
def test_a_region_that_costs_more_is_kept(read: Read, geo: str, region: str | None) -> None:
    assert read(answer(1, "a1", None, tokens(3, inference_geo=geo)))[0].region == region


def test_another_makers_model_has_no_known_provider(read: Read) -> None:
    assert read(answer(1, "a1", None, tokens(3), model="kimi-k3"))[0].provider is None


def test_a_request_arrives_when_the_last_line_it_needed_was_written(read: Read) -> None:
    # asked at 10, answered in lines at 14 and 17
    (one,) = read(
        user(10, "u1", None, "hi"),
        answer(14, "a1", "u1", tokens(30), text("a"), stop=None),
        answer(17, "a2", "a1", tokens(30, output=5), text("b")),
    )
    assert (one.arrival_us, one.arrival_uncertainty_s, one.end_s) == (micros(10), 4.0, 7.0)


def test_without_a_parent_line_it_may_have_started_an_output_earlier(read: Read) -> None:
    (one,) = read(answer(14, "a1", None, tokens(30, output=80)))
    # 80 tokens at 40 a second
    assert (one.arrival_us, one.arrival_uncertainty_s, one.end_s) == (micros(14), 2.0, 0.0)


def test_a_usage_without_a_time_is_an_error(read: Read) -> None:
    with pytest.raises(LogError, match="line 1: timestamp is missing"):
        read(without(answer(1, "a1", None, tokens(3)), "timestamp"))


@pytest.mark.parametrize("count", [-1, 1.5, "3", 2**60])
def test_a_count_that_is_none_is_an_error_that_names_it(read: Read, count: Any) -> None:
    with pytest.raises(LogError, match=r"line 2: input_tokens is .*, expected"):
        read(user(0, "u1", None, "hi"), answer(1, "a1", "u1", tokens(count)))


def test_other_lines_of_the_client_are_passed_over(read: Read) -> None:
    found = read(
        {"type": "summary", "summary": "s", "leafUuid": "x"},
        {"type": "mode", "mode": "normal", "sessionId": "s1"},
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
        {"type": "system", "uuid": "y", "sessionId": "s1", "timestamp": clock(0)},
        answer(1, "a1", None, tokens(3)),
    )
    assert len(found) == 1


def test_a_log_without_messages_says_that_it_has_counts_only(
    write: Write, import_all: ImportAll
) -> None:
    trace, summary = import_all(write(answer(1, "a1", None, tokens(3), text("a"))))
    assert (summary.evidence, summary.source_format) == ("counts", "claude-code")
    assert not trace.meta.carries_markers
    assert trace.meta.time_origin == "absolute"
