"""Formats of API calls: never taken for one another, and damage gives an error or a count."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_calls import (
    chat,
    claude,
    claude_end,
    claude_events,
    completion,
    message,
    pair,
    said,
    sse,
    text,
    usage,
)  # fmt: skip
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cachecast_datasets.errors import LogError
from cachecast_datasets.importing import import_log
from cachecast_datasets.sources import READERS, head_of, sniff

Write = Callable[..., Path]

ASK = claude(
    system=[text("Be brief.", "1h")],
    tools=[{"name": "grep", "input_schema": {}}],
    messages=[
        said("user", [text("Q", "5m")]),
        said("assistant", [{"type": "tool_use", "id": "t", "name": "grep", "input": {"q": 1}}]),
        said("user", [{"type": "tool_result", "tool_use_id": "t", "content": [text("3")]}]),
    ],
)
PAIR = pair(ASK, message(usage(4, 900, 30, 60), diagnostics={"cache_miss_reason": None}))
CHAT = pair(chat(said("user", "Q")), completion({"prompt_tokens": 9, "completion_tokens": 1}))
STREAM = pair(ASK, sse(*claude_events(usage(4), "Fine."), *claude_end({"output_tokens": 3})))
BATCH_IN = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions",
            "body": chat(said("user", "Q"))}  # fmt: skip
DONE = {"status_code": 200, "body": completion({"prompt_tokens": 9})}
BATCH_OUT = {"id": "b", "custom_id": "a", "response": DONE, "error": None}
RESULT = {"custom_id": "a", "result": {"type": "succeeded", "message": message(usage(5))}}
HAR = {"log": {"version": "1.2", "entries": [{
    "startedDateTime": "2026-11-20T10:00:00Z", "time": 5,
    "request": {"method": "POST", "url": "https://api.anthropic.com/v1/messages", "headers": [],
                "postData": {"text": json.dumps(ASK)}},
    "response": {"status": 200, "headers": [], "content": {"text": json.dumps(message(usage(5)))}},
}]}}  # fmt: skip

FIXTURES: dict[str, tuple[str, Any]] = {
    "pair": ("provider-json", PAIR),
    "chat pair": ("provider-json", CHAT),
    "stream pair": ("provider-json", STREAM),
    "pair by other names": ("provider-json", {"input": ASK, "output": message(usage(5))}),
    "array": ("provider-json", [PAIR]),
    "openai batch input": ("openai-batch", BATCH_IN),
    "openai batch output": ("openai-batch", BATCH_OUT),
    "anthropic batch requests": ("anthropic-batch", {"custom_id": "a", "params": ASK}),
    "anthropic batch results": ("anthropic-batch", RESULT),
    "har": ("har", HAR),
    "sketch": ("sketch", {"at": 0, "prompt": []}),
    "mooncake": ("mooncake", {"timestamp": 0, "input_length": 0, "hash_ids": []}),
    "kv-cache-tester": ("kv-cache-tester", {"id": "s", "block_size": 64, "requests": []}),
    "kv-cache-tester-merged": (
        "kv-cache-tester-merged", {"timestamp": 0, "input_length": 0, "hash_runs": []}
    ),
    "token-ids": ("token-ids", {"arrival": 0, "prompt_token_ids": []}),
}  # fmt: skip


@pytest.mark.parametrize("name", FIXTURES)
def test_exactly_one_reader_recognises_a_file(write: Write, name: str) -> None:
    expected, value = FIXTURES[name]
    path = write(value, name="data")
    assert sniff(path).name == expected
    head = head_of(path)
    assert [reader.name for reader in READERS.values() if reader.recognises(head)] == [expected]


def test_an_array_whose_first_prompt_is_long_is_known_too(write: Write) -> None:
    long = pair(claude(messages=[said("user", "words " * 50_000)]), message(usage(5)))
    assert sniff(write([long])).name == sniff(write(long)).name == "provider-json"


@pytest.mark.parametrize(
    "row",
    [
        # a Langfuse observation, a LiteLLM row, a ShareGPT line: other formats with like names
        {"id": "o", "traceId": "t", "input": {"model": "m", "messages": []}, "output": {},
         "usageDetails": {"input": 5}},
        {"request_id": "r", "call_type": "acompletion", "messages": {}, "response": {}},
        {"input": "a question", "output": "an answer"},
        {"request": "GET /", "response": "200"},
        {"conversations": [{"from": "human", "value": "Q"}]},
    ],
)  # fmt: skip
def test_rows_of_other_programs_are_not_taken_for_pairs(write: Write, row: Any) -> None:
    with pytest.raises(LogError, match="expected one of sketch, "):
        sniff(write(row))


def test_every_new_format_says_what_became_of_its_fields_and_what_cannot_be_told() -> None:
    for name in ("provider-json", "openai-batch", "anthropic-batch", "har"):
        assert READERS[name].became
        assert READERS[name].cannot_tell


BAD = st.sampled_from(
    [None, True, -1, 1.5, 10**30, "", "\ud800", "x", [], {}, [None], {"type": 5}, "2026-13-01"]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to every value inside a JSON value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    return [path, *(found for key, inner in items for found in places(inner, (*path, key)))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy of `value` with `new` at `path`."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize(
    "name", [n for n, (reader, _) in FIXTURES.items() if "json" in reader or "batch" in reader
             or reader == "har"],
)  # fmt: skip
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_value_gives_rows_an_error_or_a_counted_skip(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    _, value = FIXTURES[name]
    path = data.draw(st.sampled_from(places(value)))
    broken = json.dumps(changed(value, path, data.draw(BAD)))
    survives(tmp_path, broken.encode(errors="surrogatepass"), json.dumps(value).encode())


@pytest.mark.parametrize("name", ["pair", "stream pair", "array", "har", "openai batch output"])
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_cut_or_damaged_file_gives_rows_an_error_or_a_counted_skip(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    whole = json.dumps(FIXTURES[name][1]).encode()
    at = data.draw(st.integers(1, len(whole)))
    rest = data.draw(st.sampled_from([b"", b"\x00", b"\xff", whole[at + 1 :], b"}" + whole[at:]]))
    survives(tmp_path, whole[:at] + rest, whole)


def survives(folder: Path, broken: bytes, good: bytes) -> None:
    """Importing either works or says LogError; skipping leaves the good line, and counts."""
    path, out = folder / "broken", folder / "out.parquet"
    path.write_bytes(broken + b"\n")
    for skip_bad in (False, True):
        try:
            summary = import_log([path], out, skip_bad=skip_bad, force=True)
        except LogError:
            continue
        assert summary.rows <= 1
        assert summary.rows or summary.skipped or summary.warnings
    if good.startswith(b"{") and b'"log"' not in good:
        path.write_bytes(good + b"\n" + broken + b"\n")
        summary = import_log([path], out, skip_bad=True, force=True)
        assert summary.rows >= 1
