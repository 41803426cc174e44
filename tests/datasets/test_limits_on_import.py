"""What a reader lets through and a request log cannot hold is told by the import."""

import json
from collections.abc import Callable
from pathlib import Path

import made_transcripts as made
import pytest
from usage_logs import LOGS

from cachecast_datasets.errors import LogError
from cachecast_datasets.importing import import_log
from cachecast_datasets.limits import MAX_TOKENS
from cachecast_datasets.trace import open_trace

Write = Callable[..., Path]


def transcript(write: Write, size: int) -> Path:
    asked = made.user(0, "u1", None, "How are you?")
    return write(asked, made.answer(1, "a1", "u1", made.tokens(size, output=9), made.text("Fine.")))


def test_the_largest_prompt_of_a_transcript_can_be_read_back(write: Write) -> None:
    log = transcript(write, MAX_TOKENS)
    out = log.with_name("out.parquet")
    assert import_log([log], out).rows == 1
    assert [request.prompt_tokens for request in open_trace(out)] == [MAX_TOKENS]


def test_a_prompt_beyond_the_limit_is_refused_with_its_file_or_skipped(write: Write) -> None:
    log = transcript(write, MAX_TOKENS + 1)
    out = log.with_name("out.parquet")
    with pytest.raises(LogError) as caught:
        import_log([log], out)
    said = f"{log} line 2: prompt_tokens is 1000000001, expected at most 1000000000"
    assert str(caught.value) == said
    summary = import_log([log], out, skip_bad=True)
    assert (summary.rows, [skip.reason for skip in summary.skipped]) == (0, ["bad prompt_tokens"])


def test_a_date_that_no_log_has_is_refused_with_its_line(write: Write) -> None:
    row = json.loads(LOGS["litellm.jsonl"][1].splitlines()[0])
    log = write(row, row | {"request_id": "z", "startTime": "9999-12-31 23:59:59", "endTime": None})
    with pytest.raises(LogError, match=r"line 2: arrival is 9999-12-31T23:59:59"):
        import_log([log], log.with_name("out.parquet"))


def test_a_file_whose_name_is_no_utf_8_gives_ids_that_a_file_can_hold(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    call = {"t": 0, "type": "n", "in": 64, "hash_ids": [1]}
    (folder / "a\udcff.json").write_text(json.dumps({"block_size": 64, "requests": [call]}))
    out = tmp_path / "out.parquet"
    assert import_log([folder], out).rows == 1
    assert [request.session_id for request in open_trace(out)] == ["a\\udcff"]
