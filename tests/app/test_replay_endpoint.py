"""`cachecast replay --endpoint`: what is sent, and what a run holds; the server is a fake one."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import RunCli
from endpoint_replays import LOG, refused, replayed, rows_of, write_rows
from fake_server import Body, Handler, answer, limit, piece, serving, usage

pytest.importorskip("httpx", reason="httpx is not installed: --endpoint needs it")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "log.jsonl", LOG)


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


KEPT = [
    {"timestamp": "2026-11-01T10:00:00Z", "request": {"model": "claude-opus-5", "max_tokens": 9,
     "system": "You are brief.", "messages": [{"role": "user", "content": question}]},
     "response": {"id": f"m{n}", "type": "message", "role": "assistant", "model": "claude-opus-5",
     "content": [{"type": "text", "text": "Yes."}],
     "usage": {"input_tokens": 12, "output_tokens": 3 + n}}}
    for n, question in enumerate(["Is it raining?", "Is it Monday?"])
]  # fmt: skip


@pytest.mark.parametrize(("act", "kept"), [(text_only, True), (chat_only, True), (answer, False)])
def test_texts_that_were_kept_are_sent_where_ids_are_refused(
    run_cli: RunCli, tmp_path: Path, act: Callable[[Handler, Body], None], kept: bool
) -> None:
    """A server that takes ids gets ids: what is shared is the same, and no text leaves."""
    source, log = write_rows(tmp_path / "calls.jsonl", KEPT), tmp_path / "log.parquet"
    code, _, err = run_cli("import", source, "-o", log, "--keep-text")
    assert code == 0, err
    with serving(act) as server:
        code, out, err = run_cli("replay", log, "--endpoint", server.url, "--json")
    assert code == 0, err
    assert json.loads(out)["kept_texts"] is kept
    assert (f"prompts are the log's own texts, of {tmp_path}/log.text.parquet" in err) is kept
    sent = [
        body["messages"][0]["content"] if "messages" in body else body["prompt"]
        for body in server.asked
    ]
    if kept:
        assert sent == [
            "You are brief.\n\nIs it raining?", "You are brief.\n\nIs it Monday?",
        ]  # fmt: skip
    else:
        assert all(isinstance(prompt, list) for prompt in sent)


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
