"""One small made-up log of every format that is read. A new reader adds its own here.

EXAMPLES = {reader's name: Example}. Tests that hold for every format take them from here.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import api_calls as api
import made_transcripts as made
from usage_logs import LOGS

from cachecast_datasets.importing import import_log


@dataclass(frozen=True, slots=True)
class Example:
    """A log that `write` puts into a folder (which it may fill) and that holds `requests` requests.

    `line_by_line`: each line that is not blank is one request or one fault, so that none can be
    lost in silence.
    """

    write: Callable[[Path], Path]
    requests: int
    line_by_line: bool = False


def lines_of(*rows: Any) -> Callable[[Path], Path]:
    """A writer of JSON lines."""

    def write(folder: Path) -> Path:
        path = folder / "log.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return path

    return write


def document_of(value: Any) -> Callable[[Path], Path]:
    """A writer of one JSON document over several lines."""

    def write(folder: Path) -> Path:
        path = folder / "log.json"
        path.write_text(json.dumps(value, indent=1), "utf-8")
        return path

    return write


def _parquet(folder: Path) -> Path:
    out = folder / "log.parquet"
    source = folder / "source"
    source.mkdir(exist_ok=True)
    import_log([EXAMPLES["sketch"].write(source)], out, force=True)
    return out


_CHAT = [["system", "S", 900, "5m"], ["user", "Q", 40, "5m", {"kind": "text"}]]

EXAMPLES: dict[str, Example] = {
    "parquet": Example(_parquet, 3),
    "sketch": Example(
        lines_of(
            {"at": 0, "ttft": 1.5, "took": 2, "model": "claude-opus-5", "session": "s", "id": "1st",
             "output": 7, "answer": "A", "settings": {"tool_choice": "auto"}, "prompt": _CHAT},
            {"at": 5, "model": "claude-opus-5", "session": "s", "account": "é", "prompt": _CHAT},
            {"at": 9, "model": "claude-opus-5", "session": "s", "status": "error", "prompt": []},
        ),
        3, line_by_line=True,
    ),
    "mooncake": Example(
        lines_of(
            {"timestamp": 0, "input_length": 1100, "output_length": 9, "hash_ids": [1, 2, 3]},
            {"timestamp": 3000, "input_length": 1024, "output_length": 8, "hash_ids": [1, 2]},
            {"timestamp": 3000, "input_length": 600, "output_length": 1, "hash_ids": [7]},
        ),
        3, line_by_line=True,
    ),
    "kv-cache-tester": Example(
        document_of({
            "id": "session", "block_size": 64, "hash_id_scope": "local", "tool_tokens": 64,
            "system_tokens": 70, "requests": [
                {"t": 0, "type": "n", "model": "claude-opus-5", "in": 200, "out": 5,
                 "hash_ids": [1, 2, 3], "input_types": ["text"], "output_types": ["tool_use"]},
                {"t": 4, "type": "subagent", "agent_id": "a", "requests": [
                    {"t": 1, "type": "s", "in": 64, "out": 5, "hash_ids": [9], "ttft": 0.5},
                ]},
            ],
        }),
        2,
    ),
    "kv-cache-tester-merged": Example(
        lines_of(
            {"timestamp": 0.5, "input_length": 200, "output_length": 9, "session": "s",
             "hash_runs": [[1, 3]]},
            {"timestamp": 2, "input_length": 300, "hash_runs": [[1, 3], [9, 1]]},
        ),
        2, line_by_line=True,
    ),
    "token-ids": Example(
        lines_of(
            {"id": 0, "arrival": 0, "prompt_token_ids": list(range(20)), "output_len": 2,
             "output_token_ids": [5, 6]},
            {"id": "b", "arrival": 1.5, "prompt_token_ids": [1, 2], "output_len": 2},
        ),
        2, line_by_line=True,
    ),
}  # fmt: skip


def _usage_log(name: str) -> Example:
    """One of the made-up usage logs, as a file of its own name."""
    _, text, requests, *_ = LOGS[name]

    def write(folder: Path) -> Path:
        path = folder / name
        path.write_text(text, "utf-8")
        return path

    return Example(write, requests)


EXAMPLES |= {
    "litellm": _usage_log("litellm.jsonl"),
    "langfuse": _usage_log("langfuse.jsonl"),
    "otel": _usage_log("otlp.json"),
    "openrouter": _usage_log("openrouter.json"),
    "azure": _usage_log("azure.csv"),
    "lmcache": _usage_log("lmcache.jsonl"),
    "sharegpt": _usage_log("sharegpt.jsonl"),
    "tracelab": _usage_log("tracelab.jsonl"),
}


_ASK = api.claude(messages=[api.said("user", "How are you?")])
_ANSWER = api.message(api.usage(100, read=900))
_BATCH_ANSWER = api.completion({"prompt_tokens": 1100, "completion_tokens": 5})
_THREAD = "01a7c9e4-6d12-7b3a-9f42-8c6d5e1a0b73"


def _captured(second: int) -> dict[str, Any]:
    """An entry of a HAR capture."""
    answer = _ANSWER | {"id": f"msg_{second}"}
    return {
        "startedDateTime": f"2026-11-20T10:00:0{second}.250Z", "time": 2_500,
        "timings": {"send": 5, "wait": 655, "receive": 1_840},
        "request": {
            "method": "POST", "url": "https://api.anthropic.com/v1/messages", "headers": [],
            "postData": {"mimeType": "application/json", "text": json.dumps(_ASK)},
        },
        "response": {
            "status": 200, "headers": [],
            "content": {"mimeType": "application/json", "text": json.dumps(answer)},
        },
    }  # fmt: skip


EXAMPLES |= {
    "har": Example(
        document_of({"log": {"version": "1.2", "entries": [_captured(1), _captured(3)]}}), 2
    ),
    "openai-batch": Example(
        lines_of(*(
            {"id": f"b-{name}", "custom_id": name, "error": None,
             "response": {"status_code": 200, "request_id": "r", "body": _BATCH_ANSWER}}
            for name in "ab"
        )), 2, line_by_line=True,
    ),
    "anthropic-batch": Example(
        lines_of(*(
            {"custom_id": name, "result": {"type": "succeeded", "message": _ANSWER}}
            for name in "ab"
        )), 2, line_by_line=True,
    ),
    "provider-json": Example(
        lines_of(
            api.pair(_ASK, _ANSWER, id="1st"),
            api.pair(_ASK, _ANSWER | {"id": "msg_2"}, id="2nd"),
        ), 2, line_by_line=True,
    ),
    "claude-code": Example(
        lines_of(
            made.user(0, "u1", None, "How are you?"),
            made.answer(1, "a1", "u1", made.tokens(10, written=900, output=9), made.text("Fine.")),
        ), 1,
    ),
    "codex": Example(
        lines_of(
            made.meta(0, _THREAD),
            made.said(1, "user", "How are you?"),
            made.count(5, made.used(20_149, 9_984, 5), made.used(20_149, 9_984, 5)),
        ), 1,
    ),
}  # fmt: skip
