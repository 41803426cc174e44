"""HAR captures: bodies in every packing, streams, secrets that stay behind, what is skipped."""

import base64
import gzip
import json
import sys
import types
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from api_calls import (
    chat,
    claude,
    claude_end,
    claude_events,
    completion,
    message,
    response,
    responses,
    said,
    sse,
    usage,
)

from cachecast_datasets.errors import LogError

Write = Callable[..., Path]
ImportAll = Callable[..., Any]

ASK = claude(messages=[said("user", "How are you?")])
KEY = "sk-ant-api03-topsecret"
COOKIE = "sessionKey=alsosecret"


CLAUDE = "https://api.anthropic.com/v1/messages"


def entry(body: Any, reply: Any, url: str = CLAUDE, **more: Any) -> dict[str, Any]:
    """One exchange; strings and dicts are bodies, what `packed` made stays as it is."""
    content = {"mimeType": "application/json", **_text(reply)}
    sent = {"mimeType": "application/json", **_text(body)}
    return {
        "startedDateTime": "2026-11-20T10:00:00.250Z",
        "time": 2_500,
        "timings": {"blocked": 10, "dns": -1, "connect": 30, "ssl": 20, "send": 5, "wait": 655,
                    "receive": 1_800},
        "request": {
            "method": "POST", "url": url, "postData": sent,
            "headers": [{"name": "X-Api-Key", "value": KEY}, {"name": "Cookie", "value": COOKIE}],
        },
        "response": {
            "status": 200, "content": content,
            "headers": [{"name": "Set-Cookie", "value": COOKIE}],
        },
        **more,
    }  # fmt: skip


def _text(body: Any) -> dict[str, Any]:
    if body is None:
        return {}
    if isinstance(body, dict) and set(body) <= {"text", "encoding"}:
        return body
    return {"text": body if isinstance(body, str) else json.dumps(body)}


def packed(data: bytes) -> dict[str, Any]:
    return {"text": base64.b64encode(data).decode(), "encoding": "base64"}


def har(*entries: Any) -> dict[str, Any]:
    return {"log": {"version": "1.2", "creator": {"name": "made up"}, "entries": list(entries)}}


def one(write: Write, import_all: ImportAll, *entries: Any) -> Any:
    trace, _ = import_all(write(har(*entries)))
    (request,) = trace
    return request


def test_an_entry_is_a_request_with_its_true_start(write: Write, import_all: ImportAll) -> None:
    request = one(write, import_all, entry(ASK, message(usage(12))))
    assert (request.provider, request.platform, request.model) == ("anthropic", None, ASK["model"])
    assert (request.prompt_tokens, request.end_s, request.status) == (12, 2.5, "ok")
    assert request.arrival_us % 1_000_000 == 250_000
    assert request.first_token_s is None  # a whole body says nothing about its first token


@pytest.mark.parametrize("indent", [None, 2])
def test_a_capture_may_be_printed_over_many_lines(
    write: Write, import_all: ImportAll, indent: int | None
) -> None:
    text = json.dumps(har(entry(ASK, message(usage(12)))), indent=indent)
    trace, summary = import_all(write(text))
    assert (trace.rows, summary.source_format) == (1, "har")


STREAM = sse(*claude_events(usage(4, 1_000)), *claude_end({"output_tokens": 77}))


@pytest.mark.parametrize(
    "pack",
    [
        lambda text: text,
        lambda text: packed(text.encode()),
        lambda text: packed(gzip.compress(text.encode())),
        lambda text: packed(zstandard.compress(text.encode())),
        lambda text: {"text": gzip.compress(text.encode()).decode("latin-1")},
    ],
    ids=["text", "base64", "gzip", "zstd", "gzip as characters"],
)
def test_bodies_are_unpacked(
    write: Write, import_all: ImportAll, pack: Callable[[str], Any]
) -> None:
    """A compressed request body (Codex sends zstd) and an event stream as the response."""
    request = one(write, import_all, entry(pack(json.dumps(ASK)), pack(STREAM)))
    assert (request.prompt_tokens, request.output_tokens) == (1_004, 77)
    assert len(request.blocks) == 1
    assert request.first_token_s == 0.7  # 10 + 30 + 5 + 655 ms to the first byte


def test_deflate_is_unpacked_by_its_header(write: Write, import_all: ImportAll) -> None:
    made = entry(packed(zlib.compress(json.dumps(ASK).encode())), message(usage(12)))
    made["request"]["headers"].append({"name": "content-encoding", "value": "deflate"})
    assert len(one(write, import_all, made).blocks) == 1


def brotli_entry() -> dict[str, Any]:
    made = entry(ASK, packed(b"\x0b\x02\x80not really"))
    made["response"]["headers"].append({"name": "content-encoding", "value": "br"})
    return made


