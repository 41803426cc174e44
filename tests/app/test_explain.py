"""`cachecast explain`: numbers that can be redone by hand."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from cachecast_sim.mechanics import edits, multiply_adds, reads_to_pay

RunCli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def document(run_cli: RunCli) -> dict[str, Any]:
    code, out, _ = run_cli("explain", "--json")
    assert code == 0
    found = json.loads(out)
    assert isinstance(found, dict)
    return found


def test_attention_takes_16_7_times_the_multiply_adds_without_a_cache(
    document: dict[str, Any],
) -> None:
    attention = document["attention"]
    # the sum of 2t + 1 for t = 1 … 64 is 4,224, that of t is 2,080
    assert attention["multiply_adds_without_cache"] == 4_224 * 32**2 + 2_080 * 32 == 4_391_936
    assert attention["multiply_adds_with_cache"] == 64 * 3 * 32**2 + 2_080 * 32 == 263_168
    assert round(attention["ratio"], 1) == 16.7


def test_one_step_takes_the_same_with_and_without_a_cache() -> None:
    assert multiply_adds(8, 1, cached=False) == multiply_adds(8, 1, cached=True) == 3 * 64 + 8


def test_an_edit_loses_everything_from_its_block_on() -> None:
    # 32 tokens in blocks of 4: `repository` is token 19, the first comma token 10
    found = {edit.name: edit.hit_tokens for edit in edits()}
    assert found == {"append": 32, "middle": 16, "start": 0, "punctuation": 8}


def test_kv_bytes_are_those_of_the_models_shape(document: dict[str, Any]) -> None:
    kv = document["kv"]
    # 32 layers, 8 KV heads of 128, keys and values, two bytes each
    assert kv["bytes_per_token"] == 32 * 2 * 8 * 128 * 2 == 131_072
    assert kv["bytes"] == 131_072 * 128_000


def test_a_5m_write_pays_after_one_read_and_an_hour_after_two(document: dict[str, Any]) -> None:
    writes = document["break_even"]["writes"]
    assert [(w["lifetime"], w["reads"]) for w in writes] == [("5m", 1), ("1h", 2)]


@pytest.mark.parametrize(
    ("write", "read", "fresh", "reads"),
    [(125, 10, 100, 1), (200, 10, 100, 2), (190, 10, 100, 2), (189, 10, 100, 1), (100, 10, 100, 1),
     (99, 10, 100, 0), (125, 100, 100, None)],
)  # fmt: skip
def test_the_break_even_is_the_least_number_of_reads_that_is_cheaper(
    write: int, read: int, fresh: int, reads: int | None
) -> None:
    assert reads_to_pay(write, read, fresh) == reads
    if reads:
        assert write + reads * read < (reads + 1) * fresh
        assert write + (reads - 1) * read >= reads * fresh


def test_the_tables_show_the_numbers(run_cli: RunCli) -> None:
    code, out, _ = run_cli("explain")
    assert code == 0
    for number in ("4,391,936", "263,168", "16.7×", "131,072", "2 reads"):
        assert number in out


def test_an_unknown_model_or_shape_is_refused(run_cli: RunCli) -> None:
    assert run_cli("explain", "--model", "nobody")[0] == 2
    code, _, err = run_cli("explain", "--shape", "llama-9")
    assert code == 2
    assert "unknown model 'llama-9'" in err
