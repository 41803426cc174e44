"""Boundaries, content blocks and token blocks in Parquet files that contradict each other."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from foreign_parquet import STAMP, end, parquet, refusal

from cachecast_datasets.request_log import SCHEMA
from cachecast_datasets.trace import open_trace


def tools(tokens: int | None, **more: Any) -> dict[str, Any]:
    return end(tokens, name="tools") | more


@pytest.mark.parametrize(
    ("boundaries", "message"),
    [
        ([end(10**8)],
         "boundaries[0].tokens is 100000000, expected at most 128, the prompt_tokens"),
        ([tools(64), end(128), end(64)],
         "boundaries[2].tokens is 64, expected at least 129 (ascending, each once)"),
        ([end(0)], "boundaries[0].tokens is 0, expected at least 1 (ascending, each once)"),
        ([tools(64), end(64)],
         "boundaries[1].tokens is 64, expected at least 65 (ascending, each once)"),
        ([tools(None), end(64)], "boundaries[0].tokens is null, expected >= 0, never null"),
        ([end(-1)], "boundaries[0].tokens is -1, expected >= 0, never null"),
        ([end(64, hash=None)], "boundaries[0].hash is null, expected a number, never null"),
        ([end(64, position=-1)], "boundaries[0].position is -1, expected null or >= 0"),
        ([end(64, name=None)],
         "boundaries[0].name is null, expected one of tools, system, developer, user, assistant, "
         "tool, turn, shared, end"),
        ([end(64, name="odd")],
         'boundaries[0].name is "odd", expected one of tools, system, developer, user, assistant, '
         "tool, turn, shared, end"),
        ([None], "boundaries[0] is null, expected no nulls inside"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("metadata", [None, STAMP])
def test_boundaries_that_cannot_be_are_refused(
    tmp_path: Path, boundaries: list[Any], message: str, metadata: dict[str, str] | None
) -> None:
    path = parquet(tmp_path, metadata, boundaries=[[end(128)], boundaries])
    assert refusal(path, ["boundaries"]) == f"FILE row 2: {message}"


def test_boundaries_without_names_are_refused_and_without_positions_are_not(tmp_path: Path) -> None:
    kind = pa.list_(pa.struct([("tokens", pa.int64()), ("hash", pa.uint64())]))
    rows: list[list[dict[str, Any]]] = [[{"tokens": 128, "hash": 1}]] * 2
    assert refusal(parquet(tmp_path, boundaries=pa.array(rows, kind))) == (
        f"FILE: column boundaries has no name, expected {SCHEMA.field('boundaries').type}"
    )
    kind = pa.list_(pa.struct([*kind.value_type, pa.field("name", pa.string())]))
    rows = [[{"tokens": 128, "hash": 1, "name": "end"}]] * 2
    made = [
        one.boundaries for one in open_trace(parquet(tmp_path, boundaries=pa.array(rows, kind)))
    ]
    assert [one.positions for one in made if one is not None] == [[None], [None]]


def test_boundaries_are_computed_for_the_rows_of_a_foreign_file_that_lack_them(
    tmp_path: Path,
) -> None:
    _, second = open_trace(parquet(tmp_path, boundaries=[[end(128)], None]))
    assert second.boundaries is not None
    assert second.boundaries.tokens == [128]


def test_a_stamped_file_has_boundaries_in_every_row_with_a_prompt(tmp_path: Path) -> None:
    path = parquet(tmp_path, STAMP, boundaries=[[end(128)], None])
    assert refusal(path, ["boundaries"]) == (
        "FILE row 2: boundaries is null, expected those of its blocks or token_blocks"
    )
    without = pa.array([[1, 2], None], pa.list_(pa.uint64()))
    path = parquet(tmp_path, STAMP, boundaries=[[end(128)], None], token_blocks=without)
    assert [one.boundaries is None for one in open_trace(path)] == [False, True]


def block(tokens: int, **more: Any) -> dict[str, Any]:
    given = {"section": "user", "kind": "text", "message": 0, "tokens": tokens, "hash": 1}
    return given | more


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([block(100), block(29)],
         "prompt_tokens is 128, expected at least 129, the sum of its blocks' tokens"),
        ([block(100), block(-5)], "blocks[1].tokens is -5, expected >= 0, never null"),
        ([block(128, kind="sound")],
         'blocks[0].kind is "sound", expected one of text, tool_definition, tool_use, '
         "tool_result, thinking, image, document, server_tool_result"),
        ([block(128, section=None)],
         "blocks[0].section is null, expected one of tools, system, developer, user, assistant, "
         "tool"),
        ([block(128, marker="2h")],
         'blocks[0].marker is "2h", expected null or one of 5m, 1h, 30m, 12h, breakpoint'),
        ([block(128), None], "blocks[1] is null, expected no nulls inside"),
    ],
)  # fmt: skip
def test_content_blocks_that_cannot_be_are_refused_with_the_item(
    tmp_path: Path, blocks: list[Any], message: str
) -> None:
    path = parquet(
        tmp_path, token_blocks=None, token_block_size=None, blocks=[[block(128)], blocks]
    )
    assert refusal(path) == f"FILE row 2: {message}"


def test_content_blocks_have_one_boundary_each(tmp_path: Path) -> None:
    rows = [[block(100), block(28)]] * 2
    user = [end(100, name="user"), end(128, name="user")]
    path = parquet(tmp_path, blocks=rows, boundaries=[user, user[1:]])
    assert refusal(path) == (
        "FILE row 2: the number of boundaries is 1, expected 2, one for each content block"
    )
    wrong = [end(99, name="user"), user[1]]
    path = parquet(tmp_path, blocks=rows, boundaries=[user, wrong])
    assert refusal(path) == (
        "FILE row 2: boundaries[0].tokens is 99, expected the tokens of the content blocks up to "
        "there"
    )


@pytest.mark.parametrize("size", [None, [64, None]])
def test_token_blocks_without_their_size_are_refused(tmp_path: Path, size: Any) -> None:
    row = 1 if size is None else 2
    assert refusal(parquet(tmp_path, token_block_size=size)) == (
        f"FILE row {row}: token_block_size is null, expected the tokens of a block (>= 1) beside "
        "token_blocks"
    )


def test_a_row_without_token_blocks_among_others_has_no_evidence(tmp_path: Path) -> None:
    path = parquet(tmp_path, token_blocks=pa.array([None, [1, 2]], pa.list_(pa.uint64())))
    assert [one.boundaries is None for one in open_trace(path)] == [True, False]


def test_whole_blocks_have_one_count_only(tmp_path: Path) -> None:
    path = parquet(tmp_path, token_blocks=[[1, 2], [1, 2, 3]])
    assert refusal(path).endswith(
        "expected 2 blocks for 128 prompt_tokens in blocks of 64 (it has 3)"
    )
