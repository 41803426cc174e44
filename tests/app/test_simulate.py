"""`cachecast simulate`: the command, its contract and what it says to bad input."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import RunCli

from cachecast.results.views import VIEWS

FLEET = """
[fleet]
servers = 1
[engine]
block_tokens = 512
blocks = 11
[latency]
kind = "fixed"
prefill_step_s = 1.0
decode_step_s = 0.01
[cost]
gpu_hour = "3.60"
"""
# two prompts of three blocks of 512 tokens, of which they share two; the third is never too large
LOG = [
    {"timestamp": 0, "input_length": 1536, "output_length": 3, "hash_ids": [1, 2, 3]},
    {"timestamp": 5000, "input_length": 1536, "output_length": 3, "hash_ids": [1, 2, 4]},
    {"timestamp": 6000, "input_length": 51200, "output_length": 3, "hash_ids": [*range(10, 110)]},
]


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.toml"
    path.write_text(FLEET, encoding="utf-8")
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in LOG), encoding="utf-8")
    return path


def answer(run_cli: RunCli, *arguments: object) -> Any:
    code, out, err = run_cli("simulate", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_the_contract_is_filled(run_cli: RunCli, log: Path, fleet: Path) -> None:
    """Known faults 4 and 8: the hit ratio is this run's alone, over all prompt tokens looked up."""
    found = answer(run_cli, log, "--fleet", fleet)
    assert (found["requests"], found["completed"], found["rejected"]) == (3, 2, 1)
    assert (found["prompt_tokens"], found["hit_tokens"]) == (2 * 1536, 2 * 512)
    assert found["token_hit_ratio"] == 1024 / 3072
    assert found["ttft_s"] == {"mean": 1.0, "p50": 1.0, "p90": 1.0, "p99": 1.0}
    assert found["itl_s"]["mean"] == 0.01
    assert found["e2e_s"]["p99"] == 1.02  # one step of prefill, two of decode
    # from 0 to 6.02 s, one GPU at 3.60 an hour
    assert found["makespan_s"] == 6.02
    assert found["gpu_hours"] == 6.02 / 3600
    assert found["cost"] == {"currency": "USD", "total": "0.006020000000"}
    assert found["misses"] == [
        {"reason": "cold_start", "requests": 1, "tokens": 1536},
        {"reason": "new_content", "requests": 1, "tokens": 512},
    ]


