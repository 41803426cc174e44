"""JSON that nests deep: one limit for every format, wherever the value stands."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from api_calls import claude, message, pair, said, usage
from hypothesis import given
from hypothesis import strategies as st
from usage_logs import LOGS

from cachecast_datasets.errors import LogError
from cachecast_datasets.importing import import_log
from cachecast_datasets.json_depth import MOST_LEVELS, decoded_text, is_too_deep

Write = Callable[..., Path]


def deep(levels: int) -> str:
    """Arrays and objects in turn, so many inside each other."""
    whole, rest = divmod(levels, 2)
    return '{"a":[' * whole + "[" * rest + "]" * rest + "]}" * whole


def slow_levels(value: Any) -> int:
    """The levels of a value, by walking it."""
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(slow_levels, inner), default=0)


def test_a_hundred_levels_are_read_and_one_more_is_not() -> None:
    assert [is_too_deep(deep(n).encode()) for n in (MOST_LEVELS, MOST_LEVELS + 1)] == [False, True]
    assert [is_too_deep(b"[" * n + b"]" * n) for n in (100, 101)] == [False, True]


def test_brackets_in_texts_are_no_levels() -> None:
    texts = ["[" * 200, "{" * 200 + '"\\', '\\"[']
    assert not is_too_deep(json.dumps([texts] * 50).encode())


_VALUES = st.recursive(
    st.none() | st.text(alphabet='[]{}"\\a', max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('["', max_size=2), inner),
    max_leaves=20,
)


@given(_VALUES, st.integers(90, 105))
def test_the_limit_is_the_same_as_by_walking_the_value(value: Any, around: int) -> None:
    for _ in range(around):
        value = [value]
    assert is_too_deep(msgspec.json.encode(value)) == (slow_levels(value) > MOST_LEVELS)


def test_json_inside_a_text_has_the_same_limit() -> None:
    assert isinstance(decoded_text(deep(100)), dict)
    for text in (deep(101), deep(100_000)):
        with pytest.raises(ValueError, match=r"nested deeper than 100 levels|no whole JSON"):
            decoded_text(text)


def refusal(path: Path) -> str:
    with pytest.raises(LogError) as caught:
        import_log([path], path.with_name("out.parquet"))
    return str(caught.value).replace(str(path), "FILE")


@pytest.mark.parametrize("levels", [200, 900, 950, 990, 5_000])
def test_a_deep_count_is_one_sentence_however_deep(write: Write, levels: int) -> None:
    row = json.loads(LOGS["tracelab.jsonl"][1].splitlines()[0])
    row["input_tokens_total"] = "DEEP"
    log = write(json.dumps(row).replace('"DEEP"', "[" * levels + "]" * levels))
    assert refusal(log) == "FILE line 1: the JSON is nested too deep, expected at most 100 levels"


def test_a_deep_first_item_of_an_array_is_no_known_log(write: Write) -> None:
    assert "expected one of" in refusal(write("[" * 2_000))


@pytest.mark.parametrize("side", ["request", "response"])
def test_a_deep_body_that_stands_as_a_text_is_named(write: Write, side: str) -> None:
    ask = claude(messages=[said("user", "How are you?")])
    row = pair(ask, message(usage(1000)))
    said_of_it = refusal(write(row, row | {side: deep(100_000)}))
    assert said_of_it.startswith(f"FILE line 2: {side} is ")
    assert "expected an object" in said_of_it


def test_a_deep_line_behind_a_cut_one_is_skipped_alone(write: Write) -> None:
    ask = claude(messages=[said("user", "How are you?")])
    log = write("{", pair(ask, message(usage(1000))), '{"request": ' + deep(100_000) + "}")
    assert import_log([log], log.with_name("o.parquet"), skip_bad=True).rows == 1
