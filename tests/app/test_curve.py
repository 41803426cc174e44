"""`cachecast curve`: the contract and the table."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from curve_logs import three_requests
from rule_sketches import line

RunCli = Callable[..., tuple[int, str, str]]

RATIOS = {
    "block_hit_ratio", "token_hit_ratio", "block_hit_ratio_interval", "token_hit_ratio_interval",
    "hit_tokens", "saved",
}  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return three_requests(tmp_path)


@pytest.fixture
def found(run_cli: RunCli, log: Path) -> Callable[..., dict[str, Any]]:
    """The JSON of a call that works."""

    def run(*arguments: object) -> dict[str, Any]:
        code, out, err = run_cli("curve", log, *arguments, "--json")
        assert code == 0, err
        answer: dict[str, Any] = json.loads(out)
        return answer

    return run


Found = Callable[..., dict[str, Any]]


def test_the_contract_holds_its_keys_and_the_points_asked_for(found: Found) -> None:
    """At 60 s the list is A B C; A is found from 1 block on. At 100 s it is A D B C."""
    answer = found("--capacity", "1,4,3", "--ttl", "100,60,59.9")

    assert (answer["unique_blocks"], answer["total_blocks"]) == (4, 8)
    assert answer["prompt_tokens"] == 3_224
    assert answer["ideal"]["block_hit_ratio"] == 4 / 8
    assert answer["ideal"]["token_hit_ratio"] == (512 + 1_100) / 3_224
    assert [(row["blocks"], row["block_hit_ratio"]) for row in answer["capacity"]] == [
        (1, 2 / 8), (4, 4 / 8), (3, 3 / 8),
    ]  # fmt: skip
    assert [row["token_hit_ratio"] for row in answer["capacity"]] == [
        1_024 / 3_224, 1_612 / 3_224, 1_536 / 3_224,
    ]  # fmt: skip
    assert [(row["ttl_s"], row["refresh"], row["block_hit_ratio"]) for row in answer["ttl"]] == [
        (100, True, 4 / 8), (60, True, 2 / 8), (59.9, True, 1 / 8),
    ]  # fmt: skip
    assert answer["capacity"][0].keys() == {"blocks", "gib", *RATIOS}
    assert answer["ttl"][0].keys() == {"ttl_s", "refresh", *RATIOS}
    assert answer["ideal"].keys() == RATIOS


def test_without_refresh_a_life_counts_from_the_write(found: Found) -> None:
    """60 s: A hits at 60 s, and has expired at 100 s. 100 s: it hits there too, with B and C."""
    answer = found("--ttl", "60,100", "--no-refresh")

    assert [(row["refresh"], row["block_hit_ratio"]) for row in answer["ttl"]] == [
        (False, 1 / 8), (False, 4 / 8),
    ]  # fmt: skip


def test_without_options_there_are_enough_points_to_draw(found: Found) -> None:
    """From the first block to all of them, from less than a second to the longest age."""
    answer = found()

    assert [row["blocks"] for row in answer["capacity"]] == [1, 2, 3, 4]
    assert answer["capacity"][-1]["block_hit_ratio"] == answer["ideal"]["block_hit_ratio"]
    assert answer["ttl"][0]["ttl_s"] <= 1
    assert answer["ttl"][-1]["block_hit_ratio"] == answer["ideal"]["block_hit_ratio"]
    assert len(answer["ttl"]) > 50


def test_what_most_of_the_ideal_takes_is_said(found: Found) -> None:
    """Of 4 hit blocks half are 2, which 1 block gives; 90 % are 4."""
    reached = {row["share"]: (row["blocks"], row["ttl_s"]) for row in found()["reached"]}

    assert reached == {0.5: (1, 60), 0.9: (4, 100), 0.99: (4, 100), 1.0: (4, 100)}


def test_memory_stands_beside_the_blocks(found: Found) -> None:
    """3 blocks of 512 tokens at 128 KiB are 192 MiB."""
    answer = found("--gib", "--kv-bytes-per-token", "131072", "--capacity", "3")

    assert answer["capacity"][0]["gib"] == 3 * 512 * 131_072 / 2**30 == 0.1875
    assert answer["kv_bytes_per_token"] == 131_072


def test_hits_are_money_at_the_prices_of_an_api(found: Found) -> None:
    """claude-opus-5 takes 5 and 0.5 dollars a million: 4.5 for each token that is hit."""
    answer = found("--as", "claude-opus-5", "--capacity", "1,3", "--ttl", "59.9")

    assert answer["worth"] == {
        "name": "claude-opus-5", "currency": "USD", "input_per_mtok": "5", "read_per_mtok": "0.5",
        "without_cache": "0.01612",  # 3,224 tokens at 5 a million
    }  # fmt: skip
    assert [(row["hit_tokens"], row["saved"]) for row in answer["capacity"]] == [
        (1_024, "0.004608"), (1_536, "0.006912"),
    ]  # fmt: skip
    assert answer["ideal"]["saved"] == "0.007254"  # 1,612 x 4.5 / 10^6
    assert answer["ttl"][0]["saved"] == "0.002304"  # 512 x 4.5 / 10^6
    said = (
        "a hit token saves 4.5 USD a million: the standard input price of anthropic/claude-opus-5"
    )
    assert any(note.startswith(said) for note in answer["notes"])
    assert "what writing into a cache and keeping it cost is not taken off" in answer["notes"]


def test_without_a_model_there_is_no_money(found: Found) -> None:
    answer = found("--capacity", "1")
    assert (answer["worth"], answer["capacity"][0]["saved"]) == (None, None)
    assert answer["capacity"][0]["hit_tokens"] == 1_024


def test_a_tier_and_a_day_choose_the_prices(found: Found) -> None:
    """Batch is half: 1 and 0.1 a million instead of 2 and 0.2."""
    saved = [found("--as", f"gpt-6-sol{tier}")["ideal"]["saved"] for tier in ("", ",tier=batch")]
    assert saved == ["0.0029016", "0.0014508"]  # 1,612 x 1.8, and half of it


def test_the_money_stands_in_the_table_and_the_chart(
    run_cli: RunCli, log: Path, tmp_path: Path
) -> None:
    chart = tmp_path / "chart.json"
    code, out, err = run_cli("curve", log, "--as", "claude-opus-5", "--chart", chart)
    assert code == 0, err
    said = "At the prices of claude-opus-5 that saves $0.0073 of the $0.0161 that the prompts cost"
    assert said in out
    assert [line.split()[-1] for line in out.splitlines() if "no limit  " in line] == ["$0.0073"]
    panel = json.loads(chart.read_text())["hconcat"][0]
    money = panel["layer"][1]["encoding"]["y"]
    assert money["title"] == "saved (USD)"
    assert money["scale"]["domain"] == [0, 3_224 * 4.5 / 1e6]  # where 100 % of tokens are
    points = [point for point in panel["data"]["values"] if point["of"] == "tokens"]
    assert points[-1]["saved"] == 0.007254


def test_a_model_says_what_a_token_takes(found: Found, tmp_path: Path) -> None:
    """Llama 3.1 8B: 2 x 32 layers x 8 KV heads x 128 numbers of 2 bytes; half the layers, half."""
    assert found("--gib", "--model", "llama-3.1-8b")["kv_bytes_per_token"] == 131_072

    config = tmp_path / "config.json"
    config.write_text(json.dumps({
        "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 128_256,
    }))  # fmt: skip
    assert found("--gib", "--model", config)["kv_bytes_per_token"] == 65_536


@pytest.mark.parametrize(("tokens", "unique", "total"), [(1024, 3, 5), (256, 7, 14)])
def test_another_block_size_counts_other_blocks(
    found: Found, tokens: int, unique: int, total: int
) -> None:
    """1024: B C, D, B C. 256: A and B in two parts each, the 76 tokens of C in one, D in two."""
    answer = found("--block-tokens", tokens)

    assert answer["block_tokens"] == tokens
    assert (answer["unique_blocks"], answer["total_blocks"]) == (unique, total)


def test_the_table_says_what_most_of_the_ideal_takes(run_cli: RunCli, log: Path) -> None:
    code, out, err = run_cli("curve", log, "--kv-bytes-per-token", "131072")

    assert (code, err) == (0, "")
    assert "3 requests, 8 blocks of 512 tokens, 4 of them distinct" in out
    assert "A cache that forgets nothing hits 50.00 % of prompt tokens (50.00 % of blocks)." in out
    assert "90 % of that takes 4 blocks (0.25 GiB), or a lifetime of 1.67 min" in out


def test_a_log_that_shares_nothing_is_no_failure(run_cli: RunCli, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"timestamp": 0, "input_length": 600, "hash_ids": [1, 2]}\n')

    code, out, _ = run_cli("curve", log)
    assert code == 0
    assert "No request finds a block that an earlier one brought." in out
    answer = json.loads(run_cli("curve", log, "--json")[1])
    assert (answer["ideal"]["block_hit_ratio"], answer["reached"]) == (0.0, [])


def test_a_log_without_requests_has_nothing_to_divide_by(run_cli: RunCli, tmp_path: Path) -> None:
    """Every line is bad and left out."""
    log = tmp_path / "log.jsonl"
    log.write_text('{"timestamp": -1, "input_length": 600, "hash_ids": [1, 2]}\n')

    code, out, err = run_cli("curve", log, "--skip-bad", "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert answer["ideal"]["block_hit_ratio"] is None
    assert answer["notes"] == ["the log has no requests with token blocks"]


def test_content_blocks_are_cut_and_the_cut_is_named(run_cli: RunCli, tmp_path: Path) -> None:
    """Two prompts of 200 tokens, 150 shared: 9 of the 13 blocks of 16 tokens."""
    log = tmp_path / "log.jsonl"
    sketch = [line(0, ("system", "S", 150), ("user", "Q", 50), model="claude-opus-5")]
    sketch.append(line(9, ("system", "S", 150), ("user", "R", 50), model="claude-opus-5"))
    log.write_text("".join(json.dumps(row) + "\n" for row in sketch))

    answer = json.loads(run_cli("curve", log, "--json")[1])
    assert (answer["block_tokens"], answer["total_blocks"]) == (16, 26)
    assert answer["ideal"]["block_hit_ratio"] == 9 / 26
    assert ["cut into blocks of 16 tokens" in note for note in answer["notes"]] == [True]


def test_ids_of_several_sessions_are_named_as_their_own(run_cli: RunCli, tmp_path: Path) -> None:
    for name in ("one", "two"):
        session = {
            "id": name, "block_size": 64,
            "requests": [{"t": 0, "type": "n", "in": 128, "out": 1, "hash_ids": [1, 2]}],
        }  # fmt: skip
        (tmp_path / f"{name}.json").write_text(json.dumps(session))

    answer = json.loads(run_cli("curve", tmp_path, "--json")[1])
    assert answer["unique_blocks"] == 4
    assert any("local to each of the log's 2 sessions" in note for note in answer["notes"])


def test_a_sample_states_its_error(run_cli: RunCli, tmp_path: Path) -> None:
    """Half of 3,000 blocks; the ideal of 50 % lies in its interval."""
    rows = [
        {"timestamp": at, "input_length": 512 * 300, "hash_ids": list(range(start, start + 300))}
        for at, start in enumerate([*range(0, 3_000, 300), *range(0, 3_000, 300)])
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))

    answer = json.loads(run_cli("curve", log, "--sample", "0.5", "--json")[1])
    low, high = answer["ideal"]["block_hit_ratio_interval"]
    assert low <= 0.5 <= high
    assert answer["sample"]["rate"] == 0.5
    assert abs(answer["sample"]["blocks"] / 6_000 - 0.5) < 0.05
    _, out, err = run_cli("curve", log, "--sample", "0.5")
    assert "95 % interval (blocks)" in out
    assert "95 of 100 samples" in err