def test_per_request_prints_a_line_for_each_in_the_order_of_the_log(
    run_cli: RunCli, log: Path, fleet: Path
) -> None:
    code, out, _ = run_cli("simulate", log, "--fleet", fleet, "--per-request", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [row["request_id"] for row in rows] == ["1", "2", "3"]
    assert rows[1]["hit_tokens"] == 1024
    assert (rows[1]["scheduled_s"], rows[1]["first_token_s"], rows[1]["end_s"]) == (5.0, 6.0, 6.02)
    assert (rows[2]["status"], rows[2]["first_token_s"]) == ("rejected", None)


def test_set_overrides_a_field(run_cli: RunCli, log: Path, fleet: Path) -> None:
    found = answer(run_cli, log, "--fleet", fleet, "--set", "engine.blocks=200")
    assert (found["completed"], found["rejected"]) == (3, 0)


def test_a_run_holds_the_served_requests_their_misses_and_the_timeline(
    run_cli: RunCli, log: Path, fleet: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    code, _, err = run_cli("simulate", log, "--fleet", fleet, "-o", run)
    assert code == 0, err
    query = "select request_id, hit_tokens, ttft_s from served where status = 'ok'"
    _, out, _ = run_cli("sql", run, query, "--json")
    assert [json.loads(line) for line in out.splitlines()] == [
        {"request_id": "1", "hit_tokens": 0, "ttft_s": 1.0},
        {"request_id": "2", "hit_tokens": 1024, "ttft_s": 1.0},
    ]
    _, out, _ = run_cli("sql", run, "select reason, sum(tokens) n from misses group by 1", "--csv")
    assert sorted(out.splitlines()[1:]) == ["cold_start,1536", "new_content,512"]
    for name in ("served", "timeline"):
        code, out, _ = run_cli("sql", run, VIEWS[name].example, "--csv")
        assert code == 0
        assert len(out.splitlines()) > 1
    _, out, _ = run_cli("sql", run, "select sum(hit_tokens) h from timeline", "--csv")
    assert out.splitlines()[1:] == ["1024"]


def test_the_api_bill_stands_beside_the_servers(run_cli: RunCli, log: Path, fleet: Path) -> None:
    found = answer(run_cli, log, "--fleet", fleet, "--as", "deepseek-flash")
    assert [scenario["model"] for scenario in found["api"]] == ["deepseek-flash"]
    _, out, _ = run_cli("simulate", log, "--fleet", fleet, "--as", "deepseek-flash")
    assert "own servers (fleet)" in out
    assert "API: deepseek-flash" in out


def test_if_all_are_rejected_that_is_said_first(run_cli: RunCli, log: Path, fleet: Path) -> None:
    code, out, err = run_cli("simulate", log, "--fleet", fleet, "--set", "engine.blocks=2")
    assert code == 0
    assert err.startswith("all 3 requests were rejected")
    assert "TTFT" not in out


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("fleet.servers=0", "fleet.servers is 0, expected a whole number >= 1"),
        ("fleet.router=rnd", "fleet.router is 'rnd'; known: round_robin"),
        ("fleet.sevrers=2", "fleet.sevrers: unknown field; did you mean 'servers'?"),
        ("engine.speculative_tokens=2", "engine.speculative_tokens: unknown field"),  # fault 9
        ("engine.block_tokens=100", "blocks of 512 tokens, engine.block_tokens is 100"),
        ("engine.max_batch_tokens=64", "expected at least engine.max_seqs (128)"),
        ("engine.admission=serial", 'expected "concurrent" or "sequential"'),
        ("engine.blocks=many", "engine.blocks is 'many', expected a whole number"),
        ("latency.kind=magic", "latency.kind is 'magic'"),
        ("latency.prefill_step_s=-1", "latency.prefill_step_s is -1"),
        ("transfer.bandwidth_bytes_per_s=-1", "transfer.bandwidth_bytes_per_s is -1"),
        ("cost.gpu_hour=cheap", "cost.gpu_hour is 'cheap'"),
        ('cost.gpu_hour="1e400"', 'expected a price such as "2.50", with at most 6 digits'),
        ("cost.currency=", "cost.currency is '', expected three letters"),
        ("fleet.servers=10001", "fleet.servers is 10001, expected a whole number <= 10000"),
        ("engine.blocks=" + "9" * 5000, "expected a whole number"),
        ("engine.blocks=3\nservers=2", "engine.blocks is '3\\nservers=2'"),
        ("tiers.1.blocks=5", "the fleet file has no [[tiers]]"),
        ("latency.kind=", "fleet.toml: latency.kind is missing; known: linear"),
        ("blocks", "--set blocks: expected table.field=value"),
        ("fleet.servers.x=1", "--set fleet.servers.x=1: servers is a value"),
    ],
)
def test_a_bad_field_is_told_with_its_value_and_what_goes(
    run_cli: RunCli, log: Path, fleet: Path, change: str, sentence: str
) -> None:
    code, out, err = run_cli("simulate", log, "--fleet", fleet, "--set", change)
    assert (code, out) == (2, "")
    assert sentence in err
    assert "Traceback" not in err


def test_a_fleet_file_that_is_none_is_refused(
    run_cli: RunCli, log: Path, tmp_path: Path, fleet: Path
) -> None:
    broken = tmp_path / "broken.toml"
    for data, sentence in (
        (b"[fleet", "is not TOML"),
        (b"\xff\xfe", "is not TOML"),
        (b"[fleet]\nservers = 1\n", "[latency] is missing"),
        (b"[engine]\nblocks = " + b"9" * 5000, "is not TOML"),
    ):
        broken.write_bytes(data)
        code, _, err = run_cli("simulate", log, "--fleet", broken)
        assert code == 2
        assert sentence in err
    code, _, err = run_cli("simulate", log, "--fleet", tmp_path / "nowhere.toml")
    assert code == 2
    assert "cannot be read (No such file or directory)" in err


@pytest.mark.parametrize("path", ["a\0b", "a" * 5000, "nowhere.toml", "."])
@pytest.mark.parametrize("kind", ["fitted", "recorded"])
def test_a_fleet_file_that_points_to_no_file_says_so(
    run_cli: RunCli, log: Path, fleet: Path, kind: str, path: str
) -> None:
    changes = {"kind": kind, "file": path}
    table = "".join(f"{name} = {json.dumps(value)}\n" for name, value in changes.items())
    fleet.write_text(f"[engine]\nblocks = 11\n[latency]\n{table}", encoding="utf-8")
    code, out, err = run_cli("simulate", log, "--fleet", fleet)
    assert (code, out) == (2, "")
    assert err.startswith(f"cachecast: {fleet}: ")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(("bytes_per_s", "ends"), [(1.0, True), (1e-6, False)])