def test_brotli_needs_its_package_and_is_counted_without(
    write: Write, import_all: ImportAll, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "brotli", None)
    monkeypatch.setitem(sys.modules, "brotlicffi", None)
    trace, summary = import_all(write(har(brotli_entry(), entry(ASK, message(usage(12))))))
    assert trace.rows == 1
    assert summary.warnings == [
        "1 × a call whose body is not readable: it is packed with br, and the Python package "
        "brotli is not installed"
    ]
    fake = types.ModuleType("brotli")
    fake.error = ValueError  # type: ignore[attr-defined]
    fake.decompress = lambda data: json.dumps(message(usage(12))).encode()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "brotli", fake)
    assert one(write, import_all, brotli_entry()).prompt_tokens == 12


def test_missing_bodies_are_counted(write: Write, import_all: ImportAll) -> None:
    trace, summary = import_all(
        write(har(entry(ASK, None), entry(None, message(usage(12), id="msg_2"))))
    )
    no_reply, no_request = trace
    assert (no_reply.prompt_tokens, no_reply.status, len(no_reply.blocks)) == (None, None, 1)
    assert (no_request.prompt_tokens, no_request.blocks) == (12, None)
    assert summary.warnings[:2] == [
        "1 × a call without its response body: no usage",
        "1 × no prompt size reported: the blocks are an estimate of their own",
    ]
    assert "1 × a call without its request body: counts only" in summary.warnings


def test_websockets_and_everything_else_are_counted_not_read(
    write: Write, import_all: ImportAll
) -> None:
    socket = entry(None, None, "wss://chatgpt.com/backend-api/codex/responses")
    page = entry(None, None, "https://example.org/logo.png")
    preflight = entry(ASK, None)
    preflight["request"]["method"] = "OPTIONS"
    entries = (socket, entry(None, None, _webSocketMessages=[{"data": "x"}]), page, preflight)
    trace, summary = import_all(write(har(*entries)))
    assert trace.rows == 0
    assert summary.warnings[:2] == [
        "2 × a WebSocket exchange, which is not read",
        "2 × an entry that calls no model",
    ]


def test_br31_a_call_that_only_compacts_a_history_is_a_request(
    write: Write, import_all: ImportAll
) -> None:
    use = {"input_tokens": 190_000, "output_tokens": 2_000}
    made = response(use, object="response.compaction")
    url = "https://api.openai.com/v1/responses/compact"
    request = one(write, import_all, entry(responses("All"), made, url))
    assert (request.prompt_tokens, request.output_tokens) == (190_000, 2_000)


def test_secrets_never_leave_the_reader(
    write: Write, import_all: ImportAll, tmp_path: Path
) -> None:
    first = entry(ASK, message(usage(12)))
    other = entry(ASK, message(usage(12), id="msg_2"))
    other["request"]["headers"] = [{"name": "Authorization", "value": "Bearer sk-other-secret"}]
    trace, _ = import_all(write(har(first, other)), keep_text=True)
    accounts = [request.account for request in trace]
    assert None not in accounts
    assert accounts[0] != accounts[1]
    for file in tmp_path.glob("out*"):
        data = file.read_bytes()
        assert not any(word in data for word in (b"secret", b"sk-ant", b"Bearer", b"sessionKey"))


def test_a_sign_in_token_changes_and_the_organization_stays(
    write: Write, import_all: ImportAll
) -> None:
    entries = []
    for number in range(2):
        made = entry(ASK, message(usage(12), id=f"msg_{number}"))
        token = f"Bearer sk-ant-oat01-{number}"
        made["request"]["headers"] = [{"name": "authorization", "value": token}]
        made["response"]["headers"] = [{"name": "anthropic-organization-id", "value": "org"}]
        entries.append(made)
    one_account, other = (r.account for r in import_all(write(har(*entries)))[0])
    assert one_account == other is not None


@pytest.mark.parametrize(("code", "status"), [(400, "rejected"), (529, "error"), (0, "aborted")])
def test_a_failed_exchange_has_a_status(
    write: Write, import_all: ImportAll, code: int, status: str
) -> None:
    made = entry(ASK, {"type": "error", "error": {"type": "x"}} if code else None)
    made["response"]["status"] = code
    assert one(write, import_all, made).status == status


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("https://api.openai.com/v1/chat/completions", ("openai", None)),
        ("https://x.openai.azure.com/openai/deployments/d/chat/completions", (None, "azure")),
        ("https://openrouter.ai/api/v1/chat/completions", (None, "openrouter")),
        ("http://localhost:8000/v1/chat/completions?x=1", (None, "localhost")),
    ],
)
def test_the_host_says_the_provider_and_the_platform(
    write: Write, import_all: ImportAll, url: str, where: tuple[str | None, str | None]
) -> None:
    made = entry(chat(said("user", "Q")), completion({"prompt_tokens": 9}), url)
    request = one(write, import_all, made)
    assert (request.provider, request.platform) == where


def test_a_cut_body_names_its_entry_or_is_skipped(write: Write, import_all: ImportAll) -> None:
    path = write(har(entry(json.dumps(ASK)[:-9], None), entry(ASK, message(usage(12)))))
    with pytest.raises(LogError, match=r"entry 1: the request body is .*, expected an obj"):
        import_all(path)
    trace, summary = import_all(path, skip_bad=True)
    assert trace.rows == 1
    assert [skip.count for skip in summary.skipped] == [1]
