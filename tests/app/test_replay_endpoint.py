"""`cachecast replay --endpoint`, against a small server on a real socket of this machine."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from conftest import RunCli
from fake_server import (
    Body,
    FakeServer,
    Handler,
    answer,
    limit,
    piece,
    serving,
    usage,
)

from cachecast_replay.endpoint.answers import Answer, AnswerTotals

pytest.importorskip("httpx", reason="httpx is not installed: --endpoint needs it")

# three prompts of two blocks of 512 tokens; the first two share a block. Ids come from the hashes.
LOG = [
    {"timestamp": 0, "input_length": 1024, "output_length": 3, "hash_ids": [1, 2]},
    {"timestamp": 10, "input_length": 1024, "output_length": 4, "hash_ids": [1, 3]},
    {"timestamp": 20, "input_length": 1024, "output_length": 5, "hash_ids": [4, 5]},
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in LOG), encoding="utf-8")
    return path


def replayed(run_cli: RunCli, log: Path, server: FakeServer, *more: object) -> Any:
    """What `--json` prints."""
    code, out, err = run_cli("replay", log, "--endpoint", server.url, "--json", *more)
    assert code == 0, err
    return json.loads(out)


def refused(run_cli: RunCli, *arguments: object) -> str:
    """The one sentence of a replay that ends with exit code 2."""
    code, out, err = run_cli("replay", *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    return err.removeprefix("cachecast: ")


def rows_of(run_cli: RunCli, run: Path) -> list[dict[str, Any]]:
    query = "select * from measured order by row"
    code, out, err = run_cli("sql", run, query, "--json")
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


def test_prompts_go_as_ids_that_share_what_the_log_shares(run_cli: RunCli, log: Path) -> None:
    with serving(answer) as server:
        found = replayed(run_cli, log, server)
    first, second, third = [body["prompt"] for body in server.asked]
    assert [len(prompt) for prompt in (first, second, third)] == [1024] * 3
    assert first[:512] == second[:512]
    assert first[512:] != second[512:]
    assert first[:512] != third[:512]
    assert max(first) < 1000
    assert [body["max_tokens"] for body in server.asked] == [3, 4, 5]
    assert all(body["ignore_eos"] and body["temperature"] == 0 for body in server.asked)
    assert (found["completed"], found["failed"], found["retries"]) == (3, 0, 0)
    assert (found["prompt_tokens"], found["output_tokens"]) == (3072, 12)
    assert (found["hit_tokens"], found["token_hit_ratio"]) == (0, 0.0)
    assert found["recounted_prompts"] == 0
    assert 0 <= found["send_delay_s"]["p50"] <= found["ttft_s"]["p50"]
    assert (found["prompts"], found["model"], found["clock"]) == ("ids", "tiny", "real")


def test_a_run_holds_what_the_server_said_and_what_the_client_saw(
    run_cli: RunCli, log: Path, tmp_path: Path
) -> None:
    cached = iter([0, 512, 0])

    def act(handler: Handler, body: Body) -> None:
        answer(handler, body, 0 if limit(body) == 2 else next(cached))

    with serving(act) as server:
        replayed(run_cli, log, server, "-o", tmp_path / "run", "--concurrency", "1")
    rows = rows_of(run_cli, tmp_path / "run")
    assert [row["hit_tokens"] for row in rows] == [0, 512, 0]
    assert [row["output_tokens"] for row in rows] == [3, 4, 5]
    assert [row["arrival_us"] for row in rows] == [0, 10_000, 20_000]
    assert {row["scenario"] for row in rows} == {server.url}
    assert {(row["status"], row["finish"], row["retries"]) for row in rows} == {("ok", "length", 0)}
    for row in rows:
        assert row["arrival_us"] * 1000 <= row["sent_ns"] < row["first_token_ns"] <= row["end_ns"]
        # an admission or a preemption is seen by the server alone
        assert (row["scheduled_ns"], row["preemptions"], row["readmissions"]) == (None, None, None)


def test_a_compare_leaves_out_hits_that_are_unknown_and_names_them(
    run_cli: RunCli, log: Path, tmp_path: Path
) -> None:
    """Two of the three are compared; the second differs."""
    cached = iter([0, 0, None])

    def act(handler: Handler, body: Body) -> None:
        answer(handler, body, 0 if limit(body) == 2 else next(cached))

    fleet = tmp_path / "fleet.toml"
    fleet.write_text(
        '[engine]\nblock_tokens = 512\nblocks = 21\n[latency]\nkind = "fixed"\n'
        "prefill_step_s = 0.001\ndecode_step_s = 0.001\n",
        encoding="utf-8",
    )
    with serving(act) as server:
        replayed(run_cli, log, server, "-o", tmp_path / "measured", "--concurrency", "1")
    code, _, err = run_cli("simulate", log, "--fleet", fleet, "-o", tmp_path / "predicted")
    assert code == 0, err
    _, out, _ = run_cli("compare", tmp_path / "predicted", tmp_path / "measured", "--json")
    hits = json.loads(out)["hit_tokens"]
    assert (hits["predicted"], hits["measured"]) == (512, 0)
    assert (hits["mismatched_ids"], hits["unknown_ids"]) == (["2"], ["3"])
    assert json.loads(out)["preemptions"] == {"mismatched_requests": 0, "mismatched_ids": []}
    _, out, _ = run_cli("compare", tmp_path / "predicted", tmp_path / "measured")
    assert "1 of 2" in out
    assert "hit tokens of 1 requests are unknown and left out: 3" in out


@pytest.mark.parametrize("reported", ["null", "no usage"])
def test_a_server_that_reports_no_cached_tokens_is_named_and_nothing_is_made_up(
    run_cli: RunCli, log: Path, tmp_path: Path, reported: str
) -> None:
    def act(handler: Handler, body: Body) -> None:
        if reported == "no usage":
            body.pop("stream_options", None)
        answer(handler, body, None)

    with serving(act) as server:
        code, out, err = run_cli(
            "replay", log, "--endpoint", server.url, "--json", "-o", tmp_path / "run"
        )
    found = json.loads(out)
    assert code == 0
    assert (found["hit_tokens"], found["token_hit_ratio"]) == (None, None)
    assert found["unknown_hit_requests"] == 3
    assert "the server reports no cached tokens, so hits are unknown" in err
    rows = rows_of(run_cli, tmp_path / "run")
    assert [row["hit_tokens"] for row in rows] == [None] * 3
    outputs = [None] * 3 if reported == "no usage" else [3, 4, 5]
    assert [row["output_tokens"] for row in rows] == outputs


def test_several_tokens_a_piece_are_counted_by_the_server_and_not_by_pieces(
    run_cli: RunCli, log: Path
) -> None:
    def act(handler: Handler, body: Body) -> None:
        handler.start()
        handler.send(piece(body, "a b c", "length"))
        handler.send({"choices": [], "usage": usage(body, 0)})
        handler.send("[DONE]")

    with serving(act) as server:
        assert replayed(run_cli, log, server)["output_tokens"] == 12


def test_a_server_that_counts_other_tokens_than_were_sent_is_named(
    run_cli: RunCli, log: Path
) -> None:
    """One that puts a token of its own before every prompt."""

    def act(handler: Handler, body: Body) -> None:
        handler.start()
        handler.send(piece(body, "a", "length"))
        counts = usage(body, 0)
        handler.send({"usage": {**counts, "prompt_tokens": counts["prompt_tokens"] + 1}})

    with serving(act) as server:
        code, out, err = run_cli("replay", log, "--endpoint", server.url, "--json")
    assert code == 0
    assert (json.loads(out)["recounted_prompts"], json.loads(out)["prompt_tokens"]) == (3, 3075)
    assert "the server counts other tokens in 3 prompts than were sent" in err


def text_only(handler: Handler, body: Body) -> None:
    if isinstance(body.get("prompt"), list):
        handler.refuse(400, "prompt must be a [string]")
    else:
        answer(handler, body)


def chat_only(handler: Handler, body: Body) -> None:
    if "prompt" in body:
        handler.refuse(404, "no such path")
    else:
        answer(handler, body)


@pytest.mark.parametrize(("act", "shape"), [(text_only, "text"), (chat_only, "chat")])
def test_a_server_that_refuses_token_ids_gets_words_that_share_the_same(
    run_cli: RunCli, log: Path, act: Callable[[Handler, Body], None], shape: str
) -> None:
    with serving(act) as server:
        code, out, err = run_cli("replay", log, "--endpoint", server.url, "--json")
    assert code == 0, err
    assert json.loads(out)["prompts"] == shape
    assert err.splitlines()[0].startswith("the server refuses token ids (answered 40")
    taken = server.asked
    texts = [b["prompt"] if shape == "text" else b["messages"][0]["content"] for b in taken]
    first, second, third = (text.split() for text in texts)
    assert first[:512] == second[:512]
    assert first[512:] != second[512:]
    assert first[:512] != third[:512]


def test_ids_alone_are_refused_with_what_the_server_said(run_cli: RunCli, log: Path) -> None:
    with serving(text_only) as server:
        said = refused(run_cli, log, "--endpoint", server.url, "--prompts", "ids")
    assert said == (
        f"{server.url} takes no token ids to /completions: it answered 400: prompt must be a "
        "[string]; --prompts auto tries text too\n"
    )


def test_a_server_without_ignore_eos_may_stop_early_and_that_is_said(
    run_cli: RunCli, log: Path
) -> None:
    def act(handler: Handler, body: Body) -> None:
        if "ignore_eos" in body:
            handler.refuse(400, "unknown field ignore_eos")
            return
        handler.start()
        handler.send(piece(body, "a", "stop"))
        handler.send({"choices": [], "usage": usage(body, 0, output=1)})

    with serving(act) as server:
        code, out, err = run_cli("replay", log, "--endpoint", server.url, "--json")
    assert code == 0
    assert json.loads(out)["stopped_early"] == 3
    assert "refuses ignore_eos: answers may end before their length in the log" in err
    assert "3 answers shorter than asked: the server stopped early" in err


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


@pytest.mark.parametrize(("cap", "busiest"), [(1, 1), (2, 2), (None, 3)])
def test_no_more_requests_are_in_flight_than_the_cap(
    run_cli: RunCli, log: Path, cap: int | None, busiest: int
) -> None:
    """Each waits until as many are there as can be: the three arrive within 20 ms."""
    waiting = threading.Semaphore(0)
    arrived = count(1)

    def act(handler: Handler, body: Body) -> None:
        if limit(body) != 2 and next(arrived) <= busiest:
            if handler.server.fake.busy >= busiest:
                waiting.release(busiest)
            assert waiting.acquire(timeout=10)
        answer(handler, body)

    with serving(act) as server:
        options = () if cap is None else ("--concurrency", cap)
        replayed(run_cli, log, server, *options)
    assert server.busiest == busiest
    assert len(server.asked) == 3


def test_arrivals_are_honoured_and_sped_up(run_cli: RunCli, tmp_path: Path) -> None:
    """200 ms between two requests, or 2 ms: never earlier, whatever the machine is busy with."""
    log = tmp_path / "log.jsonl"
    rows = [{**LOG[0], "timestamp": 1000}, {**LOG[1], "timestamp": 1200}]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    gaps = []
    for number, speed in enumerate((1, 100)):
        run = tmp_path / f"run{number}"
        with serving(answer) as server:
            replayed(run_cli, log, server, "--speed-up", speed, "-o", run)
        first, second = rows_of(run_cli, run)
        assert first["sent_ns"] >= first["arrival_us"] * 1000 == 10**9 // speed
        assert second["sent_ns"] >= second["arrival_us"] * 1000 == 12 * 10**8 // speed
        gaps.append(second["sent_ns"] - first["arrival_us"] * 1000)
    assert gaps[0] >= 200_000_000


def test_in_a_closed_loop_a_turn_waits_for_the_answer_before_it(
    run_cli: RunCli, tmp_path: Path
) -> None:
    """The log has the second turn 10 ms after the first; the answer takes longer."""
    log = tmp_path / "log.jsonl"
    rows = [
        {"at": 0.0, "took": 0.005, "session": "s", "model": "m", "output": 3,
         "prompt": [["user", "Q1", 40]]},
        {"at": 0.010, "took": 0.005, "session": "s", "model": "m", "output": 4,
         "prompt": [["user", "Q1", 40], ["user", "Q2", 40]]},
    ]  # fmt: skip
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def slow(handler: Handler, body: Body) -> None:
        time.sleep(0.05)
        answer(handler, body)

    with serving(slow) as server:
        replayed(run_cli, log, server, "--loop", "closed", "-o", tmp_path / "run")
    first, second = rows_of(run_cli, tmp_path / "run")
    assert server.busiest == 1
    # the caller's pause of 5 ms after the answer
    assert second["arrival_us"] * 1000 >= first["end_ns"] + 5_000_000 - 1000


def test_warm_up_and_reset_come_before_the_log_and_are_not_measured(
    run_cli: RunCli, log: Path
) -> None:
    """Known faults 25 and 39: a warm server against a cold simulation, and a slow first run. A
    server that holds blocks a moment longer is asked again."""
    with serving(answer) as server:
        server.posts = {"/reset": [{"success": False}, {"success": True}]}
        options = ("--warm-up", 2, "--reset-cache", "/reset", "--concurrency", 1)
        found = replayed(run_cli, log, server, *options)
    assert found["requests"] == 3
    assert [limit(body) for _, body in server.seen] == [2, 16, 16, 3, 4, 5]
    assert server.resets == 2


def test_a_reset_that_the_server_does_not_know_is_refused(run_cli: RunCli, log: Path) -> None:
    def act(handler: Handler, body: Body) -> None:
        (answer if body else lambda h, b: h.refuse(404, "no such path"))(handler, body)

    with serving(act) as server:
        said = refused(run_cli, log, "--endpoint", server.url, "--reset-cache", "/flush")
    assert said.startswith("--reset-cache /flush: http://127.0.0.1:")
    assert "answered 404: no such path; vLLM has it where VLLM_SERVER_DEV_MODE=1 was set" in said


def test_without_httpx_the_command_says_what_to_install(log: Path) -> None:
    """In a process of its own: here it is loaded already."""
    code = (
        "import sys; sys.modules['httpx'] = None; from cachecast.cli import main;"
        f"sys.argv = ['cachecast', 'replay', {str(log)!r}, '--endpoint', 'http://localhost/v1'];"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "cachecast: --endpoint needs httpx: pip install 'cachecast[endpoint]'\n"


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


@pytest.mark.parametrize(
    ("models", "options", "words"),
    [
        (["a", "b"], [], "which model? Name it with --model; it has: a, b"),
        (["a"], ["--model", "c"], "has no model 'c'; it has: a"),
    ],
)
def test_the_model_must_be_one_of_the_servers(
    run_cli: RunCli, log: Path, models: list[str], options: list[str], words: str
) -> None:
    with serving(answer) as server:
        server.models = models
        assert words in refused(run_cli, log, "--endpoint", server.url, *options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "expected either --engine torch:DIR or --endpoint URL"),
        (["--engine", "torch:x", "--endpoint", "http://localhost/v1"], "expected either --engine"),
        (["--endpoint", "http://localhost/v1", "--threads", "2"], "--threads goes with --engine"),
        (["--endpoint", "http://localhost/v1", "--clock", "virtual"], "--clock goes with --engine"),
        (["--engine", "torch:x", "--retries", "1"], "--retries goes with --endpoint"),
        (["--engine", "torch:x"], "--engine needs --fleet FILE"),
        (["--endpoint", "http://example.com/v1"], "--allow-remote sends it the log's prompts"),
        (["--endpoint", "http://localhost/v1", "--api-key-env", "NO_SUCH_KEY"], "is not set"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    run_cli: RunCli, log: Path, options: list[str], words: str
) -> None:
    assert words in refused(run_cli, log, *options)


def test_a_key_reaches_the_server_and_no_file_or_message(
    run_cli: RunCli, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where the server's error repeats it."""
    monkeypatch.setenv("THE_KEY", "sk-hunter2")

    def act(handler: Handler, body: Body) -> None:
        if limit(body) == 4:
            handler.refuse(400, f"{handler.headers['authorization']} may not")
        else:
            answer(handler, body)

    with serving(act) as server:
        code, out, err = run_cli(
            "replay", log, "--endpoint", server.url, "--api-key-env", "THE_KEY",
            "-o", tmp_path / "run",
        )  # fmt: skip
    assert code == 0
    assert server.keys == {"Bearer sk-hunter2"}
    assert rows_of(run_cli, tmp_path / "run")[1]["error"] == (
        "answered 400: Bearer [api key] may not"
    )
    assert "hunter2" not in out + err
    for file in (tmp_path / "run").iterdir():
        assert b"hunter2" not in file.read_bytes()
    assert "Bearer [api key] may not" in err  # brackets are no markup


