"""Keys that stand twice in one JSON object: found where they are, and only there."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachecast_datasets.repeated_keys import repeated_key


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"a": 1, "a": 2}', "a"),
        ('{"a": [1, {"b": 1, "c": {}, "b": 2}]}', "b"),
        ('{"a": 1, "\\u0061": 2}', "a"),
        ('{"a1": 1, "a2": 2, "a 3": {"a1": 1}}', None),
        ('{"a": "x\\": {\\"a\\": 1", "b": {"a": 1}, "c": [{"a": 1}, {"a": 1}]}', None),
        ('{"x": ["a", "b", "a"], "y": "x"}', None),
        ('["{", "}"]', None),
        (r'{"x\\": "", "a": 1, "a": 2}', "a"),
        (r'{"x\"": "", "a": 1, "a": 2}', "a"),
    ],
)
def test_a_key_that_is_there_twice_in_one_object_is_found(text: str, key: str | None) -> None:
    assert repeated_key(text.encode()) == key


def test_an_object_of_many_keys_is_looked_at_too() -> None:
    many = ", ".join(f'"{"k" * length}": 1' for length in range(1, 100))  # 4,950 letters
    assert repeated_key(f"{{{many}}}".encode()) is None
    assert repeated_key(f'{{{many}, "kkk": 2}}'.encode()) == "kkk"


words = st.text('a1"\\\\{}:, \n', max_size=4)
values = st.recursive(
    words | st.integers(0, 20),
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(words, inner), max_size=3),
    max_leaves=12,
)


def spelled(value: Any) -> str:
    """JSON of a value; a list of pairs is an object, whose keys may repeat."""
    if not isinstance(value, list):
        return json.dumps(value)
    if value and all(isinstance(item, tuple) for item in value):
        return "{" + ", ".join(f"{json.dumps(k)}: {spelled(v)}" for k, v in value) + "}"
    return "[" + ", ".join(map(spelled, value)) + "]"


def repeats(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    pairs = [item for item in value if isinstance(item, tuple)]
    inner = [item[1] if isinstance(item, tuple) else item for item in value]
    return len(dict(pairs)) < len(pairs) or any(map(repeats, inner))


@given(values)
def test_a_key_is_found_where_and_only_where_one_object_has_it_twice(value: Any) -> None:
    assert (repeated_key(spelled(value).encode()) is not None) == repeats(value)
