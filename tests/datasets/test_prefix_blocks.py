"""Logs as token blocks: the log's own, or content blocks cut as an engine cuts a prompt."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_examples import EXAMPLES

from cachecast_datasets.cut_blocks import cut_blocks
from cachecast_datasets.errors import BadInput, EvidenceError
from cachecast_datasets.importing import import_log, open_or_import
from cachecast_datasets.prefix_blocks import BlockLog, PrefixBlocks


def opened(folder: Path, *rows: Any, wanted: int | None = None) -> BlockLog:
    """A log of these JSON lines."""
    log = folder / "log.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return BlockLog(open_or_import([log], tmp_dir=folder), "log.jsonl", wanted)


def mooncake(at_ms: int, length: int, *ids: int) -> dict[str, Any]:
    return {"timestamp": at_ms, "input_length": length, "output_length": 1, "hash_ids": ids}


def whole(log: BlockLog) -> PrefixBlocks:
    (found,) = log
    return found


def test_token_blocks_come_as_the_log_has_them(tmp_path: Path) -> None:
    """The ids keep their differences; the partial last block is one of them."""
    log = opened(tmp_path, mooncake(0, 1_100, 5, 6, 7), mooncake(3_000, 1_024, 5, 6))
    found = whole(log)

    assert (log.block_tokens, log.keeps_partial, log.scopes) == (512, True, 1)
    assert found.arrival_us.tolist() == [0, 3_000_000]
    assert found.prompt_tokens.tolist() == [1_100, 1_024]
    assert found.offsets.tolist() == [0, 3, 5]
    assert (found.ids - found.ids[0]).tolist() == [0, 1, 2, 0, 1]


def test_a_second_pass_gives_the_same(tmp_path: Path) -> None:
    log = opened(tmp_path, mooncake(0, 1_100, 5, 6, 7))

    assert whole(log).ids.tolist() == whole(log).ids.tolist()


def test_blocks_of_two_sizes_are_refused_with_their_requests(tmp_path: Path) -> None:
    EXAMPLES["mooncake"].write(tmp_path)
    merged = tmp_path / "merged"
    merged.mkdir()
    EXAMPLES["kv-cache-tester-merged"].write(merged)
    trace = open_or_import([tmp_path / "log.jsonl", merged / "log.jsonl"], tmp_dir=tmp_path)

    with pytest.raises(BadInput, match="request 2: its blocks hold 64 tokens, those of request 1"):
        BlockLog(trace, "both")


def test_a_log_of_counts_is_refused_by_name(tmp_path: Path) -> None:
    log = EXAMPLES["azure"].write(tmp_path)
    trace = open_or_import([log], tmp_dir=tmp_path)

    with pytest.raises(EvidenceError, match=r"azure.csv: the log does not say .* counts"):
        BlockLog(trace, "azure.csv")


def test_requests_without_blocks_are_left_out_and_counted(tmp_path: Path) -> None:
    """Three know their blocks, one its prompt's length alone, and one had no prompt."""
    source = EXAMPLES["mooncake"].write(tmp_path)
    out = tmp_path / "log.parquet"
    import_log([source], out)
    table = pq.read_table(out)
    bare = table.slice(0, 2).to_pylist()
    for number, (row, tokens) in enumerate(zip(bare, (500, 0), strict=True)):
        row |= {"request_id": f"bare{number}", "token_blocks": None, "prompt_tokens": tokens}
        row |= {"arrival": table["arrival"][2].as_py(), "boundaries": None}
    more = pa.Table.from_pylist(bare, schema=table.schema)
    pq.write_table(pa.concat_tables([table, more]).replace_schema_metadata({}), out)

    log = BlockLog(open_or_import([out], tmp_dir=tmp_path), "log")
    assert whole(log).prompt_tokens.tolist() == [1_100, 1_024, 600]
    assert log.left_out == 1


def test_a_prompt_of_nothing_is_a_request_without_blocks(tmp_path: Path) -> None:
    prompt = [["system", "S", 40]]
    log = opened(tmp_path, {"at": 0, "prompt": prompt}, {"at": 1, "prompt": []})

    assert whole(log).offsets.tolist() == [0, 3, 3]
    assert log.left_out == 0


