"""Sketch JSONL: every key, and every way to get one wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cachecast_datasets.errors import LogError
from cachecast_datasets.hashing import content_hash
from cachecast_datasets.readers.sketch import READER
from cachecast_datasets.request import ContentBlock, Request
from cachecast_datasets.source import Source

Write = Callable[..., Path]

FULL: dict[str, Any] = {
    "at": 1.5, "ttft": 1.2, "took": 3.5, "model": "claude-opus-5", "account": "a", "session": "s1",
    "output": 120, "answer": "A1", "settings": {"tool_choice": "auto", "parallel": False},
    "cache": "auto:1h", "status": "ok", "batch": True, "tier": "flex", "prewarm": True,
    "host": "bedrock", "id": "mine",
    "prompt": [
        ["tools", "T1", 2000],
        ["system", "S1", 6000, "5m"],
        ["user", "Q1", 200, "1h", {"kind": "image", "canonical": "Qc", "masked": "Qm"}],
        ["user", "Q2", 20, None, {"join": True}],
        ["assistant", "A1", 120, None, {"kind": "text"}],
    ],
}  # fmt: skip


def requests(write: Write, *lines: Any) -> list[Request]:
    return list(READER.read(Source(write(*lines))))


def refusal(write: Write, *lines: Any) -> str:
    path = write(*lines)
    with pytest.raises(LogError) as caught:
        list(READER.read(Source(path)))
    return str(caught.value).replace(str(path), "FILE")


def test_every_key_of_a_line_reaches_the_request(write: Write) -> None:
    (one,) = requests(write, FULL)
    assert (one.request_id, one.arrival_us, one.source_line) == ("mine", 1_500_000, 1)
    assert (one.first_token_s, one.end_s, one.status) == (1.2, 3.5, "ok")
    assert (one.model, one.account, one.session_id) == ("claude-opus-5", "a", "s1")
    assert (one.output_tokens, one.answer_hash) == (120, content_hash(b"A1"))
    assert one.settings == {"tool_choice": "auto", "parallel": "false", "prewarm": "true"}
    assert (one.cache_mode, one.is_batch, one.service_tier) == ("auto:1h", True, "flex")
    assert one.platform == "bedrock"
    assert (one.prompt_tokens, one.tools_tokens, one.system_tokens) == (8340, 2000, 6000)


def test_prompt_items_become_content_blocks_and_joined_ones_share_a_message(write: Write) -> None:
    (one,) = requests(write, FULL)
    blocks = one.blocks or []
    assert [block.message for block in blocks] == [0, 1, 2, 2, 3]
    assert blocks[0].kind == "tool_definition"
    assert blocks[2] == ContentBlock(
        section="user",
        role="user",
        kind="image",
        message=2,
        tokens=200,
        hash=content_hash(b"Q1"),
        canonical_hash=content_hash(b"Qc"),
        masked_hash=content_hash(b"Qm"),
        marker="1h",
        label="Q1",
    )
    assert blocks[4].hash == one.answer_hash


def test_what_a_line_does_not_say_is_unknown(write: Write) -> None:
    (one,) = requests(write, {"at": 0, "prompt": []})
    known = {name for name, value in one.as_dict().items() if value is not None}
    assert known == {
        "request_id", "arrival_us", "settings", "blocks", "prompt_tokens", "tools_tokens",
        "system_tokens", "source_line",
    }  # fmt: skip
    assert one.request_id == "1"


def test_ids_are_line_numbers_and_blank_lines_count(write: Write) -> None:
    made = requests(write, {"at": 0, "prompt": []}, "", {"at": 0, "prompt": []})
    assert [one.request_id for one in made] == ["1", "3"]


def test_a_ttft_of_null_never_started_and_none_at_all_is_unknown(write: Write) -> None:
    never, unknown = requests(write, {"at": 0, "prompt": [], "ttft": None}, {"at": 0, "prompt": []})
    assert (never.status, never.first_token_s) == ("aborted", None)
    assert (unknown.status, unknown.first_token_s) == (None, None)


def test_absolute_times_count_from_the_unix_epoch(write: Write) -> None:
    source = Source(write({"at": "1970-01-01T01:00:00.5+01:00", "prompt": []}))
    (one,) = READER.read(source)
    assert one.arrival_us == 500_000
    assert source.meta is not None
    assert source.meta.time_origin == "absolute"


def item(*values: Any) -> dict[str, Any]:
    return {"at": 0, "prompt": [list(values)]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"prompt": []}, "at is missing, expected a value"),
        ({"at": 0}, "prompt is missing, expected a value"),
        ('{"at": NaN, "prompt": []}', "at is NaN, expected a finite number"),
        ({"at": -1, "prompt": []}, "at is -1.0, expected 0 <= at <= 1e+10 s"),
        ({"at": "noon", "prompt": []},
         "at is \"noon\", expected seconds or RFC 3339 with a zone (2026-01-31T12:00:00Z)"),
        ({"at": "2026-01-31T12:00:00", "prompt": []},
         "at is \"2026-01-31T12:00:00\", expected seconds or RFC 3339 with a zone "
         "(2026-01-31T12:00:00Z)"),
        ({"at": None, "prompt": []}, "at is null, expected a number or a string"),
        ({"at": 0, "prompt": [], "output": -3}, "output is -3, expected an integer >= 0"),
        ({"at": 0, "prompt": [], "output": 2.5}, "output is 2.5, expected an integer or null"),
        ({"at": 0, "prompt": [], "took": -1}, "took is -1, expected a number >= 0"),
        ({"at": 0, "prompt": [], "cache": "on"},
         "cache is \"on\", expected one of auto, auto:5m, auto:1h, implicit, explicit, none"),
        ({"at": 0, "prompt": [], "status": "done"},
         "status is \"done\", expected one of ok, error, aborted, rejected"),
        ({"at": 0, "prompt": [], "status": "ok", "ttft": None},
         'ttft is null (never started), but status is "ok"; expected one of both'),
        ({"at": 0, "prompt": [], "modle": "x"},
         "modle is not a known key, expected one of at, prompt, id, ttft, took, model, account, "
         "session, output, answer, settings, cache, status, batch, tier, prewarm, host"),
        (item("user", "Q", -5), "prompt[0].tokens is -5, expected an integer >= 0"),
        (item("user", "Q", 1.5), "prompt[0].tokens is 1.5, expected an integer"),
        (item("user", "Q", True), "prompt[0].tokens is true, expected an integer"),
        (item("user", "Q"),
         "prompt[0] is [\"user\", \"Q\"], expected an array of at least length 3"),
        (item("robot", "Q", 5),
         "prompt[0].section is \"robot\", expected one of tools, system, developer, user, "
         "assistant, tool"),
        (item("user", "Q", 5, "2h"),
         "prompt[0].marker is \"2h\", expected one of 5m, 1h, 30m, 12h, breakpoint"),
        (item("user", "Q", 5, None, {"kind": "sound"}),
         "prompt[0].options.kind is \"sound\", expected one of text, tool_definition, tool_use, "
         "tool_result, thinking, image, document, server_tool_result"),
        (item("user", "Q", 5, None, {"joined": True}),
         "prompt[0].options.joined is not a known key, expected one of kind, join, canonical, "
         "masked"),
        (item("user", "Q", 5, None, {"join": True}),
         "prompt[0].options.join is true, expected an item before it"),
        ("[1]", "the line is [1], expected an object"),
        ("nonsense", "not valid JSON: invalid character (byte 4), expected one JSON object"),
        (b'{"at": 0, "prom', "the JSON is cut short and has no line end, expected a whole object"),
        (b'{"at": 0, "id": "\xff", "prompt": []}\n',
             "byte 18 is 0xff, which is not valid UTF-8, expected UTF-8"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_line_field_value_and_what_is_accepted(
    write: Write, line: Any, message: str
) -> None:
    assert refusal(write, {"at": 0, "prompt": []}, line) == f"FILE line 2: {message}"


def test_one_name_with_two_sizes_names_both_lines(write: Write) -> None:
    first, second = item("user", "Q", 5), item("user", "Q", 6)
    assert refusal(write, first, second) == (
        'FILE line 2: prompt[0].tokens of "Q" is 6, but line 1 gives it 5; equal names mean equal '
        "content, expected 5 or another name"
    )


def test_one_name_with_two_sizes_inside_one_line_is_refused_too(write: Write) -> None:
    line = {"at": 0, "prompt": [["tools", "X", 5], ["system", "X", 6]]}
    assert refusal(write, line).startswith('FILE line 1: prompt[1].tokens of "X" is 6, but line 1')


def test_both_kinds_of_time_in_one_file_are_refused(write: Write) -> None:
    lines = [{"at": 5, "prompt": []}, {"at": "2026-01-31T12:00:00Z", "prompt": []}]
    assert refusal(write, *lines) == (
        'FILE line 2: at is "2026-01-31T12:00:00Z" (RFC 3339), but line 1 uses seconds; expected '
        "one kind of time in a file"
    )


def test_a_refused_line_does_not_fix_the_size_of_a_name(write: Write) -> None:
    bad = {"at": 0, "prompt": [["user", "Q", 5], ["robot", "R", 1]]}
    faults: list[LogError] = []
    source = Source(write(bad, item("user", "Q", 6)), bad=faults.append)
    assert [one.request_id for one in READER.read(source)] == ["2"]
    assert len(faults) == 1