def test_a_refused_key_is_one_sentence_without_the_servers_words(
    run_cli: RunCli, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "sk-hunter2")

    def act(handler: Handler, body: Body) -> None:
        handler.refuse(401, "Incorrect API key: sk-hun…")

    with serving(act) as server:
        said = refused(run_cli, log, "--endpoint", server.url, "--api-key-env", "THE_KEY")
    assert said == f"{server.url} answered 401: the key is missing or refused\n"


def test_ctrl_c_keeps_what_was_measured(
    run_cli: RunCli, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third request hangs; the signal comes when the client has counted the two before it."""
    done = threading.Event()
    counted = threading.Semaphore(0)
    add = AnswerTotals.add

    def add_and_tell(totals: AnswerTotals, one: Answer) -> None:
        add(totals, one)
        counted.release()

    monkeypatch.setattr(AnswerTotals, "add", add_and_tell)

    def act(handler: Handler, body: Body) -> None:
        if limit(body) == 5:
            assert counted.acquire(timeout=10)
            assert counted.acquire(timeout=10)
            os.kill(os.getpid(), signal.SIGINT)
            done.wait(10)
        else:
            answer(handler, body)

    # what runs in the background of a shell ignores SIGINT, and so would these tests there
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with serving(act) as server:
            found = replayed(run_cli, log, server, "-o", tmp_path / "run")
            done.set()
    finally:
        signal.signal(signal.SIGINT, before)
    assert (found["requests"], found["partial"]) == (2, True)
    assert [row["request_id"] for row in rows_of(run_cli, tmp_path / "run")] == ["1", "2"]
