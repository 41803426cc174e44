"""Texts: kept in a file of their own with --keep-text, and nowhere without it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from api_calls import chat, claude, completion, message, pair, said, text, usage

from cachecast_datasets.errors import BadInput
from cachecast_datasets.importing import import_log
from cachecast_datasets.text_file import text_path

Write = Callable[..., Path]

TOOL = {"name": "look_up_customer", "description": "Finds a customer by name.",
        "input_schema": {"type": "object", "properties": {"customer_name": {}}}}  # fmt: skip
CLAUDE = claude(
    tools=[TOOL],
    system=[text("Confidential instructions about Operation Daisy.", "1h")],
    messages=[
        said("user", "Where does Annabelle Example live?"),
        said("assistant", [
            {"type": "thinking", "thinking": "A private question.", "signature": "signature-bytes"},
            {"type": "tool_use", "id": "toolu_identifier", "name": "look_up_customer",
             "input": {"customer_name": "Annabelle Example"}},
        ]),
        said("user", [{"type": "tool_result", "tool_use_id": "toolu_identifier",
                       "content": [text("14 Example Street, Springfield")]}]),
    ],
    tool_choice={"type": "tool", "name": "look_up_customer"},
    output_config={"format": {"type": "json_schema", "schema": {"title": "CustomerAddress"}}},
)  # fmt: skip
OPENAI = chat(
    said("developer", "Confidential instructions about Operation Daisy."),
    said("user", [{"type": "text", "text": "Where does Annabelle Example live?"}]),
    prompt_cache_key="annabelle@example.org",
    response_format={"type": "json_schema", "json_schema": {"name": "CustomerAddress"}},
)
ROWS = (
    pair(CLAUDE, message(usage(50), [text("She lives in Springfield.")])),
    pair(OPENAI, completion({"prompt_tokens": 40}, "She lives in Springfield.", id="c-1")),
)


def strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value, keys of schemas and inputs among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def personal() -> set[bytes]:
    """What people wrote, of eight characters or more."""
    texts = [CLAUDE["tools"], CLAUDE["system"], CLAUDE["messages"], CLAUDE["tool_choice"],
             CLAUDE["output_config"], OPENAI["messages"], OPENAI["prompt_cache_key"],
             OPENAI["response_format"], "She lives in Springfield."]  # fmt: skip
    keys = {"cache_control", "ephemeral", "input_schema", "properties", "description", "assistant",
            "developer", "thinking", "tool_use", "tool_result", "tool_use_id", "signature",
            "json_schema"}  # fmt: skip
    return {s.encode() for part in texts for s in strings(part) if len(s) >= 8 and s not in keys}


def uncompressed(path: Path) -> bytes:
    """Every value and all metadata of a Parquet, as plain bytes."""
    table = pq.read_table(path)
    rows = json.dumps(table.to_pylist(), default=str)
    return path.read_bytes() + rows.encode() + str(table.schema.metadata).encode()


def test_without_the_flag_no_text_is_stored_anywhere(write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    import_log([write(*ROWS)], folder / "log.parquet")
    (file,) = folder.iterdir()
    data = uncompressed(file)
    assert len(personal()) > 10
    assert [word for word in personal() if word in data] == []


def test_with_the_flag_texts_stand_in_a_file_beside_the_log(write: Write, tmp_path: Path) -> None:
    out = tmp_path / "log.parquet"
    import_log([write(*ROWS)], out, keep_text=True)
    table = pq.read_table(text_path(out))
    assert text_path(out).name == "log.text.parquet"
    rows = {(r["request_id"], r["side"], r["block"]): r["text"] for r in table.to_pylist()}
    assert rows["msg_1", "prompt", 2] == "Where does Annabelle Example live?"
    assert rows["msg_1", "prompt", 5] == "14 Example Street, Springfield"
    assert rows["c-1", "prompt", 1] == "Where does Annabelle Example live?"
    assert rows["c-1", "answer", 0] == "She lives in Springfield."
    labels = pq.read_table(out)["blocks"].to_pylist()[0]
    assert labels[0]["label"] == "look_up_customer"  # names of tools are text too
    for personal_text in ("Annabelle", "Springfield", "Daisy"):
        assert personal_text.encode() not in uncompressed(out)


def test_a_text_file_is_not_overwritten_and_an_old_one_is_named(
    write: Write, tmp_path: Path
) -> None:
    path, out = write(*ROWS), tmp_path / "log.parquet"
    import_log([path], out, keep_text=True)
    out.unlink()
    with pytest.raises(BadInput, match=r"log\.text\.parquet: exists already"):
        import_log([path], out, keep_text=True)
    summary = import_log([path], out)
    assert f"{text_path(out)} holds the texts of an earlier import" in summary.warnings


def test_no_text_file_is_left_by_an_import_that_fails(write: Write, tmp_path: Path) -> None:
    out = tmp_path / "log.parquet"
    with pytest.raises(BadInput):
        import_log([write(ROWS[0], '{"request": ')], out, keep_text=True)
    assert not text_path(out).exists()
    assert not out.exists()
