"""kv-cache-tester sessions: files, folders, sub-agents."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cachecast_datasets.errors import LogError
from cachecast_datasets.importing import ImportSummary
from cachecast_datasets.readers.kv_cache_tester import READER
from cachecast_datasets.request import Request
from cachecast_datasets.source import Source
from cachecast_datasets.trace import Trace

ImportAll = Callable[..., tuple[Trace, ImportSummary]]


def call(t: float, tokens: int, ids: list[int], **more: Any) -> dict[str, Any]:
    return {"t": t, "type": "n", "model": "m", "in": tokens, "out": 5, "hash_ids": ids} | more


def sub_agent(t: float, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    marker = {"t": t, "type": "subagent", "agent_id": "agent_001", "tool_tokens": 7}
    return marker | {"system_tokens": 8, "requests": list(calls)} | more


def session(folder: Path, *entries: dict[str, Any], name: str = "s1", **more: Any) -> Path:
    path = folder / f"{name}.json"
    head = {"id": name, "block_size": 64, "tool_tokens": 70, "system_tokens": 80}
    path.write_text(json.dumps(head | {"requests": list(entries)} | more))
    return path


def requests(path: Path) -> list[Request]:
    return list(READER.read(Source(path)))


def refusal(path: Path) -> str:
    with pytest.raises(LogError) as caught:
        requests(path)
    return str(caught.value).replace(str(path), "FILE")


def test_a_call_keeps_its_times_lists_and_the_session_it_belongs_to(tmp_path: Path) -> None:
    more: dict[str, Any] = {
        "type": "s", "api_time": 3.5, "ttft": 0.5, "think_time": 2.0,
        "input_types": ["text"], "output_types": ["text", "tool_use"],
    }  # fmt: skip
    (one,) = requests(session(tmp_path, call(128.5, 130, [1, 2], **more)))
    assert (one.request_id, one.session_id, one.hash_scope) == ("s1/1", "s1", "s1")
    assert (one.arrival_us, one.end_s, one.first_token_s, one.think_time_s) == (
        128_500_000, 3.5, 0.5, 2.0,
    )  # fmt: skip
    assert (one.prompt_tokens, one.output_tokens, one.tools_tokens, one.system_tokens) == (
        130, 5, 70, 80,
    )  # fmt: skip
    assert (one.input_types, one.output_types) == (["text"], ["text", "tool_use"])
    assert (one.is_sidechain, one.agent_id, one.model) == (False, None, "m")


def test_a_sub_agent_counts_from_its_marker_and_has_its_own_tools_and_system(
    tmp_path: Path,
) -> None:
    path = session(
        tmp_path, call(0, 64, [1]), sub_agent(100.5, call(7, 64, [9])), call(200, 64, [1])
    )
    first, inner, last = requests(path)
    assert inner.arrival_us == 107_500_000
    assert (inner.agent_id, inner.is_sidechain) == ("agent_001", True)
    assert (inner.tools_tokens, inner.system_tokens) == (7, 8)
    assert (inner.session_id, inner.hash_scope) == (first.session_id, first.hash_scope)
    assert [one.request_id for one in (first, inner, last)] == ["s1/1", "s1/2.1", "s1/3"]


def test_a_sub_agent_of_a_sub_agent_counts_from_both_markers(tmp_path: Path) -> None:
    path = session(tmp_path, sub_agent(100, sub_agent(10, call(1, 64, [9]))))
    assert requests(path)[0].arrival_us == 111_000_000


@pytest.mark.parametrize("where", ["marker", "session"])
def test_nested_times_may_be_absolute(tmp_path: Path, where: str) -> None:
    basis = {"nested_timestamp_basis": "absolute"}
    marker = sub_agent(100, call(107, 64, [9]), **(basis if where == "marker" else {}))
    path = session(tmp_path, marker, **(basis if where == "session" else {}))
    assert requests(path)[0].arrival_us == 107_000_000


def test_local_ids_of_two_sessions_are_different_blocks_and_global_ones_are_not(
    tmp_path: Path,
) -> None:
    def first_hashes(scope: str) -> set[int]:
        folder = tmp_path / scope
        folder.mkdir()
        for name in ("s1", "s2"):
            session(folder, call(0, 64, [1]), name=name, hash_id_scope=scope)
        return {
            one.token_blocks.item(0) for one in requests(folder) if one.token_blocks is not None
        }

    assert len(first_hashes("local")) == 2
    assert len(first_hashes("global")) == 1


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (call(0, -3, []), "requests[1].in is -3, expected an integer >= 0"),
        (call(0, 64, []) | {"in": 64.5}, "requests[1].in is 64.5, expected an integer or null"),
        (call(0, 64, []),
         "requests[1].hash_ids has 0 ids, expected 1 for 64 tokens in blocks of 64"),
        (call(-1, 64, [1]), "requests[1].t is -1, expected a number >= 0"),
        (call(0, 64, [1], type="x"), 'requests[1].type is "x", expected n, s or subagent'),
        ({"t": 0, "type": "n"}, "requests[1].in is missing, expected an integer >= 0"),
        ({"type": "n"}, "requests[1].t is missing, expected a value"),
        (call(float("nan"), 64, [1]), "requests[1].t is NaN, expected a finite number"),
        (sub_agent(0, call(0, 64, [])),
         "requests[1].requests[0].hash_ids has 0 ids, expected 1 for 64 tokens in blocks of 64"),
        (sub_agent(0, nested_timestamp_basis="odd"),
         'requests[1].nested_timestamp_basis is "odd", expected relative or absolute'),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_place_in_the_file(
    tmp_path: Path, entry: dict[str, Any], message: str
) -> None:
    assert refusal(session(tmp_path, call(0, 64, [1]), entry)) == f"FILE: {message}"


def test_an_unknown_id_scope_is_refused(tmp_path: Path) -> None:
    assert refusal(session(tmp_path, hash_id_scope="odd")) == (
        'FILE: hash_id_scope is "odd", expected local or global'
    )


def test_a_file_cut_short_is_refused(tmp_path: Path) -> None:
    path = session(tmp_path, call(0, 64, [1]))
    path.write_bytes(path.read_bytes()[:-9])
    assert refusal(path) == "FILE: the JSON is cut short, expected a whole object"


def test_skipping_leaves_out_a_bad_file_as_a_whole(tmp_path: Path, import_all: ImportAll) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    session(folder, call(0, 64, [1]), name="good")
    bad = session(folder, call(0, 64, [1]), call(0, 64, []), name="bad")
    trace, summary = import_all(folder, skip_bad=True)
    assert [one.request_id for one in trace] == ["good/1"]
    (skip,) = summary.skipped
    assert (skip.reason, skip.count) == ("bad value", 1)
    assert skip.example.startswith(f"{bad}: requests[1].hash_ids has 0 ids")


def test_sessions_that_all_start_at_zero_are_kept_so_with_a_warning(
    tmp_path: Path, import_all: ImportAll
) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    for name in ("s1", "s2"):
        session(folder, call(0, 64, [1]), call(10, 128, [1, 2]), name=name)
    trace, summary = import_all(folder)
    assert [one.request_id for one in trace] == ["s1/1", "s2/1", "s1/2", "s2/2"]
    assert summary.warnings == [
        "all 2 sessions start at t = 0 as the source has them; "
        "cachecast import --spread SECONDS --seed N spreads them"
    ]


def test_spread_shifts_each_session_as_a_whole_and_the_same_way_each_time(
    tmp_path: Path, import_all: ImportAll
) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    for name in ("s1", "s2", "s3"):
        session(folder, call(0, 64, [1]), call(10, 128, [1, 2]), name=name)
    times = []
    for seed in (1, 1, 2):
        trace, summary = import_all(folder, spread_s=3600.0, seed=seed)
        times.append({one.request_id: one.arrival_us for one in trace})
        assert summary.warnings == []
    assert times[0] == times[1] != times[2]
    for name in ("s1", "s2", "s3"):
        assert times[0][f"{name}/2"] - times[0][f"{name}/1"] == 10_000_000
        assert 0 <= times[0][f"{name}/1"] < 3600 * 1_000_000
    assert len({times[0][f"{name}/1"] for name in ("s1", "s2", "s3")}) == 3
