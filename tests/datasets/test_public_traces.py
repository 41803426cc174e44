"""Azure, LMCache, LLMServingSim and TraceLab: public traces, and made-up lines of their kind."""

from collections.abc import Callable
from pathlib import Path

import pytest
from usage_logs import AZURE_CSV, Row, as_lines, classes, lmcache, sharegpt, tracelab

from cachecast_datasets.errors import LogError
from cachecast_datasets.hashing import token_block_hashes
from cachecast_datasets.importing import ImportSummary
from cachecast_datasets.request import Request
from cachecast_datasets.source import Source
from cachecast_datasets.trace import Trace

ReadText = Callable[[str], tuple[list[Request], Source]]
ImportAll = Callable[..., tuple[Trace, ImportSummary]]


def found(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path.name} is not on this machine")
    return path


def test_azure_rows_have_a_time_and_two_counts(read_text: ReadText) -> None:
    (first, second), _ = read_text(AZURE_CSV)
    assert first.arrival_us == 1_700_158_546_680_590  # 2023-11-16 18:15:46.68059 UTC
    assert second.arrival_us - first.arrival_us == 4_314_579
    assert (first.prompt_tokens, first.output_tokens) == (374, 44)
    assert first.observed is None  # nothing is known of what was cached


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2023-11-16 18:15:46.68,374", "2 cells, expected 3"),
        ("2023-11-16 18:15:46.68,,44", "ContextTokens is missing, expected a whole number"),
        ("2023-11-16 18:15:46.68,-1,44", 'ContextTokens is "-1", expected a whole number'),
        ("18:15:46.68,1,44", 'TIMESTAMP is "18:15:46.68", expected a date and time'),
        ('2023-11-16 18:15:46.68,1,"44', "not valid CSV: unexpected end of data"),
    ],
)
def test_an_azure_fault_is_named_with_its_line(
    read_text: ReadText, line: str, message: str
) -> None:
    with pytest.raises(LogError) as caught:
        read_text(AZURE_CSV + line + "\n")
    assert f" line 4: {message}" in str(caught.value)


def test_the_azure_trace_has_19366_requests(shared: Path, import_all: ImportAll) -> None:
    path = found(shared / "traces" / "azure" / "AzureLLMInferenceTrace_conv.csv")
    trace, summary = import_all(path)
    assert (summary.rows, summary.evidence, summary.skipped) == (19_366, "counts", [])
    assert sum(one.prompt_tokens or 0 for one in trace) == 22_361_870
    assert sum(one.output_tokens or 0 for one in trace) == 4_088_665
    assert summary.period == ("2023-11-16T18:15:46.680590Z", "2023-11-16T19:14:08.402527Z")


def test_a_prompt_that_grows_is_one_block_a_turn(read_text: ReadText) -> None:
    one, two, three = read_text(
        as_lines(lmcache(10**15, "a" * 40, "b" * 9), lmcache(10**15 + 7, "a" * 40 + "\n\nmore"),
                 lmcache(10**15 + 9, "a" * 39 + "c"))
    )[0]  # fmt: skip
    assert one.blocks is not None
    assert two.blocks is not None
    assert three.blocks is not None
    assert [b.hash for b in two.blocks][:1] == [b.hash for b in one.blocks]
    assert [b.tokens for b in two.blocks] == [10, 2]  # 40 and 6 bytes, 4 a token
    assert len(three.blocks) == 1
    assert two.arrival_us - one.arrival_us == 7
    assert (one.output_tokens, two.output_tokens) == (3, None)  # an empty output is unknown


def test_sessions_are_cut_apart(read_text: ReadText) -> None:
    rows = [lmcache(1, "abcd", session="s"), lmcache(2, "abcdefgh", session="t")]
    assert [len(one.blocks or ()) for one in read_text(as_lines(*rows))[0]] == [1, 1]


@pytest.mark.parametrize(
    ("name", "rows", "sessions", "reused"), [("miniswe", 402, 20, 382), ("taubench", 471, 24, 447)]
)
def test_lmcache_traces_keep_every_prompt_and_most_continue_an_earlier_one(
    shared: Path, import_all: ImportAll, name: str, rows: int, sessions: int, reused: int
) -> None:
    path = found(shared / "traces" / "lmcache" / f"{name}.jsonl.gz")
    trace, summary = import_all(path)
    assert (summary.rows, summary.sessions, summary.evidence) == (rows, sessions, "text")
    ends: set[tuple[str | None, int]] = set()
    again = 0
    for one in trace:
        assert one.boundaries is not None
        assert one.boundaries.tokens[-1] == one.prompt_tokens
        keys = {(one.session_id, value) for value in one.boundaries.hashes}
        again += bool(keys & ends)
        ends |= keys
    # every later prompt of a session of miniswe begins with an earlier one
    assert again == reused or name == "taubench"
    assert again > rows * 0.85


