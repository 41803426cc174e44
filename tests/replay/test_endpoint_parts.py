"""The parts of the endpoint client that need no socket: events, chunks, retries, addresses."""

import json
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachecast_datasets.errors import BadInput
from cachecast_replay.endpoint.address import HIDDEN, Address, address_of, is_local
from cachecast_replay.endpoint.answers import Answer, AnswerTotals
from cachecast_replay.endpoint.dialect import Dialect, dialects
from cachecast_replay.endpoint.events import EventDecoder, TooLong
from cachecast_replay.endpoint.reading import Reading, StreamProblem, body_error
from cachecast_replay.endpoint.retrying import RequestFailed, RetryPolicy, retry_after_s
from cachecast_replay.endpoint.words import WORDS, text_of

STREAM = (
    b': hello\r\n\r\ndata: {"a":1}\r\n\r\nevent: x\ndata:two\ndata: lines\n\nid: 7\n\ndata: [DONE]'
)


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_events_are_the_same_wherever_the_bytes_are_cut(places: list[int]) -> None:
    """Comments, other fields, both line ends, joined data lines and a missing last blank line."""
    cuts = [0, *sorted(places), len(STREAM)]
    decoder = EventDecoder()
    found = [data for start, end in pairwise(cuts) for data in decoder.feed(STREAM[start:end])]
    assert [*found, *decoder.end()] == [b'{"a":1}', b"two\nlines", b"[DONE]"]


def read(*chunks: Any, step_ns: int = 10) -> Reading:
    """A reading of chunks that arrive at 10, 20, 30 … ns."""
    reading = Reading(asked_tokens=3)
    for number, chunk in enumerate(chunks, 1):
        data = chunk if isinstance(chunk, bytes) else json.dumps(chunk).encode()
        reading.take(data, number * step_ns)
    reading.close()
    return reading


def text(words: str, finish: str | None = None) -> Any:
    return {"choices": [{"index": 0, "text": words, "finish_reason": finish}]}


def delta(finish: str | None = None, /, **content: Any) -> Any:
    return {"choices": [{"index": 0, "delta": content, "finish_reason": finish}]}


def counted(**counts: Any) -> Any:
    return {"choices": [], "usage": counts}


def cached(tokens: int, *, of: int) -> Any:
    return counted(prompt_tokens=of, prompt_tokens_details={"cached_tokens": tokens})


def test_a_prompt_may_be_cached_as_a_whole() -> None:
    assert read(text("a", "stop"), cached(10, of=10)).usage.cached_tokens == 10


def test_an_answer_of_many_more_pieces_than_tokens_does_not_end() -> None:
    """3 tokens were asked for: 8 pieces for each, and 64 more, may come."""
    most = [text("a")] * 88
    assert read(*most, text("", "length")).finish == "length"
    with pytest.raises(StreamProblem, match="does not end the answer: 89 pieces so far"):
        read(*most, text("a"))


