"""JSON lines that decoders take or choke on: repeated keys, huge numbers, deep nesting, no text."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cachecast_datasets.errors import LogError
from cachecast_datasets.importing import ImportSummary, import_log
from cachecast_datasets.trace import Trace

Write = Callable[..., Path]
ImportAll = Callable[..., tuple[Trace, ImportSummary]]

GOOD = {
    "sketch": '{"at": 0, "prompt": []}',
    "mooncake": '{"timestamp": 0, "input_length": 600, "output_length": 1, "hash_ids": [1, 2]}',
    "merged": '{"timestamp": 0, "input_length": 128, "output_length": 1, "hash_runs": [[1, 2]]}',
    "token_ids": '{"arrival": 0, "prompt_token_ids": [1], "output_len": 1}',
    "session": '{"block_size": 64, "requests": [{"t": 0, "type": "n", "in": 64, "hash_ids": [1]}]}',
}


def refusal(*sources: Path) -> str:
    with pytest.raises(LogError) as caught:
        import_log(sources, sources[0].with_name("out.parquet"))
    text = str(caught.value)
    assert "\n" not in text
    return text.replace(str(sources[-1]), "FILE")


@pytest.mark.parametrize(
    ("kind", "key"),
    [("sketch", "at"), ("mooncake", "timestamp"), ("merged", "input_length"),
     ("token_ids", "arrival"), ("session", "block_size")],
)  # fmt: skip
def test_a_repeated_key_is_refused_in_every_json_format(write: Write, kind: str, key: str) -> None:
    twice = GOOD[kind].replace("{", f'{{"{key}": 64, ', 1)
    place = "FILE" if kind == "session" else "FILE line 1"
    assert refusal(write(twice)) == f"{place}: {key} is there twice in one object, expected once"


@pytest.mark.parametrize(
    ("kind", "old", "field", "what"),
    [
        ("sketch", '"at": 0', "at", "1e400"),
        ("mooncake", '"timestamp": 0', "timestamp", "1e400"),
        ("merged", '"input_length": 128', "input_length", "1e400"),
        ("token_ids", '"output_len": 1', "output_len", "-1e999"),
        ("session", '"t": 0', "requests[0].t", "1e400"),
    ],
)
def test_a_number_beyond_all_floats_is_named(
    write: Write, kind: str, old: str, field: str, what: str
) -> None:
    name = old.split(":")[0]
    line = GOOD[kind].replace(old, f"{name}: {what}")
    place = "FILE" if kind == "session" else "FILE line 1"
    assert refusal(write(line)) == f"{place}: {field} is {what}, expected a finite number"


@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e400"])
def test_what_is_no_number_under_an_unknown_key_leaves_the_key_as_the_fault(
    write: Write, value: str
) -> None:
    line = f'{{"at": 0, "prompt": [["user", "Q", 5, null, {{"zzz": {value}}}]]}}'
    assert refusal(write(line)) == (
        "FILE line 1: prompt[0].options.zzz is not a known key, expected one of kind, join, "
        "canonical, masked"
    )


def test_a_lone_surrogate_is_named_and_printable(write: Write) -> None:
    line = '{"at": 0, "answer": "\\ud800", "prompt": []}'
    assert refusal(write(line)) == (
        'FILE line 1: answer is "\\ud800", expected text without lone surrogates'
    )
    line = '{"at": 0, "prompt": [["user", "Q", 5, null, {"zzz": "\\ud800"}]]}'
    assert refusal(write(line)).isascii()


@pytest.mark.parametrize(
    ("kind", "old", "field", "most"),
    [
        ("sketch", '"prompt"', "output", 10**9),
        ("mooncake", '"output_length": 1', "output_length", 10**9),
        ("merged", '"output_length": 1', "output_length", 10**9),
        ("token_ids", '"output_len": 1', "output_len", 10**9),
        ("session", '"block_size": 64', "block_size", 2**31 - 1),
        ("session", '"block_size": 64', "tool_tokens", 10**9),
        ("session", '"t": 0', "requests[0].out", 10**9),
    ],
)
@pytest.mark.parametrize("value", [2**63, 2**64])
def test_a_count_beyond_64_bits_is_refused_with_the_limit(
    write: Write, kind: str, old: str, field: str, most: int, value: int
) -> None:
    key = field.rpartition(".")[2]
    kept = "" if old.startswith(f'"{key}"') else f", {old}"
    line = GOOD[kind].replace(old, f'"{key}": {value}{kept}')
    place = "FILE" if kind == "session" else "FILE line 1"
    assert refusal(write(line)) == f"{place}: {field} is {value}, expected an integer <= {most}"


def test_a_sum_of_tokens_beyond_the_limit_is_refused(write: Write) -> None:
    line = {"at": 0, "prompt": [["user", f"Q{n}", 10**9] for n in range(2)]}
    assert refusal(write(line)) == (
        "FILE line 1: prompt has 2000000000 tokens, expected at most 1000000000"
    )


def test_runs_of_many_ids_are_refused_before_they_are_made(write: Write) -> None:
    line = {"timestamp": 0, "input_length": 64 * 10**11, "hash_runs": [[1, 10**11]]}
    assert refusal(write(line)) == (
        "FILE line 1: input_length is 6400000000000, expected an integer <= 1000000000"
    )


DEEP = "[" * 3000 + "]" * 3000


@pytest.mark.parametrize(
    "line",
    [
        f'{{"at": 0, "settings": {{"a": {DEEP}}}, "prompt": []}}',
        f'{{"at": 0, "prompt": [], "zzz": {DEEP}}}',
        f'{{"timestamp": 0, "input_length": 0, "hash_ids": {DEEP}}}',
    ],
)
def test_json_that_nests_too_deep_is_one_sentence(write: Write, line: str) -> None:
    message = refusal(write(line))
    assert message.startswith("FILE line 1: ")
    assert len(message) < 200
    log = write(line, *[GOOD["mooncake" if "hash_ids" in line else "sketch"]] * 2)
    assert import_log([log], log.with_name("o.parquet"), skip_bad=True).rows == 2


# the file, its requests, a call and its ids are 4 levels, each sub-agent and its requests 2 more
@pytest.mark.parametrize("depth", [48, 49, 5000])
def test_sub_agents_that_nest_too_deep_are_one_sentence(
    write: Write, import_all: ImportAll, depth: int
) -> None:
    call = '{"t": 0, "type": "n", "in": 64, "hash_ids": [1]}'
    for _ in range(depth):
        call = '{"t": 0, "type": "subagent", "requests": [' + call + "]}"
    log = write('{"id": "s", "block_size": 64, "requests": [' + call + "]}")
    if depth == 48:
        assert import_all(log)[1].rows == 1
    else:
        assert refusal(log) == ("FILE: the JSON is nested too deep, expected at most 100 levels")


@pytest.mark.parametrize(
    ("key", "value", "accepted"),
    [
        ("at", 1e12, "0 <= at <= 1e+10 s"),
        ("ttft", 1e308, "a number <= 10000000000"),
        ("took", 1e308, "a number <= 10000000000"),
        ("at", "0001-01-01T00:00:00+01:00",
         "a time from 1970-01-01T00:00:00Z to 2286-11-20T17:46:40Z (0 to 10^10 s)"),
        ("at", "1969-12-31T23:59:59Z",
         "a time from 1970-01-01T00:00:00Z to 2286-11-20T17:46:40Z (0 to 10^10 s)"),
    ],
)  # fmt: skip
def test_a_time_that_no_log_has_is_refused_with_the_range(
    write: Write, key: str, value: Any, accepted: str
) -> None:
    message = refusal(write({"at": 0, "prompt": []} | {key: value}))
    assert message == f"FILE line 1: {key} is {json.dumps(value)}, expected {accepted}"


@pytest.mark.parametrize(
    ("kind", "old", "new", "known"),
    [
        ("mooncake", "output_length", "outputlength",
         "timestamp, input_length, hash_ids, output_length, created_time, delay, delay_ms, "
         "session_id, request_id, wait_for, tool_wait_ms, branches, prefix_reset, priority"),
        ("merged", "output_length", "output_len",
         "timestamp, input_length, hash_runs, session, output_length"),
        ("token_ids", "output_len", "outputlen",
         "arrival, prompt_token_ids, id, output_len, output_token_ids, cache_salt"),
    ],
)  # fmt: skip
def test_a_misspelt_key_is_refused_and_the_known_ones_are_named(
    write: Write, kind: str, old: str, new: str, known: str
) -> None:
    assert refusal(write(GOOD[kind].replace(old, new))) == (
        f"FILE line 1: {new} is not a known key, expected one of {known}"
    )


def test_fields_that_other_tools_add_to_mooncake_lines_are_taken(
    write: Write, import_all: ImportAll
) -> None:
    more = '"session_id": "s", "delay": 5, "branches": [{"a": 1}], '
    log = write(GOOD["mooncake"].replace("{", "{" + more, 1))
    assert import_all(log)[1].rows == 1


def test_an_unknown_key_is_cut_and_on_one_line(write: Write) -> None:
    message = refusal(write('{"at": 0, "prompt": [], "' + "k" * 999 + '": 1}'))
    assert message.startswith(f"FILE line 1: {'k' * 59}… is not a known key, expected one of at")
    message = refusal(write('{"at": 0, "prompt": [], "a\\nb": 1}'))
    assert message.startswith('FILE line 1: "a\\nb" is not a known key')


def item(at: float | str, name: str, tokens: int, **more: Any) -> dict[str, Any]:
    return {"at": at, "prompt": [["user", name, tokens]]} | more


@pytest.mark.parametrize(
    "bad",
    [
        item(0, "Q", 5, cache="odd"),
        item(0, "Q", 5, status="odd"),
        item(0, "Q", 5, ttft=None, status="ok"),
        item("2026-01-31T12:00:00Z", "Q", 5, cache="odd"),
        item(0, "A", 5, answer="Q", output=5, cache="odd"),
    ],
)
def test_a_bad_line_that_is_skipped_leaves_no_trace_in_what_later_lines_are_measured_by(
    write: Write, import_all: ImportAll, bad: dict[str, Any]
) -> None:
    log = write(bad, item(1, "Q", 6), item(2, "Q", 6))
    _, summary = import_all(log, skip_bad=True)
    assert (summary.rows, [skip.count for skip in summary.skipped]) == (2, [1])


def test_one_name_with_two_sizes_in_two_files_names_both(write: Write) -> None:
    one, two = write(item(0, "Q", 5), name="one.jsonl"), write(item(0, "Q", 6), name="two.jsonl")
    assert refusal(one, two) == (
        f'FILE line 1: prompt[0].tokens of "Q" is 6, but {one} line 1 gives it 5; equal names mean '
        "equal content, expected 5 or another name"
    )


def test_an_answer_is_not_shorter_than_the_item_of_its_name(write: Write) -> None:
    answered = item(0, "Q", 5, answer="A", output=100)
    assert refusal(write(answered, item(1, "A", 777))) == (
        'FILE line 2: prompt[0].tokens of "A" is 777, but it is the answer of line 1 with 100 '
        "output tokens; expected at most 100 or another name"
    )
    assert refusal(write(item(1, "A", 777), answered)) == (
        'FILE line 2: output is 100, but its answer "A" has 777 tokens in line 1; expected at '
        "least 777 or another name"
    )


def test_an_answer_may_be_shorter_than_the_output_which_holds_the_reasoning_too(
    write: Write, import_all: ImportAll
) -> None:
    log = write(item(0, "Q", 5, answer="A", output=100), item(1, "A", 60))
    assert import_all(log)[1].rows == 2


def test_a_request_that_never_started_may_say_how_much_it_asked_for(
    write: Write, import_all: ImportAll
) -> None:
    """The output then belongs to the upper end of its charge."""
    assert import_all(write(item(0, "Q", 5, ttft=None, output=3)))[1].rows == 1
