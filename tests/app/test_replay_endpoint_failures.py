"""`cachecast replay --endpoint`: retries, broken and silent streams, servers that are not there."""

import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import RunCli
from endpoint_replays import LOG, refused, replayed, rows_of, write_rows
from fake_server import Body, Handler, answer, limit, piece, serving

pytest.importorskip("httpx", reason="httpx is not installed: --endpoint needs it")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "log.jsonl", LOG)


def failing(status: int, times: int, **headers: str) -> Callable[[Handler, Body], None]:
    """Each request of the log is refused so often, then answered."""
    left: dict[int, int] = {}

    def act(handler: Handler, body: Body) -> None:
        tries = left.setdefault(limit(body), 0 if limit(body) == 2 else times)
        if tries:
            left[limit(body)] -= 1
            handler.refuse(status, "not now", **headers)
        else:
            answer(handler, body)

    return act


@pytest.mark.parametrize("status", [429, 500, 503])
def test_retries_are_counted_in_the_run_and_said(
    run_cli: RunCli, log: Path, tmp_path: Path, status: int
) -> None:
    with serving(failing(status, 2, retry_after="0")) as server:
        code, out, err = run_cli(
            "replay", log, "--endpoint", server.url, "--json", "-o", tmp_path / "run"
        )
    found = json.loads(out)
    assert code == 0
    assert (found["completed"], found["retries"], found["retried_requests"]) == (3, 6, 3)
    assert "6 retries of 3 requests: their waits are in the TTFT" in err
    assert [row["retries"] for row in rows_of(run_cli, tmp_path / "run")] == [2, 2, 2]


def test_a_request_that_fails_too_often_is_an_error_in_the_run_and_the_others_go_on(
    run_cli: RunCli, log: Path, tmp_path: Path
) -> None:
    def act(handler: Handler, body: Body) -> None:
        if limit(body) == 4:
            handler.refuse(500, "out of memory", retry_after="0")
        else:
            answer(handler, body)

    with serving(act) as server:
        code, _, err = run_cli("replay", log, "--endpoint", server.url, "-o", tmp_path / "run")
    assert code == 0
    assert "1 request failed; the first: the server answered 500: out of memory" in err
    rows = rows_of(run_cli, tmp_path / "run")
    assert [row["status"] for row in rows] == ["ok", "error", "ok"]
    assert (rows[1]["retries"], rows[1]["error"]) == (2, "answered 500: out of memory")
    assert (rows[1]["first_token_ns"], rows[1]["ttft_s"]) == (None, None)


def cut(handler: Handler, body: Body) -> None:
    handler.start()
    handler.send(piece(body, "a"))


def malformed(handler: Handler, body: Body) -> None:
    handler.start()
    handler.send('{"choices": [')


def error_inside(handler: Handler, body: Body) -> None:
    handler.start()
    handler.send(piece(body, "a"))
    handler.send({"error": {"message": "engine died"}})


def unstreamed(handler: Handler, body: Body) -> None:
    handler.plain(200, {"choices": [{"text": "a"}]})


def a_page(handler: Handler, body: Body) -> None:
    """What a gateway in front of a server may say of its troubles."""
    handler.send_response(200)
    handler.send_header("content-type", "text/html; charset=utf-8")
    handler.end_headers()
    handler.wfile.write(b"<html>busy</html>")


def broken_length(handler: Handler, body: Body) -> None:
    """Promises more bytes than it sends."""
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b"data: {")


@pytest.mark.parametrize(
    ("act", "words", "retries"),
    [
        (cut, "cut the stream off after 1 piece of the answer", 0),
        (error_inside, "ended with an error: engine died", 0),
        (malformed, "sent what is no chunk of an answer", 1),
        (unstreamed, "answered with application/json instead of a stream", 1),
        (a_page, "answered with text/html; charset=utf-8 instead of a stream", 1),
        (broken_length, "broke off: ", 1),
    ],
)
def test_a_broken_stream_is_an_error_and_is_tried_again_only_before_its_first_token(
    run_cli: RunCli, log: Path, tmp_path: Path,
    act: Callable[[Handler, Body], None], words: str, retries: int,
) -> None:  # fmt: skip
    def mostly_well(handler: Handler, body: Body) -> None:
        (act if limit(body) == 4 else answer)(handler, body)

    with serving(mostly_well) as server:
        replayed(run_cli, log, server, "-o", tmp_path / "run", "--retries", "1")
    row = rows_of(run_cli, tmp_path / "run")[1]
    assert (row["status"], row["retries"]) == ("error", retries)
    assert row["error"].startswith(words)


