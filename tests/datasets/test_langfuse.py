"""Langfuse observations: disjoint buckets, inclusive rows, wrappers, and every spelling."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from usage_logs import Row, as_csv, as_lines, classes, langfuse, langfuse_blob

from cachecast_datasets.errors import LogError
from cachecast_datasets.request import Request
from cachecast_datasets.source import Source

ReadText = Callable[[str], tuple[list[Request], Source]]


def test_buckets_are_disjoint_and_reasoning_joins_the_output(read_text: ReadText) -> None:
    (one,), source = read_text(as_lines(langfuse()))
    # 100 + 600 + 200 + 100 = 1,000 in, 40 + 10 = 50 out: the total of 1,050
    assert classes(one) == {
        "fresh": 100, "cache_read": 600, "cache_write_5m": 200, "cache_write_1h": 100, "output": 50,
    }  # fmt: skip
    assert one.observed is not None
    assert one.observed.output_reasoning == 10
    assert (one.observed.cost, one.observed.cost_kind) == (Decimal("0.00105"), "estimate")
    assert (one.arrival_us, one.first_token_s, one.end_s) == (1_780_308_000_250_000, 1.5, 4.0)
    assert (one.session_id, one.model, one.status, one.response_id) == (
        "s1", "claude-opus-4-8", "ok", "msg_1",
    )  # fmt: skip
    assert [(b.section, b.message) for b in one.blocks or ()] == [("system", 0), ("user", 1)]
    assert sum(b.tokens for b in one.blocks or ()) == 1000
    assert source.notes == []


@pytest.mark.parametrize("made", [langfuse, lambda: langfuse_blob(langfuse())])
def test_blob_and_csv_say_what_the_api_says(read_text: ReadText, made: Callable[[], Row]) -> None:
    """Times without a zone are UTC; cells hold JSON. A blob row has no session, only its trace."""
    (api,), _ = read_text(as_lines(langfuse()))
    for text in (as_lines(made()), as_csv(made())):
        (one,), _ = read_text(text)
        if one.session_id == "trace-1":
            one.session_id = "s1"
        assert one.observed is not None
        one.observed = one.observed._replace(raw_json=None)
        assert api.observed is not None
        api.observed = api.observed._replace(raw_json=None)
        one.source_line = api.source_line
        assert one == api


SPELLINGS: list[Row] = [
    {"input": 100, "input_cached_tokens": 600, "input_cache_creation": 300, "output": 50},
    {"input_tokens": 100, "input_cache_read": 600, "cache_creation_input_tokens": 300,
     "output_tokens": 50},
    {"prompt_tokens": 100, "cache_read_input_tokens": 600, "input_cache_write": 300,
     "completion_tokens": 50},
    {"input": "100", "input_cache_read": 600.0, "cache_write_tokens": 300, "output": 45,
     "reasoning_tokens": 5},
    {"input": 100, "input_cache_read": 600, "input_cache_write": 300, "output": 45,
     "output_reasoning": 5, "total": 1050},
]  # fmt: skip


@pytest.mark.parametrize("usage", SPELLINGS)
def test_every_spelling_of_a_bucket_is_read(read_text: ReadText, usage: Row) -> None:
    (one,), _ = read_text(as_lines(langfuse(usage=usage)))
    assert classes(one) == {
        "fresh": 100, "cache_read": 600, "cache_write_unknown": 300, "output": 50,
    }  # fmt: skip
    assert one.prompt_tokens == 1000


@pytest.mark.parametrize("total", [{}, {"total": 1_050}])
def test_buckets_of_other_names_are_fresh_input_or_output(read_text: ReadText, total: Row) -> None:
    # 80 + 20 of sound = 100 fresh, 600 + 300 cached; 30 + 15 of sound + 5 of reasoning = 50 out
    usage = {
        "input": 80, "input_audio_tokens": 20, "input_cache_read": 600, "input_cache_write": 300,
        "output": 30, "output_audio_tokens": 15, "output_reasoning": 5, **total,
    }  # fmt: skip
    (one,), _ = read_text(as_lines(langfuse(usage=usage)))
    assert classes(one) == {
        "fresh": 100, "cache_read": 600, "cache_write_unknown": 300, "output": 50,
    }  # fmt: skip


def test_buckets_of_other_names_are_inside_where_the_total_says_so(read_text: ReadText) -> None:
    usage = {"input": 100, "input_audio_tokens": 20, "output": 50, "total": 150}
    (one,), _ = read_text(as_lines(langfuse(usage=usage)))
    assert classes(one) == {"fresh": 100, "output": 50}


def test_br_10_a_total_shows_that_the_input_was_sent_inclusive(read_text: ReadText) -> None:
    usage = {"input": 17_903, "input_cached_tokens": 17_817, "output": 10, "total": 17_913}
    (one,), source = read_text(as_lines(langfuse(usage=usage)))
    assert classes(one) == {"fresh": 86, "cache_read": 17_817, "output": 10}
    assert one.prompt_tokens == 17_903
    assert "read as inclusive" in source.notes[0]


BR_11 = {
    "input": 130_213, "input_cache_read": 128_955, "input_cache_creation": 1_253, "output": 10,
}  # fmt: skip


def test_br_11_the_span_s_own_input_shows_it_too(read_text: ReadText) -> None:
    """The span's attribute is the inclusive number, whatever Langfuse makes of it."""
    attributes = {"attributes": {"gen_ai.usage.input_tokens": "130213"}}
    for row in (
        langfuse(usage=BR_11 | {"total": 130_223}),
        langfuse(usage=BR_11, metadata=attributes),
    ):
        (one,), _ = read_text(as_lines(row))
        assert classes(one) == {
            "fresh": 5, "cache_read": 128_955, "cache_write_unknown": 1_253, "output": 10,
        }  # fmt: skip
        assert one.prompt_tokens == 130_213


