"""Traces that know only block ids, and the one that knows the tokens themselves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cachecast_datasets.errors import LogError
from cachecast_datasets.hashing import token_block_hashes
from cachecast_datasets.request import Request
from cachecast_datasets.source import Source
from cachecast_datasets.sources import sniff
from cachecast_datasets.trace import Trace

Write = Callable[..., Path]
TraceOf = Callable[..., Trace]


def requests(path: Path) -> list[Request]:
    return list(sniff(path).read(Source(path)))


def refusal(path: Path) -> str:
    with pytest.raises(LogError) as caught:
        requests(path)
    return str(caught.value).replace(str(path), "FILE")


def mooncake(timestamp: Any, length: int, ids: list[int]) -> dict[str, Any]:
    return {"timestamp": timestamp, "input_length": length, "output_length": 9, "hash_ids": ids}


def test_mooncake_times_are_milliseconds_and_its_last_block_may_be_partial(write: Write) -> None:
    first, second = requests(write(mooncake(0, 513, [5, 6]), mooncake(3000, 1024, [5, 7])))
    assert second.arrival_us == 3_000_000
    assert (first.prompt_tokens, first.output_tokens, first.token_block_size) == (513, 9, 512)
    assert first.token_blocks is not None
    assert second.token_blocks is not None
    assert first.token_blocks[0] == second.token_blocks[0]
    assert first.token_blocks[1] != second.token_blocks[1]


def test_br_106_the_second_of_two_mooncake_requests_can_reuse_12_blocks(trace_of: TraceOf) -> None:
    first = list(range(14))  # 6,955 tokens in blocks of 512: 13 whole ones and a partial one
    second = [*range(12), 100]  # 6,472 tokens
    made = list(trace_of(mooncake(0, 6955, first), mooncake(1, 6472, second)))
    assert made[1].boundaries is not None
    assert dict(zip(made[1].boundaries.names, made[1].boundaries.tokens, strict=True)) == {
        "shared": 12 * 512,  # 6,144
        "end": 6472,
    }
    assert 6472 - 6144 == 328


def test_ids_beyond_32_bits_stay_apart(write: Write) -> None:
    (one,) = requests(write(mooncake(0, 1536, [1, 1 + 2**32, 2**64 - 1])))
    assert len(set(one.token_blocks if one.token_blocks is not None else [])) == 3


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (mooncake(0, 513, [1]), None),  # rounded down
        (mooncake(0, 513, [1, 2]), None),  # rounded up
        (mooncake(0, 513, []),
         "hash_ids has 0 ids, expected 1 or 2 for 513 tokens in blocks of 512"),
        (mooncake(0, 1024, [1, 2, 3]),
         "hash_ids has 3 ids, expected 2 for 1024 tokens in blocks of 512"),
        (mooncake(0, 512, [2**64]),
         "hash_ids holds 18446744073709551616, expected 0 <= id < 2**64"),
        (mooncake(0, 512, [-1]), "hash_ids[0] is -1, expected an integer >= 0"),
        (mooncake(0, -1, []), "input_length is -1, expected an integer >= 0"),
        (mooncake(0, 1, []) | {"input_length": 1.5},
         "input_length is 1.5, expected an integer"),
        (mooncake(None, 1, []), "timestamp is null, expected a number"),
        (mooncake(float("nan"), 1, []), "timestamp is NaN, expected a finite number"),
        (mooncake(-1, 1, []), "timestamp is -1.0, expected 0 <= timestamp <= 1e+10 s"),
        ({"timestamp": 0, "hash_ids": []}, "input_length is missing, expected a value"),
    ],
)  # fmt: skip
def test_a_mooncake_fault_is_named(write: Write, line: Any, message: str | None) -> None:
    """Known faults 28, 30, 32 and 33: each with its line, the value and what is expected."""
    path = write(mooncake(0, 1, []), line)
    if message is None:
        assert len(requests(path)) == 2
    else:
        assert refusal(path) == f"FILE line 2: {message}"


def merged(timestamp: float, length: int, runs: list[list[int]]) -> dict[str, Any]:
    return {"timestamp": timestamp, "session": "s", "input_length": length,
            "output_length": 1, "hash_runs": runs}  # fmt: skip


def test_the_merged_file_is_in_seconds_and_its_runs_are_expanded(write: Write) -> None:
    (one,) = requests(write(merged(4.769, 64 * 5 + 63, [[7, 2], [100, 3]])))
    assert one.arrival_us == 4_769_000
    assert (one.session_id, one.token_block_size) == ("s", 64)
    assert one.token_blocks is not None
    steps = one.token_blocks[1:] - one.token_blocks[:-1]
    assert steps.tolist() == [1, 100 - 8, 1, 1]  # 7 8 100 101 102


def test_a_run_that_does_not_fit_the_prompt_is_refused_before_it_fills_the_memory(
    write: Write,
) -> None:
    assert refusal(write(merged(0, 640, [[0, 10**15]]))) == (
        "FILE line 1: hash_runs has 1000000000000000 ids, expected 10 for 640 tokens in blocks "
        "of 64"
    )


def tokens(**more: Any) -> dict[str, Any]:
    return {"id": 0, "arrival": 0.1888, "prompt_token_ids": list(range(40)), "output_len": 2} | more


def test_token_ids_are_kept_and_blocks_of_16_are_hashed_in_a_chain(write: Write) -> None:
    (one,) = requests(write(tokens(output_token_ids=[7, 8])))
    assert (one.request_id, one.arrival_us) == ("0", 188_800)
    assert (one.prompt_tokens, one.output_tokens, one.token_block_size) == (40, 2, 16)
    assert one.token_ids is not None
    assert one.token_ids.tolist() == list(range(40))
    assert one.output_token_ids is not None
    assert one.output_token_ids.tolist() == [7, 8]
    assert one.token_blocks is not None
    assert one.token_blocks.tolist() == token_block_hashes(one.token_ids, 16).tolist()
    assert len(one.token_blocks) == 40 // 16


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"output_token_ids": [1]}, "output_len is 2, expected 1 as output_token_ids has"),
        ({"prompt_token_ids": [2**31]}, "prompt_token_ids[0] is 2147483648, expected an integer "
         "<= 2147483647"),
        ({"prompt_token_ids": [0.5]}, "prompt_token_ids[0] is 0.5, expected an integer"),
        ({"arrival": None}, "arrival is null, expected a number"),
    ],
)  # fmt: skip
def test_a_token_id_fault_is_named(write: Write, more: dict[str, Any], message: str) -> None:
    assert refusal(write(tokens(**more))) == f"FILE line 1: {message}"
