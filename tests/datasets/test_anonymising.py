"""Anonymised logs: the same bytes for the same salt, the same bill, the Mooncake shape."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from anonymised import SALT, anonymised

from cachecast.scenarios import scenario_of
from cachecast_datasets.anonymising import Anonymiser
from cachecast_datasets.errors import BadInput, EvidenceError
from cachecast_datasets.importing import import_log
from cachecast_datasets.synthetic.generating import generate
from cachecast_datasets.synthetic.lines import pair_line, sketch_line
from cachecast_datasets.synthetic.workload import KINDS as KINDS_OF_LOGS
from cachecast_datasets.trace import open_trace
from cachecast_pricing.catalog import load_catalog
from cachecast_sim.billing import Billing

Write = Callable[..., Path]

OTHER_SALT = b"and now for another salt"
CATALOG = load_catalog()


TEAM = replace(
    KINDS_OF_LOGS["coding-agent"], burst=2, rate_per_hour=12, turns=3, clock_in_system=True,
    shuffle_tools=True, pause_s=900, edit_system=True,
)  # fmt: skip


def test_the_same_log_and_salt_give_the_same_bytes_and_another_salt_no_common_id(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    generate(TEAM, log, pair_line, requests=40)
    for shape in ("parquet", "jsonl"):
        first = anonymised(log, tmp_path / f"1.{shape}").read_bytes()
        again = anonymised(log, tmp_path / f"2.{shape}").read_bytes()
        anonymised(log, tmp_path / f"3.{shape}", OTHER_SALT)
        assert first == again

    def ids(path: Path) -> set[object]:
        found: set[object] = set()
        for request in open_trace(path):
            assert request.boundaries is not None
            found.update((request.request_id, request.session_id, request.account))
            found.update(request.boundaries.hashes)
        return found

    assert not ids(tmp_path / "1.parquet") & ids(tmp_path / "3.parquet")
    lines = [(tmp_path / f"{n}.jsonl").read_text().splitlines() for n in (1, 3)]
    one, three = ({i for line in text for i in json.loads(line)["hash_ids"]} for text in lines)
    assert one
    assert not one & three


def usages(path: Path, scenario: str) -> list[Any]:
    trace = open_trace(path)
    billing = Billing(scenario_of(scenario, CATALOG), CATALOG, trace.meta)
    requests = trace.requests(columns=billing.columns())
    return [(row.usage, row.outcome.explanation.reason) for row in billing.rows(requests)]


SETTINGS = [
    {"tool_choice": {"type": "auto"}}, {"tool_choice": "auto"}, {"thinking": {"type": "enabled"}},
    {"thinking": {"type": "enabled", "budget_tokens": 9000}},
    {"thinking": {"budget_tokens": 9000, "type": "enabled"}}, {"prompt_cache_key": "our team"},
    {"output_config.effort": "high"}, {"our own setting": "X"}, {"tool_choice": {"type": "odd"}},
]  # fmt: skip


@pytest.mark.parametrize(
    "scenario", ["log", "claude-opus-5", "gpt-6-sol", "gpt-5.5", "deepseek-flash"]
)
def test_the_usage_and_the_reason_of_every_request_stay_what_they_were(
    tmp_path: Path, scenario: str
) -> None:
    """A team's requests, each with a setting and an absolute time."""
    source, drawn = tmp_path / "in.jsonl", tmp_path / "drawn.jsonl"
    generate(TEAM, drawn, sketch_line, requests=60)
    with source.open("w") as stream:
        for number, text in enumerate(drawn.read_text().splitlines()):
            line = json.loads(text)
            line["settings"] = SETTINGS[number % len(SETTINGS)]
            minute, second = divmod(int(line["at"]), 60)
            line["at"] = f"2026-11-03T{9 + minute // 60:02}:{minute % 60:02}:{second:02}Z"
            stream.write(json.dumps(line) + "\n")
    plain = tmp_path / "plain.parquet"
    import_log([source], plain)
    salted = anonymised(source, tmp_path / "salted.parquet")

    assert usages(plain, scenario) == usages(salted, scenario)
    assert open_trace(salted).meta.time_origin == "relative"
    assert next(iter(open_trace(salted))).arrival_us == 0
    # and an anonymised log is read like any other: its boundaries are made anew
    import_log([salted], tmp_path / "again.parquet")
    assert usages(plain, scenario) == usages(tmp_path / "again.parquet", scenario)