def test_a_server_that_falls_silent_is_given_up_after_the_timeout(
    run_cli: RunCli, log: Path, tmp_path: Path
) -> None:
    done = threading.Event()

    def act(handler: Handler, body: Body) -> None:
        if limit(body) == 4:
            handler.start()
            handler.send(piece(body, "a"))
            done.wait(10)
        else:
            answer(handler, body)

    with serving(act) as server:
        replayed(run_cli, log, server, "--timeout", "0.3", "-o", tmp_path / "run")
        done.set()
    row = rows_of(run_cli, tmp_path / "run")[1]
    assert (row["status"], row["error"]) == ("error", "said nothing for 0.3 s")


def test_comments_alone_are_no_answer(run_cli: RunCli, log: Path, tmp_path: Path) -> None:
    """They keep a connection alive, for ever if need be."""
    done = threading.Event()

    def act(handler: Handler, body: Body) -> None:
        if limit(body) == 4:
            handler.start()
            while not done.wait(0.02):
                handler.wfile.write(b": ping\n\n")
                handler.wfile.flush()
        else:
            answer(handler, body)

    with serving(act) as server:
        replayed(run_cli, log, server, "--timeout", "0.3", "--retries", "0", "-o", tmp_path / "run")
        done.set()
    row = rows_of(run_cli, tmp_path / "run")[1]
    assert (row["status"], row["error"]) == ("error", "sent nothing of the answer for 0.3 s")


@pytest.mark.parametrize(("seconds", "words"), [("60", ""), ("61", " (asks to wait 61 s)")])
def test_a_wait_that_is_too_long_is_named(
    run_cli: RunCli, log: Path, tmp_path: Path, seconds: str, words: str
) -> None:
    with serving(failing(429, 1, retry_after=seconds)) as server:
        said = refused(run_cli, log, "--endpoint", server.url, "--retries", "0")
    assert said.endswith(f"{server.url} answered 429: not now{words}\n")


def test_a_list_of_models_that_never_ends_is_not_read(
    run_cli: RunCli, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cachecast_replay.endpoint.client._MOST_BYTES", 20)
    with serving(answer) as server:
        said = refused(run_cli, log, "--endpoint", server.url)
    assert said == f"{server.url} answered with more than 20 bytes\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALL_PROXY", "ftp://me:hunter2@localhost:1"),
        ("HTTPS_PROXY", "ftp://hunter2"),
        ("SSL_CERT_FILE", "/nowhere"),
    ],
)
def test_a_proxy_or_certificates_that_cannot_be_used_are_one_sentence(
    run_cli: RunCli, log: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    said = refused(run_cli, log, "--endpoint", "https://192.0.2.1/v1", "--allow-remote")
    assert said.startswith("the proxy or the certificates that the environment names")
    assert "hunter2" not in said


def test_a_server_that_is_down_is_one_sentence(run_cli: RunCli, log: Path) -> None:
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        said = refused(run_cli, log, "--endpoint", url)
    assert said == (
        f"{url} cannot be reached (All connection attempts failed): is it running, and is the "
        "address right?\n"
    )


def test_a_url_without_its_version_is_named(run_cli: RunCli, log: Path) -> None:
    with serving(answer) as server:
        url = server.url.removesuffix("/v1")
        said = refused(run_cli, log, "--endpoint", url, "--model", "tiny")
    assert said == f"{url} has no /models, expected a URL that ends in /v1\n"


def test_a_redirect_is_not_followed_and_its_target_not_shown(
    run_cli: RunCli, log: Path, tmp_path: Path
) -> None:
    def act(handler: Handler, body: Body) -> None:
        if limit(body) == 4:
            handler.refuse(307, "moved", location="http://elsewhere.example/v1?key=sk-hunter2")
        else:
            answer(handler, body)

    with serving(act) as server:
        replayed(run_cli, log, server, "-o", tmp_path / "run")
    row = rows_of(run_cli, tmp_path / "run")[1]
    assert (row["status"], row["retries"]) == ("error", 0)
    assert row["error"] == (
        "answered 307: a redirect, which is not followed; name the address that it leads to"
    )
