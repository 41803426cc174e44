"""`replay`, `calibrate` and `compare` end to end, on a model of a few thousand weights."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import RunCli
from small_replay import CONFIG, FLEET

from cachecast.results.views import VIEWS

pytest.importorskip("torch", reason="the engine needs torch: pip install 'cachecast[engine]'")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, a fleet of 100 tokens and a log that evicts and preempts in it."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    (tmp_path / "fleet.toml").write_text(FLEET, encoding="utf-8")
    rows = []
    for n in range(12):
        shared = [n % 3 * 100 + t for t in range(16)]
        prompt = [t % 128 for t in [*shared, *range(n, n + 5 + n)]]
        rows.append(
            {"id": f"r{n}", "arrival": 0.0, "prompt_token_ids": prompt, "output_len": 14,
             "output_token_ids": [(n + t) % 128 for t in range(14)]}
        )  # fmt: skip
    write_log(tmp_path / "log.jsonl", rows)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_log(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def replayed(run_cli: RunCli, out: str, *more: str) -> None:
    code, _, err = run_cli(
        "replay", "log.jsonl", "--engine", "torch:model", "--fleet", "fleet.toml", "-o", out, *more
    )
    assert code == 0, err


def compared(run_cli: RunCli, *runs: str) -> tuple[int, Any]:
    code, out, err = run_cli("compare", *runs, "--json")
    assert code in (0, 1, 3), err
    return code, json.loads(out)


@pytest.mark.usefixtures("place")
def test_driven_by_a_replays_own_durations_the_simulator_agrees_on_everything(
    run_cli: RunCli,
) -> None:
    replayed(run_cli, "measured")
    code, _, err = run_cli(
        "simulate", "log.jsonl", "--fleet", "fleet.toml", "--set", "latency.kind=recorded",
        "--set", "latency.file=measured", "-o", "predicted",
    )  # fmt: skip
    assert code == 0, err
    code, found = compared(run_cli, "predicted", "measured")
    assert (code, found["mode"], found["verdict"]) == (0, "lock_step", "pass")
    assert found["requests"] == 12
    assert found["hit_tokens"]["predicted"] == found["hit_tokens"]["measured"] > 0
    assert found["hit_tokens"]["mismatched_ids"] == found["preemptions"]["mismatched_ids"] == []
    assert found["steps"] == {"mismatched": 0, "first_mismatched": None}
    assert found["ttft"]["mean_abs_pct"] == found["e2e"]["p99_abs_pct"] == 0
    for name in ("measured", "steps"):
        code, out, _ = run_cli("sql", "measured", VIEWS[name].example, "--csv")
        assert (code, len(out.splitlines()) > 1) == (0, True)
    _, out, _ = run_cli("sql", "measured", "select sum(preemptions) n from measured", "--csv")
    assert int(out.split()[1]) > 0  # else the case is too easy


@pytest.mark.usefixtures("place")
def test_a_log_without_prompt_sizes_is_replayed_as_it_is_simulated(run_cli: RunCli) -> None:
    """Both take the estimate of the content blocks; a generated log has nothing else."""
    assert run_cli("generate", "chat", "-o", "chat.jsonl", "--requests", "5", "--seed", "1")[0] == 0
    limits = ("--fleet", "fleet.toml", "--set", "engine.blocks=2001",
              "--set", "engine.max_batch_tokens=512")  # fmt: skip
    engine = ("--engine", "torch:model", "-o", "measured")
    code, _, err = run_cli("replay", "chat.jsonl", *limits, *engine)
    assert code == 0, err
    steps = ("--set", "latency.kind=recorded", "--set", "latency.file=measured")
    assert run_cli("simulate", "chat.jsonl", *limits, *steps, "-o", "recorded")[0] == 0
    code, found = compared(run_cli, "recorded", "measured")
    assert (code, found["verdict"], found["requests"]) == (0, "pass", 5)
    assert found["hit_tokens"]["measured"] > 0


def test_a_log_without_any_size_is_refused_before_the_engine_is_made(
    run_cli: RunCli, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "sizes.jsonl").write_text('{"at": 0.0, "output": 5, "prompt": []}\n', "utf-8")
    monkeypatch.setattr("cachecast.engine_spec.open_engine", None)
    code, _, err = run_cli(
        "replay", "sizes.jsonl", "--engine", "torch:model", "--fleet", "fleet.toml"
    )
    assert code == 2
    assert err.endswith(
        "cachecast: no request of the log has a prompt size, expected a log that knows them\n"
    )


def test_what_a_fleet_file_says_of_latency_is_not_looked_at(run_cli: RunCli, place: Path) -> None:
    """Missing, or of a file that is not there."""
    limits, latency = FLEET.split("[latency]")
    assert latency
    (place / "fleet.toml").write_text(limits, encoding="utf-8")
    replayed(run_cli, "without")
    broken = limits + '[latency]\nkind = "fitted"\nfile = "nowhere.toml"\nspeed = 3\n'
    (place / "fleet.toml").write_text(broken, encoding="utf-8")
    replayed(run_cli, "with")
    code, found = compared(run_cli, "without", "with")
    assert code in (0, 1)
    assert found["requests"] == 12


def test_cache_salts_that_no_engine_is_told_are_refused(run_cli: RunCli, place: Path) -> None:
    """One salt for all changes nothing; a second one would separate what a replay shares."""
    row = {"arrival": 0.0, "prompt_token_ids": [1, 2, 3], "output_len": 1, "cache_salt": "a"}
    write_log(place / "log.jsonl", [{**row, "id": "r0"}, {**row, "id": "r1"}])
    replayed(run_cli, "one-salt")
    write_log(place / "log.jsonl", [{**row, "id": "r0"}, {**row, "id": "r1", "cache_salt": "b"}])
    code, _, err = run_cli(
        "replay", "log.jsonl", "--engine", "torch:model", "--fleet", "fleet.toml", "-o", "two"
    )
    assert code == 2
    assert "request r1: its cache salt is not that of the requests before it" in err
    assert not (place / "two").exists()


def test_requests_that_are_larger_than_the_cache_are_counted_and_explained(
    run_cli: RunCli, place: Path
) -> None:
    """25 blocks of 4 tokens hold a prompt of 100 with one token of output and none of 101."""
    rows = [
        {"id": f"r{size}", "arrival": 0.0, "prompt_token_ids": [1] * size, "output_len": 1}
        for size in (100, 101)
    ]
    write_log(place / "log.jsonl", rows)
    code, _, err = run_cli(
        "replay", "log.jsonl", "--engine", "torch:model", "--fleet", "fleet.toml"
    )
    assert code == 0
    assert "1 of 2 requests were rejected: one is larger than a server's cache" in err


@pytest.mark.usefixtures("place")
def test_another_cache_is_found_out(run_cli: RunCli) -> None:
    """The same log, predicted with a cache of another size."""
    replayed(run_cli, "measured")
    code, _, err = run_cli(
        "simulate", "log.jsonl", "--fleet", "fleet.toml", "--set", "engine.blocks=16", "-o", "p"
    )
    assert code == 0, err
    _, found = compared(run_cli, "p", "measured")
    assert found["mode"] == "free_running"
    assert found["hit_tokens"]["mismatched_requests"] > 0


@pytest.mark.usefixtures("place")
def test_a_calibration_is_a_latency_model_that_names_its_error(
    run_cli: RunCli, place: Path
) -> None:
    code, out, err = run_cli(
        "calibrate", "--engine", "torch:model", "--max-new-tokens", "32", "--max-sequences", "4",
        "--max-context", "64", "--rounds", "1", "-o", "latency.toml",
    )  # fmt: skip
    assert code == 0, err
    assert "held out" in out
    text = (place / "latency.toml").read_text("utf-8")
    assert "normalised = false" in text
    code, out, err = run_cli(
        "simulate", "log.jsonl", "--fleet", "fleet.toml", "--set", "latency.kind=fitted",
        "--set", "latency.file=latency.toml", "-o", "predicted", "--json",
    )  # fmt: skip
    assert code == 0, err
    assert any("step times are those of torch" in a for a in json.loads(out)["assumptions"])
    replayed(run_cli, "measured")
    replayed(run_cli, "again")
    _, found = compared(run_cli, "predicted", "measured", "--again", "again")
    assert found["teacher_forced"]["ttft"]["mean_abs_pct"] >= 0
    assert found["ttft"]["noise_floor_pct"] >= 0
    assert found["hit_tokens"]["floor_mismatched_requests"] >= 0


@pytest.mark.usefixtures("place")
def test_clocks_of_two_kinds_are_not_compared(run_cli: RunCli) -> None:
    replayed(run_cli, "raw")
    replayed(run_cli, "scaled", "--normalise")
    code, _, err = run_cli("compare", "raw", "scaled")
    assert code == 2
    assert "raw has raw durations, scaled has normalised durations, expected the same" in err


@pytest.mark.usefixtures("place")
def test_a_real_clock_is_not_compared_with_a_virtual_one(run_cli: RunCli) -> None:
    """Neither as prediction and measurement nor as two replays, whatever the prediction says."""
    replayed(run_cli, "virtual")
    replayed(run_cli, "real", "--clock", "real")
    code, _, err = run_cli("simulate", "log.jsonl", "--fleet", "fleet.toml", "-o", "predicted")
    assert code == 0, err
    sentence = (
        "cachecast: virtual ran on the virtual clock, real ran on the real clock, expected the "
        "same: replay both with one --clock\n"
    )
    for runs in (("virtual", "real"), ("predicted", "virtual", "--again", "real")):
        assert run_cli("compare", *runs) == (2, "", sentence)
    code, _ = compared(run_cli, "predicted", "real")  # a simulation has no clock of its own
    assert code in (0, 1)


@pytest.mark.usefixtures("place")
def test_two_replays_at_different_speeds_are_not_compared(run_cli: RunCli) -> None:
    replayed(run_cli, "one", "--clock", "real")
    replayed(run_cli, "other", "--clock", "real", "--speed-up", "2")
    code, _, err = run_cli("compare", "one", "other")
    assert code == 2
    assert "one had arrivals 1 times as fast, other had arrivals 2 times as fast" in err


@pytest.mark.usefixtures("place")
def test_steps_of_a_real_clock_drive_no_lock_step(run_cli: RunCli) -> None:
    """Between them time passes that no step has."""
    replayed(run_cli, "real", "--clock", "real")
    recorded = ("--set", "latency.kind=recorded", "--set", "latency.file=real")
    code, _, err = run_cli(
        "simulate", "log.jsonl", "--fleet", "fleet.toml", *recorded, "-o", "predicted"
    )
    assert code == 0, err
    code, out, err = run_cli("compare", "predicted", "real")
    assert (code, out) == (2, "")
    assert "predicted is driven by the steps of a replay on the real clock" in err


@pytest.mark.usefixtures("place")
def test_an_interrupted_replay_drives_no_simulation(run_cli: RunCli, place: Path) -> None:
    replayed(run_cli, "measured")
    info = json.loads((place / "measured/run.json").read_text("utf-8"))
    (place / "measured/run.json").write_text(json.dumps({**info, "partial": True}), "utf-8")
    recorded = ("--set", "latency.kind=recorded", "--set", "latency.file=measured")
    code, out, err = run_cli("simulate", "log.jsonl", "--fleet", "fleet.toml", *recorded)
    assert (code, out) == (2, "")
    assert "the replay was interrupted" in err
    assert "expected a whole replay" in err


@pytest.mark.parametrize("table", ["measured", "steps"])
@pytest.mark.parametrize("damage", ["no parquet", "other columns", "nulls"])
@pytest.mark.usefixtures("place")
def test_a_damaged_run_is_one_sentence(
    run_cli: RunCli, place: Path, table: str, damage: str
) -> None:
    replayed(run_cli, "measured")
    replayed(run_cli, "whole")
    file = place / f"measured/{table}.parquet"
    columns = pq.read_table(file)
    if damage == "no parquet":
        file.write_bytes(b"PAR1")
    elif damage == "other columns":
        pq.write_table(columns.select(["row" if table == "measured" else "step"]), file)
    else:
        name = "first_token_ns" if table == "measured" else "duration_ns"
        place_of = columns.column_names.index(name)
        nothing = pa.nulls(len(columns), pa.int64())
        pq.write_table(columns.set_column(place_of, name, nothing), file)
    code, out, err = run_cli("compare", "whole", "measured")
    assert (code, out) == (2, "")
    assert err.startswith(f"cachecast: measured/{table}.parquet: ")
    assert len(err.splitlines()) == 1


@pytest.mark.usefixtures("place")
def test_a_chart_shows_each_request_by_what_was_cached(run_cli: RunCli, place: Path) -> None:
    replayed(run_cli, "measured", "--chart", "saving.json")
    drawn = json.loads((place / "saving.json").read_text("utf-8"))
    points = drawn["data"]["values"]
    _, out, _ = run_cli(
        "sql", "measured", "select prompt_tokens, hit_tokens from measured order by row", "--json"
    )
    rows = [json.loads(line) for line in out.splitlines()]
    assert [point["prompt_tokens"] for point in points] == [row["prompt_tokens"] for row in rows]
    assert [point["reused"] == "nothing of it" for point in points] == [
        row["hit_tokens"] == 0 for row in rows
    ]
    assert {point["reused"] for point in points} >= {"nothing of it", "half or more"}
    assert all(point["ttft_ms"] > 0 for point in points)


@pytest.mark.usefixtures("place")
def test_a_chart_that_is_there_is_kept(run_cli: RunCli, place: Path) -> None:
    (place / "mine.json").write_text("{}", encoding="utf-8")
    replayed(run_cli, "measured")
    engine = ("replay", "log.jsonl", "--engine", "torch:model", "--fleet", "fleet.toml")
    for command in (engine, ("compare", "measured", "measured")):
        code, out, err = run_cli(*command, "--chart", "mine.json")
        assert (code, out) == (2, "")
        assert "the file is there already; --force replaces it" in err
    assert (place / "mine.json").read_text("utf-8") == "{}"


@pytest.mark.usefixtures("place")
def test_runs_of_different_logs_are_not_compared(run_cli: RunCli, place: Path) -> None:
    replayed(run_cli, "one")
    log = (place / "log.jsonl").read_text("utf-8").splitlines()
    (place / "log.jsonl").write_text("\n".join(log[:5]) + "\n", encoding="utf-8")
    replayed(run_cli, "other")
    code, _, err = run_cli("compare", "one", "other")
    assert code == 2
    assert "runs of different logs, expected the same" in err


@pytest.mark.usefixtures("place")
def test_per_request_rows_are_like_those_of_simulate(run_cli: RunCli) -> None:
    arguments = ("log.jsonl", "--fleet", "fleet.toml", "--per-request", "--json")
    _, mine, _ = run_cli("replay", *arguments, "--engine", "torch:model")
    _, theirs, _ = run_cli("simulate", *arguments)
    rows = [[json.loads(line) for line in out.splitlines()] for out in (mine, theirs)]
    assert [row["request_id"] for row in rows[0]] == [row["request_id"] for row in rows[1]]
    assert rows[0][0].keys() == rows[1][0].keys()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--engine", "model"), "--engine model: expected torch:DIR"),
        (("--engine", "torch:nowhere"), "there is no folder nowhere"),
        (("--engine", "torch:model", "--device", "tpu"), "device 'tpu' is unknown"),
        (("--engine", "torch:model", "--set", "fleet.servers=2"), "expected fleet.servers = 1"),
        (("--engine", "torch:model", "--set", "engine.ttl_s=5"), "a real engine does not have"),
        (("--engine", "torch:model", "--speed-up", "2"), "--speed-up goes with --clock real"),
        (("--engine", "torch:model", "--clock", "real", "--speed-up", "nan"), "a finite number"),
        (("--engine", "torch:model", "--clock", "real", "--speed-up", "inf"), "a finite number"),
    ],
)
@pytest.mark.usefixtures("place")
def test_what_cannot_be_replayed_is_refused(
    run_cli: RunCli, arguments: tuple[str, ...], sentence: str
) -> None:
    code, out, err = run_cli("replay", "log.jsonl", "--fleet", "fleet.toml", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err


@pytest.mark.usefixtures("place")
def test_what_is_no_run_is_not_compared(run_cli: RunCli, place: Path) -> None:
    replayed(run_cli, "measured")
    (place / "empty").mkdir()
    code, _, err = run_cli("compare", "empty", "measured")
    assert code == 2
    assert "is not a run" in err