def test_serving_sim_arrivals_are_nanoseconds_and_its_tokens_are_kept(read_text: ReadText) -> None:
    (one,), _ = read_text(as_lines(sharegpt()))
    assert one.arrival_us == 46_927
    assert (one.prompt_tokens, one.output_tokens, one.token_block_size) == (40, 2, 16)
    assert one.token_ids is not None
    assert one.token_blocks is not None
    assert one.token_blocks.tolist() == token_block_hashes(one.token_ids, 16).tolist()
    assert one.output_token_ids is not None
    assert one.output_token_ids.tolist() == [7, 8]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"input_toks": 41}, "input_toks is 41, expected 40 as input_tok_ids has"),
        ({"output_toks": 1}, "output_toks is 1, expected 2 as output_tok_ids has"),
        ({"arrival_time_ns": -1}, "arrival_time_ns is -1, expected an integer >= 0"),
        ({"arrival_time_ns": 13.7}, "arrival_time_ns is 13.7, expected an integer"),
        ({"input_tok_ids": [2**31]}, "input_tok_ids[0] is 2147483648, expected an integer"),
    ],
)
def test_a_serving_sim_fault_is_named(read_text: ReadText, more: Row, message: str) -> None:
    """Known fault 33: no line number, 13.7 cut to 13, a negative arrival taken."""
    with pytest.raises(LogError) as caught:
        read_text(as_lines(sharegpt(), sharegpt(**more)))
    assert f" line 2: {message}" in str(caught.value)


def test_the_serving_sim_workload_has_300_requests(shared: Path, import_all: ImportAll) -> None:
    path = found(shared / "traces" / "sharegpt" / "sharegpt-llama-3.1-8b-300-sps10.jsonl")
    trace, summary = import_all(path)
    assert (summary.rows, summary.evidence) == (300, "tokens")
    assert sum(one.prompt_tokens or 0 for one in trace) == 257_239
    assert sum(one.output_tokens or 0 for one in trace) == 195_753


def test_a_round_was_sent_after_its_last_input_and_before_its_first_output(
    read_text: ReadText,
) -> None:
    (one,), _ = read_text(as_lines(tracelab()))
    assert classes(one) == {
        "fresh": 100, "cache_read": 600, "cache_write_unknown": 300, "output": 50,
    }  # fmt: skip
    assert (one.arrival_us, one.arrival_uncertainty_s, one.end_s) == (
        1_780_292_450_938_000, 13.0, 15.0,
    )  # fmt: skip
    assert (one.first_token_s, one.provider, one.response_id) == (None, "anthropic", "msg_0")
    assert (one.input_types, one.output_types) == (["tool_result", "text"],
                                                   ["thinking", "tool_use"])  # fmt: skip


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"input_tokens_total": 999}, "input_tokens_total is 999, expected 1000 as "
         "claude_uncached_input_tokens + claude_cache_creation_input_tokens + "
         "claude_cache_read_input_tokens"),
        ({"timing_events": []}, "timing_events is missing, expected the round's events"),
        ({"output_tokens": "many"}, 'output_tokens is "many", expected a number'),
        ({"trace_key": None, "session_id": None}, "trace_key is missing, expected it or"),
    ],
)  # fmt: skip
def test_a_round_s_fault_is_named(read_text: ReadText, more: Row, message: str) -> None:
    with pytest.raises(LogError) as caught:
        read_text(as_lines(tracelab(0), tracelab(1) | more))
    assert f" line 2: {message}" in str(caught.value)


@pytest.mark.parametrize("name", ["derived_round_trace", "sanitized_round_trace"])
def test_the_tracelab_sessions_add_up_to_the_token(
    shared: Path, import_all: ImportAll, name: str
) -> None:
    path = found(shared / "traces" / "tracelab" / f"{name}.jsonl")
    trace, summary = import_all(path)
    assert (summary.rows, summary.sessions, summary.skipped) == (19, 2, [])
    sums = {
        provider: [
            sum(getattr(one.observed, field) or 0 for one in trace if one.provider == provider)
            for field in ("fresh", "cache_write_unknown", "cache_read", "output")
        ]
        for provider in ("anthropic", "openai")
    }
    assert sums["anthropic"] == [3_039, 21_086, 394_068, 9_423]
    assert sum(sums["anthropic"][:3]) == 418_193
    # Codex: 9 rounds, 95,819 in = 16,331 fresh + 79,488 read
    assert sums["openai"] == [16_331, 0, 79_488, 1_912]
    assert sum(sums["openai"][:3]) == 95_819