@pytest.mark.parametrize(
    ("aggregate", "total", "unknown"),
    [
        (0, 850, 0),  # 100 + 700 + 50: the split is all
        (700, 850, 0),  # the aggregate is the sum of both lifetimes
        (900, 1050, 200),  # … and of some more whose lifetime nobody told
        (200, 1050, 200),  # the aggregate is the rest beside them
    ],
)
def test_an_aggregate_beside_both_lifetimes_is_their_sum_or_their_rest(
    read_text: ReadText, aggregate: int, total: int, unknown: int
) -> None:
    usage = {
        "input": 100, "input_cache_creation": aggregate, "input_cache_creation_5m": 500,
        "input_cache_creation_1h": 200, "output": 50, "total": total,
    }  # fmt: skip
    (one,), _ = read_text(as_lines(langfuse(usage=usage)))
    rest = {"cache_write_unknown": unknown} if unknown else {}
    assert classes(one) == {
        "fresh": 100, "cache_write_5m": 500, "cache_write_1h": 200, "output": 50,
    } | rest  # fmt: skip


def test_a_wrapper_around_another_generation_is_not_counted(read_text: ReadText) -> None:
    outer = langfuse("outer", metadata={})
    span = langfuse("span", type="SPAN", parentObservationId="outer")
    inner = langfuse("inner", parentObservationId="span", metadata={})
    requests, source = read_text(as_lines(outer, span, inner))
    assert [one.request_id for one in requests] == ["inner"]
    assert source.notes == [
        "1 generations wrap other model calls and are not counted",
        "observations that are no generations are not counted: 1 SPAN",
    ]


def test_a_wrapper_that_alone_knows_the_usage_is_kept(read_text: ReadText) -> None:
    inner = langfuse("inner", {}, parentObservationId="outer", metadata={}) | {"usage": None}
    requests, _ = read_text(as_lines(langfuse("outer", metadata={}), inner))
    assert [one.request_id for one in requests] == ["outer"]


def test_a_response_told_twice_is_counted_once(read_text: ReadText) -> None:
    """Two integrations traced the same call; neither is inside the other."""
    requests, source = read_text(as_lines(langfuse("a"), langfuse("b")))
    assert [one.request_id for one in requests] == ["a"]
    assert source.notes == ["1 generations repeat a response already told and are not counted"]


def test_two_equal_calls_with_ids_of_their_own_are_two(read_text: ReadText) -> None:
    rows = [langfuse(name, metadata={"response_id": name}) for name in ("a", "b")]
    assert len(read_text(as_lines(*rows))[0]) == 2


def test_selected_columns_are_enough(read_text: ReadText) -> None:
    text = (
        "id,type,start_time,trace_id,usage_details\n"
        'a,GENERATION,2026-06-01 10:00:00.000000,t,"{""input"": 7, ""output"": 3}"\n'
    )
    (one,), _ = read_text(text)
    assert classes(one) == {"fresh": 7, "output": 3}
    assert (one.model, one.end_s, one.blocks) == (None, None, None)


def test_a_generation_without_usage_is_a_request_of_unknown_size(read_text: ReadText) -> None:
    row = langfuse(usage={}, level="ERROR", input=None) | {"usage": None}
    (one,), _ = read_text(as_lines(row))
    assert (one.observed, one.prompt_tokens, one.status) == (None, None, "error")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"startTime": None}, "startTime is missing, expected a date and time"),
        ({"usageDetails": [1]}, "usageDetails is [1], expected an object"),
        ({"usageDetails": {"input": 10, "input_cached_tokens": 20, "output": 1, "total": 5}},
         "the usage does not add up, expected sums: input 10, cache read 20"),
        ({"id": None}, "id is missing, expected the observation's id"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_line(read_text: ReadText, more: Row, message: str) -> None:
    with pytest.raises(LogError) as caught:
        read_text(as_lines(langfuse("a"), langfuse("b") | more))
    assert f" line 2: {message}" in str(caught.value)
