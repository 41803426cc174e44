"""Batch files of OpenAI and Anthropic: requests and answers joined, whatever their order."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_calls import chat, claude, completion, message, said, text, usage

from cachecast_datasets.errors import LogError

Write = Callable[..., Path]
ImportAll = Callable[..., Any]


def asked(name: str, **more: Any) -> dict[str, Any]:
    body = chat(said("user", f"Question {name}"))
    return {
        "custom_id": name,
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": body,
        **more,
    }


def answered(name: str, second: int, given: int) -> dict[str, Any]:
    use = {"prompt_tokens": given, "completion_tokens": 5}
    body = completion(use, id=f"chatcmpl-{name}", created=1_795_168_800 + second)
    whole = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": f"b-{name}", "custom_id": name, "response": whole, "error": None}


REFUSED = {
    "id": "b-c", "custom_id": "c", "error": None,
    "response": {"status_code": 400, "body": {"error": {"type": "invalid_request_error"}}},
}  # fmt: skip
FAILED = {"id": "b-d", "custom_id": "d", "response": None, "error": {"code": "server_error"}}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_openai_answers_find_their_requests_in_any_order_of_lines_and_files(
    write: Write, import_all: ImportAll, order: tuple[int, ...]
) -> None:
    files = [
        write(asked("a"), asked("b"), asked("c"), asked("d"), asked("e"), name="in.jsonl"),
        write(answered("b", 5, 20), answered("a", 9, 10), name="out.jsonl"),
        write(REFUSED, FAILED, name="errors.jsonl"),
    ]
    trace, summary = import_all(*(files[number] for number in order))
    found = {request.request_id: request for request in trace}
    assert {name: r.status for name, r in found.items()} == {
        "a": "ok", "b": "ok", "c": "rejected", "d": "error", "e": None,
    }  # fmt: skip
    assert [found[name].prompt_tokens for name in "abcde"] == [10, 20, None, None, None]
    assert all(r.is_batch and r.service_tier == "batch" and r.blocks for r in found.values())
    assert found["a"].arrival_us - found["b"].arrival_us == 4_000_000
    assert found["a"].arrival_uncertainty_s == 1.0
    assert found["e"].arrival_uncertainty_s == 86_400.0  # some time on that day
    assert summary.source_format == "openai-batch"
    assert "1 × a request without an answer: not sent yet, expired or in another file" in (
        summary.warnings
    )


def test_an_output_alone_has_counts_but_no_prompts(write: Write, import_all: ImportAll) -> None:
    trace, summary = import_all(write(answered("a", 0, 10)))
    (request,) = trace
    assert (request.request_id, request.prompt_tokens, request.blocks) == ("a", 10, None)
    assert trace.meta.evidence == summary.evidence == "counts"
    assert not trace.meta.text_seen


def test_an_input_alone_has_prompts_but_no_counts(write: Write, import_all: ImportAll) -> None:
    trace, _ = import_all(write(asked("a"), asked("b")))
    assert [request.prompt_tokens for request in trace] == [None, None]
    assert trace.meta.time_origin == "relative"


def test_calls_that_are_no_language_model_are_left_out_and_counted(
    write: Write, import_all: ImportAll
) -> None:
    other = asked("e") | {"url": "/v1/embeddings", "body": {"model": "m", "input": "text"}}
    trace, summary = import_all(write(asked("a"), other))
    assert trace.rows == 1
    assert "1 × /v1/embeddings: no call of a language model, left out" in summary.warnings


def test_an_id_asked_twice_is_refused_or_counted(write: Write, import_all: ImportAll) -> None:
    path = write(asked("a"), asked("a"))
    with pytest.raises(LogError, match="line 2: custom_id is 'a', which line 1 already has"):
        import_all(path)
    trace, summary = import_all(path, skip_bad=True)
    assert trace.rows == 1
    assert [(skip.reason, skip.count) for skip in summary.skipped] == [("duplicate id", 1)]


def params(name: str) -> dict[str, Any]:
    system = [text("Be brief. " * 500, "1h")]
    question = said("user", f"Question {name}")
    return {"custom_id": name, "params": claude(system=system, messages=[question])}


def result(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"custom_id": name, "result": {"type": kind, **more}}


RESULTS = (
    result("b", "succeeded", message=message(usage(20, 1_000) | {"service_tier": "batch"})),
    result("a", "succeeded", message=message(usage(20, 0, 0, 1_000), id="msg_0")),
    result("c", "errored", error={"type": "error", "error": {"type": "invalid_request_error"}}),
    result("d", "errored", error={"type": "error", "error": {"type": "api_error"}}),
    result("e", "canceled"),
    result("f", "expired"),
)  # fmt: skip


def test_anthropic_results_find_their_requests(write: Write, import_all: ImportAll) -> None:
    files = (
        write(*RESULTS, name="results.jsonl"),
        write(*(params(name) for name in "abcdef"), name="requests.jsonl"),
    )
    trace, summary = import_all(*files)
    found = {request.request_id: request for request in trace}
    assert {name: r.status for name, r in found.items()} == {
        "a": "ok", "b": "ok", "c": "rejected", "d": "error", "e": "rejected", "f": "rejected",
    }  # fmt: skip
    assert all(r.blocks and r.is_batch and r.service_tier == "batch" for r in found.values())
    assert found["a"].observed.cache_write_1h == found["b"].observed.cache_read == 1_000
    assert [block.tokens for block in found["a"].blocks] == [1_000, 20]
    assert "no times in the file: its requests are put one second apart, in file order" in (
        summary.warnings
    )


def test_anthropic_results_alone_have_counts(write: Write, import_all: ImportAll) -> None:
    trace, _ = import_all(write(*RESULTS))
    assert [request.prompt_tokens for request in trace] == [1_020, 1_020, None, None, None, None]
    assert trace.meta.evidence == "counts"