def test_token_blocks_keep_their_chains_and_their_bill(write: Write, tmp_path: Path) -> None:
    source = write(
        {"timestamp": 5000, "input_length": 1100, "hash_ids": [1, 2, 3], "output_length": 7},
        {"timestamp": 6000, "input_length": 1536, "hash_ids": [1, 2, 9], "output_length": 8},
    )
    import_log([source], tmp_path / "plain.parquet")
    salted = anonymised(source, tmp_path / "salted.parquet")
    for scenario in ("claude-opus-5", "gpt-5.5", "deepseek-flash"):
        assert usages(tmp_path / "plain.parquet", scenario) == usages(salted, scenario)

    shape = anonymised(source, tmp_path / "salted.jsonl")
    first, second = (json.loads(line) for line in shape.read_text().splitlines())
    assert (first["timestamp"], second["timestamp"]) == (0, 1000)
    assert (first["input_length"], first["output_length"]) == (1100, 7)
    assert first["hash_ids"][:2] == second["hash_ids"][:2]
    assert first["hash_ids"][2] != second["hash_ids"][2]


def test_content_blocks_become_ids_of_512_tokens(write: Write, tmp_path: Path) -> None:
    """1,000 + 300 tokens are blocks that end at 512, 1,024 and 1,300."""
    source = write(
        {"at": 0, "prompt": [["system", "S", 1000], ["user", "Q", 300]]},
        {"at": 1, "prompt": [["system", "S", 1000], ["user", "P", 300]]},
        {"at": 2, "prompt": [["system", "S", 1000], ["user", "Q", 300], ["user", "R", 300]]},
        {"at": 3, "prompt": [["system", "S", 1000], ["user", "Q", 300]], "account": "another"},
        {"at": 4, "prompt": [], "status": "error"},
    )
    out = anonymised(source, tmp_path / "out.jsonl")

    a, b, c, d = (json.loads(line)["hash_ids"] for line in out.read_text().splitlines())
    assert [len(ids) for ids in (a, b, c, d)] == [3, 3, 4, 3]
    assert a[0] == b[0]
    assert not set(a[1:]) & set(b[1:])
    assert a[:2] == c[:2]
    assert a[2] not in c  # a partial block is another prefix than the whole one
    assert not set(a) & set(d)


def test_smaller_token_blocks_are_gathered_and_odd_ones_are_refused(
    write: Write, tmp_path: Path
) -> None:
    """64-token blocks: eight make one of 512; the rest of the prompt has no id."""
    session = {"id": "s", "block_size": 64, "requests": [
        {"t": 0, "type": "n", "in": 1100, "out": 3, "hash_ids": list(range(17))},
        {"t": 1, "type": "n", "in": 600, "out": 3, "hash_ids": [*range(8), 99]},
    ]}  # fmt: skip
    out = anonymised(write(session), tmp_path / "out.jsonl")
    first, second = (json.loads(line)["hash_ids"] for line in out.read_text().splitlines())
    assert (len(first), len(second)) == (2, 1)
    assert first[0] == second[0]

    odd = {"id": "s", "block_size": 48, "requests": [
        {"t": 0, "type": "n", "in": 48, "out": 3, "hash_ids": [1]},
    ]}  # fmt: skip
    with pytest.raises(EvidenceError, match="has blocks of 512 tokens, and this log's of 48"):
        anonymised(write(odd, name="odd.json"), tmp_path / "odd.jsonl")
    assert not (tmp_path / "odd.jsonl").exists()


def test_a_salt_needs_sixteen_bytes() -> None:
    with pytest.raises(BadInput, match="the salt has 15 bytes, expected at least 16"):
        Anonymiser(b"x" * 15)
    assert Anonymiser(b"x" * 16).salt_id != Anonymiser(b"y" * 16).salt_id


def test_the_command_says_how_to_make_a_salt(
    run_cli: Callable[..., tuple[int, str, str]], write: Write, tmp_path: Path
) -> None:
    log = write({"at": 0, "prompt": [["user", "Q", 5]]})
    salt = tmp_path / "salt"
    how = "make one with: python3 -c 'import secrets; print(secrets.token_hex(32))' > "

    code, _, err = run_cli("import", log, "-o", tmp_path / "o.parquet", "--anonymise")
    assert (code, err) == (2, f"cachecast: --anonymise needs --salt FILE; {how}salt.txt\n")
    salted = ["import", log, "-o", tmp_path / "o.parquet", "--anonymise", "--salt", salt]
    assert run_cli(*salted)[2] == (
        f"cachecast: --salt {salt}: No such file or directory; {how}{salt}\n"
    )
    salt.write_bytes(b"short")
    assert "the salt has 5 bytes, expected at least 16; make one with" in run_cli(*salted)[2]
    salt.write_bytes(SALT)
    code, _, err = run_cli(*salted)
    assert code == 0
    assert "times from the first arrival" in err
    assert run_cli("import", log, "-o", tmp_path / "o.jsonl")[0] == 2
    assert run_cli(*salted, "--keep-text")[0] == 2
