"""What a team may share: a log without a word of its text."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from anonymised import anonymised
from hypothesis import given, settings
from hypothesis import strategies as st

from cachecast_datasets.boundaries import content_boundaries
from cachecast_datasets.encode import batch_of
from cachecast_datasets.kept_words import KEPT, SETTING_NAMES, SETTING_VALUES
from cachecast_datasets.parquet_writer import log_writer
from cachecast_datasets.request import (
    KINDS,
    SECTIONS,
    Boundaries,
    ContentBlock,
    Observed,
    Request,
)
from cachecast_datasets.request_log import SCHEMA, LogMeta

# made of letters that no column name, enumeration or hexadecimal digest is made of
secret = st.text("QXZJKVWYÄß世", min_size=8, max_size=14)
maybe = st.none() | secret


@st.composite
def wordy_requests(draw: st.DrawFn) -> list[Request]:
    """Requests whose every string is secret, except where a list of words is prescribed."""
    contents = draw(st.lists(secret, min_size=1, max_size=4))
    made = []
    for number in range(draw(st.integers(1, 4))):
        blocks = [
            ContentBlock(
                section=draw(st.sampled_from(SECTIONS)),
                role=draw(maybe),
                kind=draw(st.sampled_from(KINDS)),
                message=index,
                tokens=draw(st.integers(0, 2000)),
                hash=draw(st.integers(0, 2**64 - 1)),
                label=draw(st.sampled_from(contents)),
            )
            for index in range(draw(st.integers(0, 3)))
        ]
        words: dict[str, Any] = {
            name: draw(maybe)
            for name in (
                "account", "session_id", "parent_request_id", "agent_id", "provider", "platform",
                "region", "service_tier", "speed", "hash_scope", "retry_of",
                "response_id",
            )
        }  # fmt: skip
        made.append(
            Request(
                request_id=f"{draw(secret)}{number}",
                arrival_us=number * 10**6 + 1_700_000_000_000_000,
                model="claude-opus-5",
                model_served=draw(st.none() | secret.map(lambda s: f"ft:gpt-4o:{s}::1")),
                settings=draw(st.dictionaries(secret, secret, max_size=2)),
                blocks=blocks or None,
                boundaries=content_boundaries(blocks)
                if blocks
                else draw(st.sampled_from([None, END])),
                token_ids=np.array([1, 2], np.int32),
                input_types=[draw(secret)],
                output_types=[draw(secret)],
                observed=Observed(
                    iterations=draw(maybe),
                    raw_json=draw(maybe),
                    diagnosis=draw(maybe),
                    currency=draw(maybe),
                    cost_kind=draw(st.sampled_from([None, "estimate"])),
                    fresh=3,
                ),
                status=draw(st.sampled_from([None, "ok", "error"])),
                **words,
            )
        )
    return made


END = Boundaries([5], [2**63 + 5], ["end"], [1])


def parquet(path: Path, requests: list[Request], meta: LogMeta | None = None) -> Path:
    with log_writer(path, meta or LogMeta("parquet", "blocks", carries_markers=True)) as writer:
        writer.write(batch_of(requests))
    return path


def strings_of(value: Any) -> Iterator[str]:
    """Every string in a tree of lists and dicts, keys aside (a map is a list of pairs)."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings_of(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings_of(inner)


def uncompressed(path: Path) -> bytes:
    """The same Parquet without compression or encodings, metadata included, and the file itself."""
    sink = pa.BufferOutputStream()
    pq.write_table(pq.read_table(path), sink, compression="none", use_dictionary=False)
    return bytes(path.read_bytes() + sink.getvalue().to_pybytes())


@given(wordy_requests())
@settings(max_examples=60)
def test_no_string_of_eight_characters_survives_in_a_parquet(requests: list[Request]) -> None:
    """Of all strings of all columns, only the lists of words and model names may be found again."""
    with TemporaryDirectory() as folder:
        meta = LogMeta("SECRETFORMAT", "tokens", True, tokenizer="SECRETTOKENS", text_seen=True)
        source = parquet(Path(folder) / "in.parquet", requests, meta)
        secrets = {s for s in strings_of(pq.read_table(source).to_pylist()) if len(s) >= 8}
        secrets |= {"SECRETFORMAT", "SECRETTOKENS"}
        words = {*SCHEMA.names, *SECTIONS, *KINDS, "claude-opus-5", "estimate"}

        data = uncompressed(anonymised(source, Path(folder) / "out.parquet"))
        left = [s for s in secrets - words if s.encode() in data]
        assert not left


@given(st.data())
@settings(max_examples=40)
def test_no_string_of_eight_characters_survives_from_a_sketch_in_either_shape(
    data: st.DataObject,
) -> None:
    names = data.draw(st.lists(secret, min_size=3, max_size=5, unique=True))
    lines: list[dict[str, Any]] = [
        {
            "at": n, "id": f"{data.draw(secret)}{n}", "model": "claude-opus-5",
            "account": data.draw(secret), "session": data.draw(secret), "host": data.draw(secret),
            "tier": data.draw(secret), "answer": names[0], "output": 500,
            "settings": {data.draw(secret): {data.draw(secret): [data.draw(secret)]}},
            "prompt": [[data.draw(st.sampled_from(SECTIONS)), name, 400] for name in names],
        }
        for n in range(2)
    ]  # fmt: skip
    keys = [key for line in lines for key in line["settings"]]
    secrets = {s for s in (*strings_of(lines), *keys) if len(s) >= 8}
    secrets -= {*SECTIONS, "claude-opus-5"}
    with TemporaryDirectory() as folder:
        source = Path(folder) / "in.jsonl"
        source.write_text("".join(json.dumps(line) + "\n" for line in lines))

        for name in ("out.parquet", "out.jsonl"):
            out = anonymised(source, Path(folder) / name)
            left = out.read_bytes() if name.endswith("jsonl") else uncompressed(out)
            assert not [s for s in secrets if s.encode() in left]


def test_the_words_that_are_kept_are_short_lists_and_never_free_text() -> None:
    kept = {word for words in KEPT.values() for word in words} | SETTING_NAMES | SETTING_VALUES
    assert all(word.isascii() and " " not in word and len(word) <= 42 for word in kept)