def test_a_run_of_more_than_292_years_is_refused_before_anything_is_written(
    run_cli: RunCli, log: Path, fleet: Path, tmp_path: Path, bytes_per_s: float, ends: bool
) -> None:
    """1,536 tokens of 100 bytes take 153,600 or 153,600,000,000 s; 2^63 ns are 9,223,372,036 s."""
    changes = (
        "fleet.prefill_servers=1", "fleet.decode_servers=1", "kv_bytes_per_token=100",
        f"transfer.bandwidth_bytes_per_s={bytes_per_s}",
    )  # fmt: skip
    sets = [word for change in changes for word in ("--set", change)]
    code, out, err = run_cli("simulate", log, "--fleet", fleet, *sets, "-o", tmp_path / "run")
    assert code == (0 if ends else 2)
    assert (tmp_path / "run").exists() is ends
    if not ends:
        assert out == ""
        assert "request 1: it ends 1.54e+11 s after the log's zero" in err


def test_what_the_file_states_in_vain_is_said(run_cli: RunCli, log: Path, fleet: Path) -> None:
    """Known fault 34: options that were taken and ignored."""
    vain = ("engine.memory_gib=80", "transfer.bandwidth_bytes_per_s=1e9")
    found = answer(run_cli, log, "--fleet", fleet, *(w for v in vain for w in ("--set", v)))
    assert found["assumptions"][:2] == [
        "engine.memory_gib is not used: engine.blocks states the size",
        "[transfer] is not used: the fleet has no prefill_servers",
    ]


def test_names_are_printed_as_they_are_written(run_cli: RunCli, log: Path, fleet: Path) -> None:
    fleet.write_text(
        f'kv_bytes_per_token = 1\n{FLEET}[[tiers]]\nname = "[red]"\nblocks = 9\n'
        "bandwidth_bytes_per_s = 1e9\n", encoding="utf-8",
    )  # fmt: skip
    code, out, _ = run_cli("simulate", log, "--fleet", fleet)
    assert code == 0
    assert "  [red]  " in out


def test_a_log_without_blocks_is_refused_with_what_it_lacks(
    run_cli: RunCli, tmp_path: Path, fleet: Path
) -> None:
    counts = tmp_path / "azure.csv"
    counts.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.979960,374,44\n", "utf-8"
    )
    code, out, err = run_cli("simulate", counts, "--fleet", fleet)
    assert (code, out) == (2, "")
    assert err.startswith(f"cachecast: {counts}: the log does not say what its prompts share"), err
    assert run_cli("curve", counts)[2] == err


def test_a_log_of_text_is_served_like_the_sketch_of_the_same_draw(
    run_cli: RunCli, tmp_path: Path, fleet: Path
) -> None:
    """Text states no prompt size: its content blocks are estimated, and that is said."""
    found = {}
    for form in ("pairs", "sketch"):
        log = tmp_path / form
        run_cli("generate", "coding-agent", "-o", log, "--format", form, "--requests", 30)
        large = ("--set", "engine.block_tokens=16", "--set", "engine.blocks=20001")
        found[form] = answer(run_cli, log, "--fleet", fleet, *large)

    text, sketch = found["pairs"], found["sketch"]
    assert text["requests"] == text["completed"] == 30
    for name in ("prompt_tokens", "output_tokens", "hit_tokens", "misses", "makespan_s"):
        assert text[name] == sketch[name], name
    said = (
        "30 requests do not say their prompt tokens: the estimate of their content blocks is taken"
    )
    assert said in text["assumptions"]
    assert said not in sketch["assumptions"]


@pytest.mark.parametrize(("salts", "hit"), [(("a", "a"), 32), (("a", "b"), 0), ((None, "a"), 0)])
@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_prompts_of_different_salts_share_nothing(
    run_cli: RunCli,
    tmp_path: Path,
    fleet: Path,
    engine: str,
    salts: tuple[str | None, ...],
    hit: int,
) -> None:
    """BR-103: 40 equal tokens are 2 blocks of 16 and a rest, for one LoRA or tenant only."""
    rows = [
        {"arrival": at, "prompt_token_ids": [7] * 40, "output_len": 1, "cache_salt": salt}
        for at, salt in enumerate(salts)
    ]
    log = tmp_path / "salted.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    sets = (f"fleet.engine={engine}", "engine.block_tokens=16", "engine.tokens=800")
    found = answer(run_cli, log, "--fleet", fleet, *(word for s in sets for word in ("--set", s)))
    assert found["hit_tokens"] == hit
    for size, blocks in ((16, 2), (8, 5)):  # the log's own blocks, and others
        _, out, _ = run_cli("curve", log, "--block-tokens", size, "--json")
        ideal = json.loads(out)["ideal"]["block_hit_ratio"]
        assert ideal == (blocks if hit else 0) / (2 * blocks)