@pytest.mark.parametrize(("wanted", "size"), [(None, 16), (100, 100)])
def test_content_blocks_are_cut_into_the_size_asked_for(
    tmp_path: Path, wanted: int | None, size: int
) -> None:
    """250 tokens; the second prompt shares 200 of them."""
    log = opened(
        tmp_path,
        {"at": 0, "model": "m", "prompt": [["system", "S", 200], ["user", "Q", 50]]},
        {"at": 5, "model": "m", "prompt": [["system", "S", 200], ["user", "R", 50]]},
        wanted=wanted,
    )
    found = whole(log)
    first, second = found.ids[: found.offsets[1]], found.ids[found.offsets[1] :]

    assert (log.of_content, log.block_tokens) == (True, size)
    assert len(first) == -(-250 // size)
    assert int((first == second).sum()) == 200 // size


def test_a_prompt_of_unknown_length_is_as_long_as_its_content_is_estimated(tmp_path: Path) -> None:
    """60 and 40 tokens; the Parquet's own count is taken out."""
    out = tmp_path / "log.parquet"
    sketch = {"at": 0, "prompt": [["system", "S", 60], ["user", "Q", 40]]}
    (tmp_path / "log.jsonl").write_text(json.dumps(sketch) + "\n")
    import_log([tmp_path / "log.jsonl"], out)
    table = pq.read_table(out)
    unknown = pa.nulls(table.num_rows, pa.int64())
    place = table.schema.get_field_index("prompt_tokens")
    pq.write_table(table.set_column(place, table.schema.field(place), unknown), out)

    log = BlockLog(open_or_import([out], tmp_dir=tmp_path), "log")
    assert whole(log).prompt_tokens.tolist() == [100]
    assert len(whole(log).ids) == 7  # the last of 4 tokens
    assert log.estimated == 1


@pytest.mark.parametrize(("wanted", "shared"), [(None, 1), (16, 1), (8, 2), (5, 4)])
def test_token_ids_are_cut_into_any_size(tmp_path: Path, wanted: int | None, shared: int) -> None:
    """40 tokens, of which another prompt has the first 23: one block of 16, two of 8, four of 5."""
    log = opened(
        tmp_path,
        {"arrival": 0, "prompt_token_ids": list(range(40)), "output_len": 1},
        {"arrival": 1, "prompt_token_ids": [*range(23), *range(90, 107)], "output_len": 1},
        wanted=wanted,
    )
    found = whole(log)
    first, second = found.ids[: found.offsets[1]], found.ids[found.offsets[1] :]

    assert (log.block_tokens, log.keeps_partial) == (wanted or 16, False)
    assert len(first) == 40 // (wanted or 16)
    assert int((first == second).sum()) == shared


@pytest.mark.parametrize(
    ("prompt", "count"),
    [(50, 4), (51, 3), (None, 3)],
    ids=["the last block is partial", "the rest is unknown", "the length is unknown"],
)
def test_a_partial_last_block_exists_only_where_the_prompt_ends(
    prompt: int | None, count: int
) -> None:
    """Content of 50 tokens in blocks of 16."""
    assert len(cut_blocks([30, 50], [7, 8], prompt, 16)) == count


def test_an_empty_prompt_has_no_blocks() -> None:
    assert cut_blocks([], [], 0, 16).tolist() == []


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), max_size=5),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), max_size=5),
    st.integers(1, 20),
)
def test_two_prompts_share_the_blocks_that_end_in_their_common_content(
    one: list[tuple[int, int]], other: list[tuple[int, int]], size: int
) -> None:
    """Content is (name, tokens); a chained hash is stood in for by a number for each prefix."""
    numbers: dict[tuple[tuple[int, int], ...], int] = {}

    def ids(content: list[tuple[int, int]]) -> list[int]:
        prefixes = [tuple(content[: count + 1]) for count in range(len(content))]
        hashes = [numbers.setdefault(p, (len(numbers) + 1) * 10**6) for p in prefixes]
        ends = np.cumsum([tokens for _, tokens in content]).tolist()
        found: list[int] = cut_blocks(ends, hashes, ends[-1] if ends else 0, size).tolist()
        return found

    common = 0
    while common < min(len(one), len(other)) and one[common] == other[common]:
        common += 1
    shared = sum(tokens for _, tokens in one[:common])
    first, second = ids(one), ids(other)
    equal = [a == b for a, b in zip(first, second, strict=False)]
    same_end = sum(t for _, t in one) == sum(t for _, t in other) == shared
    assert sum(equal) == (-(-shared // size) if same_end else shared // size)


def test_foreign_parquet_works_like_an_import(tmp_path: Path) -> None:
    """A file that pandas or Spark wrote anew has no boundaries, but the blocks are there."""
    source = EXAMPLES["mooncake"].write(tmp_path)
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    import_log([source], ours)
    columns = ["request_id", "arrival", "token_blocks", "token_block_size"]
    pq.write_table(pq.read_table(ours, columns=columns).replace_schema_metadata({}), theirs)

    found = whole(BlockLog(open_or_import([theirs], tmp_dir=tmp_path), "theirs"))
    assert (
        found.ids.tolist()
        == whole(BlockLog(open_or_import([ours], tmp_dir=tmp_path), "o")).ids.tolist()
    )
    assert found.prompt_tokens.tolist() == [-1, -1, -1]