def test_an_event_that_never_ends_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither as one line nor as many: 10 bytes are enough here."""
    monkeypatch.setattr("cachecast_replay.endpoint.events._LONGEST", 10)
    assert EventDecoder().feed(b"data:12345") == []
    with pytest.raises(TooLong, match="an event of more than 10 bytes"):
        EventDecoder().feed(b"data:123456")
    decoder = EventDecoder()
    assert decoder.feed(b"data:12\n") == []
    assert decoder.feed(b"dat") == []
    with pytest.raises(TooLong):
        decoder.feed(b"a:")
    whole = EventDecoder()
    assert [data for _ in range(3) for data in whole.feed(b"data:12\n\n")] == [b"12"] * 3


def test_the_end_is_the_last_token_and_not_the_usage_after_it() -> None:
    found = read(
        text("a"), text("b c"), text("", "length"), counted(completion_tokens=3), b"[DONE]"
    )
    assert (found.first_token_ns, found.end_ns, found.finish) == (10, 30, "length")
    assert found.usage.completion_tokens == 3


def test_a_piece_of_a_completion_is_a_token_even_without_text() -> None:
    """Half a character or a special token has no text yet."""
    assert read(text(""), text("é", "stop")).first_token_ns == 10


def test_the_first_delta_of_a_chat_only_names_the_role() -> None:
    found = read(delta(role="assistant", content=""), delta(content="a"), delta("stop"))
    assert (found.first_token_ns, found.end_ns) == (20, 30)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "tool_calls"])
def test_thinking_and_calls_are_tokens_too(name: str) -> None:
    value: Any = [{"index": 0}] if name == "tool_calls" else "hm"
    assert read(delta(**{name: value}), delta(content="a"), delta("stop")).first_token_ns == 10


def test_an_answer_in_one_piece_starts_and_ends_there() -> None:
    found = read(text("", "length"), counted(completion_tokens=1))
    assert (found.first_token_ns, found.end_ns) == (10, 10)


@pytest.mark.parametrize(
    ("usage", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 48}}, 48),
        ({"prompt_tokens_details": {"cached_tokens": 0}}, 0),
        ({"prompt_tokens_details": {"cached_tokens": None}}, None),
        ({"prompt_tokens_details": {}}, None),
        ({"prompt_tokens_details": None}, None),
        ({}, None),
        (None, None),
    ],
)
def test_cached_tokens_that_are_not_reported_are_unknown_and_never_zero(
    usage: Any, cached: int | None
) -> None:
    found = read(text("a", "length"), {"choices": [], "usage": usage})
    assert found.usage.cached_tokens == cached


@pytest.mark.parametrize(
    ("chunks", "words"),
    [
        ([text("a")], "cut the stream off after 1 piece of the answer"),
        ([text("a"), text("b")], "cut the stream off after 2 pieces"),
        ([], "cut the stream off after 0 pieces"),
        ([b"[DONE]"], "cut the stream off after 0 pieces"),
        ([text("a"), b"{broken"], "sent what is no chunk of an answer: JSON is malformed"),
        ([text("a"), b"\xff"], "sent what is no chunk of an answer"),
        ([b'"text"'], "Expected `object`, got `str`"),
        ([{"choices": [{"text": 7}]}], "got `int` - at `$.choices[0].text`"),
        ([counted(prompt_tokens=-3)], "Expected `int` >= 0"),
        ([{"error": {"message": "out of memory"}}], "ended with an error: out of memory"),
        ([delta("stop"), counted(completion_tokens=0)], "ended the answer without a token"),
        ([counted(prompt_tokens=2**53 + 1)], "Expected `int` <= 9007199254740992"),
        ([b'{"error": ' + b"[" * 9_999 + b"]" * 9_999 + b"}"], "maximum recursion depth"),
        (
            [text("a", "stop"), cached(11, of=10)],
            "counts 11 cached tokens in a prompt of 10, expected at most all",
        ),
    ],
)
def test_what_is_no_answer_says_why(chunks: list[Any], words: str) -> None:
    with pytest.raises(StreamProblem) as problem:
        read(*chunks)
    assert words in str(problem.value)


def test_done_is_an_end_where_no_reason_is_given() -> None:
    assert read(text("a"), b"[DONE]").finish is None


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": {"message": "too long", "code": 400}}', "too long"),
        (b'{"detail": "not found"}', "not found"),
        (b'{"error": "busy"}', "busy"),
        (b'{"detail": [{"loc": 1}]}', '[{"loc":1}]'),
        (b"<h1>Bad gateway</h1>", "<h1>Bad gateway</h1>"),
        (b"", ""),
    ],
)
def test_the_words_of_an_error_are_found_in_any_shape(body: bytes, words: str) -> None:
    assert body_error(body) == words


def test_waits_double_and_what_the_server_asks_for_goes_first() -> None:
    policy = RetryPolicy(3)
    busy = RequestFailed("answered 503", status=503, again=True)
    assert [policy.wait_s(done, busy) for done in range(4)] == [0.5, 1.0, 2.0, None]
    asked = RequestFailed("answered 429", status=429, again=True, after_s=7.0)
    assert policy.wait_s(0, asked) == 7.0


@pytest.mark.parametrize(("after_s", "wait_s"), [(60.0, 60.0), (60.5, None)])
def test_a_wait_of_more_than_a_minute_is_a_failure_and_not_cut_short(
    after_s: float, wait_s: float | None
) -> None:
    assert RetryPolicy(3).wait_s(0, RequestFailed("", again=True, after_s=after_s)) == wait_s


def test_what_no_try_can_mend_is_not_tried_again() -> None:
    assert RetryPolicy(3).wait_s(0, RequestFailed("answered 400", status=400)) is None


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("2", 2.0),
        ("0.5", 0.5),
        ("Sun, 29 Nov 2026 12:00:30 GMT", 30.0),
        ("Sun, 29 Nov 2026 11:59:00 GMT", 0.0),
        ("soon", None),
        (None, None),
    ],
)
def test_retry_after_is_a_number_or_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, datetime(2026, 11, 29, 12, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True), ("LOCALHOST", True), ("127.0.0.1", True), ("127.9.9.9", True),
        ("::1", True), ("0.0.0.0", False), ("10.0.0.1", False), ("localhost.example.com", False),
        ("example.com", False),
    ],
)  # fmt: skip
def test_only_this_machine_is_local(host: str, local: bool) -> None:
    assert is_local(host) is local


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.com/v1", "--allow-remote"),
        ("ftp://localhost/v1", "expected http://HOST:PORT/v1"),
        ("localhost:8000", "expected http://HOST:PORT/v1"),
        ("http://localhost:port/v1", "is no URL"),
        ("http://me:hunter2@localhost/v1", "--api-key-env"),
        ("http://localhost/v1?key=hunter2", "--api-key-env"),
        ("me:hunter2@localhost/v1", "--api-key-env"),  # no scheme: it is all a path
        ("http://me:hun/ter2@localhost:hunter2/v1", "--api-key-env"),
        ("ftp://localhost/v1#hunter2", "--api-key-env"),
    ],
)
def test_a_bad_address_is_refused_in_one_sentence_that_shows_no_secret(
    url: str, words: str
) -> None:
    with pytest.raises(BadInput) as problem:
        address_of(url, allow_remote=False)
    assert words in str(problem.value)
    assert "hunter2" not in str(problem.value)


def test_the_root_of_the_server_is_not_the_root_of_its_api() -> None:
    found = address_of("http://[::1]:8000/v1/", allow_remote=False)
    assert (found.base, found.server) == ("http://[::1]:8000/v1", "http://[::1]:8000")
    assert address_of("https://example.com/v1", allow_remote=True).local is False


def test_a_key_is_in_no_repr_and_cut_out_of_what_others_write() -> None:
    address = Address("http://localhost/v1", True, "hunter2")
    assert "hunter2" not in repr(address)
    assert address.safe("bad\n  key hunter2!") == f"bad key {HIDDEN}!"
    assert len(address.safe("x" * 500)) == 200
    assert address.safe("\x1b[31mred\x07\u202e") == "\ufffd[31mred\ufffd\ufffd"


@pytest.mark.parametrize("key", ["two words", "line\n", "schlüssel", ""])
def test_a_key_that_cannot_be_one_is_not_shown(key: str) -> None:
    with pytest.raises(BadInput) as problem:
        address_of("http://localhost/v1", allow_remote=False, key=key)
    assert str(problem.value) == (
        "the API key has characters that no key has, expected printable ASCII"
    )


def test_a_request_forces_its_length_and_asks_for_usage() -> None:
    assert json.loads(Dialect("ids").body("tiny", [5, 7], 3)) == {
        "model": "tiny", "stream": True, "prompt": [5, 7], "max_tokens": 3, "temperature": 0,
        "ignore_eos": True, "stream_options": {"include_usage": True},
    }  # fmt: skip
    chat = json.loads(Dialect("chat", ignore_eos=False, modern=True).body("tiny", [0, 1], 3))
    assert chat == {
        "model": "tiny", "stream": True, "max_completion_tokens": 3,
        "messages": [{"role": "user", "content": "the and"}],
        "stream_options": {"include_usage": True},
    }  # fmt: skip


def test_ids_are_tried_before_text_and_text_before_a_chat() -> None:
    shapes = [dialect.prompts for dialect in dialects()]
    assert shapes == ["ids"] * 3 + ["text"] * 3 + ["chat"] * 4
    assert next(dialects()) == Dialect("ids")


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=40), st.data())
def test_texts_share_what_the_ids_share(ids: list[int], data: st.DataObject) -> None:
    other = data.draw(st.lists(st.integers(0, 5000), min_size=1, max_size=40))
    assert (text_of(ids) == text_of(other)) is (ids == other)
    cut = data.draw(st.integers(0, len(ids)))
    assert text_of(ids).startswith(text_of(ids[:cut]))
    assert len(text_of(ids).split()) == len(ids)


def test_words_are_all_different_and_hold_no_digit() -> None:
    """Else a word and a number could be another word."""
    assert len(set(WORDS)) == len(WORDS)
    assert all(word.isalpha() for word in WORDS)


def answered(index: int, **more: Any) -> Answer:
    given = {"prompt_tokens": 100, "output_tokens": 5, "hit_tokens": 40, "first_token_ns": 3,
             "end_ns": 8, **more}  # fmt: skip
    return Answer(f"r{index}", index, None, 1, 5, 1, given.pop("retries", 0), **given)


def test_totals_leave_unknown_hits_out_of_the_ratio_and_count_them() -> None:
    """Known fault 13: one row without a cache detail blanked the ratio of all."""
    totals = AnswerTotals()
    totals.add(answered(0))
    totals.add(answered(1, hit_tokens=None))
    totals.add(answered(2, retries=2, error="answered 500", first_token_ns=None, end_ns=None))
    assert (totals.requests, totals.completed, totals.failed) == (3, 2, 1)
    assert (totals.retries, totals.retried_requests) == (2, 1)
    assert (totals.hit_tokens, totals.unknown_hits, totals.token_hit_ratio) == (40, 1, 0.4)
    assert (list(totals.ttft_ns), list(totals.e2e_ns)) == ([2, 2], [7, 7])
    assert totals.first_error == "answered 500"


@pytest.mark.parametrize(
    ("output", "finish", "early"),
    [(5, "length", False), (5, "stop", False), (4, "length", True), (None, "stop", True),
     (None, "length", False)],
)  # fmt: skip
def test_an_answer_stopped_early_if_it_is_shorter_than_asked(
    output: int | None, finish: str, early: bool
) -> None:
    assert answered(0, output_tokens=output, finish=finish).stopped_early is early
