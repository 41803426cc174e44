"""Codex forks and spawned threads: what they copied from their parents is counted once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_transcripts import count, meta, used

from cachecast_datasets.importing import ImportSummary
from cachecast_datasets.trace import Trace

Write = Callable[..., Path]
ImportAll = Callable[..., tuple[Trace, ImportSummary]]

ROOT = "01a7c9e4-6d12-7b3a-9f42-8c6d5e1a0b73"
CHILD = "01a7c9e5-6d12-7b3a-9f42-8c6d5e1a0b74"
PARENT_FILE = f"x/rollout-2026-06-01T12-00-00-{ROOT}.jsonl"
CHILD_FILE = f"x/rollout-2026-06-01T13-00-00-{CHILD}.jsonl"

# what the parent used: 20,149 + 23,735 in, 5 + 6 out
FIRST = used(20_149, 9_984, 5), used(20_149, 9_984, 5)
SECOND = used(43_884, 20_480, 11), used(23_735, 10_496, 6)
PARENT = [meta(0, ROOT), count(5, *FIRST), count(60, *SECOND)]
FORKED = {"forked_from_id": ROOT}


@pytest.fixture
def read(
    write: Write, import_all: ImportAll, tmp_path: Path
) -> Callable[..., dict[str, list[tuple[Any, ...]]]]:
    """(input, cached, output) of each call by thread; of a parent (perhaps) and its child."""

    def run(*child: Any, parent: list[Any] | None = None, name: str = CHILD_FILE) -> Any:
        if parent is not None:
            write(*parent, name=PARENT_FILE)
        write(*child, name=name)
        found: dict[str, list[tuple[Any, ...]]] = {ROOT: [], CHILD: []}
        for one in import_all(tmp_path / "x")[0]:
            assert one.observed is not None
            assert one.session_id is not None
            found[one.session_id].append(
                (one.prompt_tokens, one.observed.cache_read, one.output_tokens)
            )
        return found

    return run


Forks = Callable[..., dict[str, list[tuple[Any, ...]]]]


def test_br53_a_fork_whose_total_contains_its_parents_counts_only_its_own(read: Forks) -> None:
    # 100 in the parent, 150 at the end of the fork: 150 in all, not 250
    copied, own = count(100, used(100), used(100)), count(130, used(150), used(50))
    found = read(
        meta(100, CHILD, **FORKED), copied, own, parent=[meta(0, ROOT), count(5, used(100), None)]
    )
    assert found == {ROOT: [(100, 0, 0)], CHILD: [(50, 0, 0)]}


@pytest.mark.parametrize("gap_s", [0.01, 30])
def test_br54_an_empty_fork_counts_nothing_whenever_its_copies_are_dated(
    read: Forks, gap_s: float
) -> None:
    found = read(
        meta(100, CHILD, **FORKED),
        count(100 + gap_s, *FIRST),
        count(100 + 2 * gap_s, *SECOND),
        parent=PARENT,
    )
    assert found[ROOT] == [(20_149, 9_984, 5), (23_735, 10_496, 6)]
    assert found[CHILD] == []


@pytest.mark.parametrize(
    ("first_at_s", "total"),
    [(100.02, 748_286), (103.0, 757_321)],  # copied at the fork, or the child's own first call
)
def test_br55_a_fork_without_its_parents_file_counts_what_was_added(
    read: Forks, first_at_s: float, total: int
) -> None:
    # 15 events; the last total is 748,286 above the first one's, whose own last is 9,035
    start = 3_158_656_533 - 748_286
    steps = [53_449] * 13 + [53_449]
    assert sum(steps) == 748_286
    lines = [meta(100, CHILD, **FORKED), count(first_at_s, used(start), used(9_035))]
    for number, step in enumerate(steps, start=1):
        lines.append(count(110 + 5 * number, used(start + number * step), used(step)))
    found = read(*lines)
    assert sum(tokens for tokens, _, _ in found[CHILD]) == total


def test_br57_a_burst_of_copies_with_new_timestamps_is_left_out_without_the_parent(
    read: Forks,
) -> None:
    burst = [
        count(100 + 0.04 * number, used(1_000 * number), used(1_000)) for number in range(1, 11)
    ]
    own = count(104, used(10_500), used(500))
    found = read(meta(100, CHILD, **FORKED), *burst, own)
    assert found[CHILD] == [(500, 0, 0)]


def test_br57_events_41_ms_apart_are_not_a_burst(read: Forks) -> None:
    found = read(
        meta(100, CHILD, **FORKED),
        count(100.04, used(1_000), used(1_000)),
        count(100.081, used(1_500), used(500)),
        count(100.09, used(1_700), used(200)),  # nothing after the burst belongs to it
    )
    assert found[CHILD] == [(500, 0, 0), (200, 0, 0)]


@pytest.mark.parametrize(
    ("version", "calls"), [("0.143.2", 0), ("0.144.0", 2), ("0.144.0-alpha.1", 2), ("1.2.0", 2)]
)
def test_builds_from_0_144_on_count_a_child_from_zero(
    read: Forks, version: str, calls: int
) -> None:
    found = read(
        meta(100, CHILD, cli_version=version, parent_thread_id=ROOT),
        count(100.01, *FIRST),
        count(100.02, *SECOND),
        parent=PARENT,
    )
    assert len(found[CHILD]) == calls


def test_br58_a_thread_is_the_last_uuid_in_its_files_name_not_the_id_inside(read: Forks) -> None:
    name = f"x/rollout-2026-06-01T13-00-00-{ROOT}_{CHILD}.jsonl"
    found = read(
        meta(100, ROOT), count(100.01, *FIRST), count(150, used(43_900), used(16)),
        parent=PARENT, name=name,
    )  # fmt: skip
    assert len(found[ROOT]) == 2
    assert found[CHILD] == [(16, 0, 0)]


def test_a_spawned_thread_is_a_sub_agent_and_a_fork_is_not(
    write: Write, import_all: ImportAll
) -> None:
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": ROOT, "depth": 1}}}
    for source, expected in ((spawn, True), ("cli", False)):
        path = write(
            meta(100, CHILD, source=source, **({} if source == spawn else FORKED)),
            count(105, used(100), used(100)),
            name=CHILD_FILE,
        )
        (one,) = import_all(path)[0]
        assert one.is_sidechain is expected
        assert one.agent_id == (CHILD if expected else None)


def test_a_fork_of_a_fork_leaves_out_the_copies_of_both(
    write: Write, import_all: ImportAll, tmp_path: Path
) -> None:
    grandchild = "01a7c9e6-6d12-7b3a-9f42-8c6d5e1a0b75"
    own = used(50_000, 0, 20), used(6_116, 0, 9)
    write(*PARENT, name=PARENT_FILE)
    write(meta(100, CHILD, **FORKED), count(101, *FIRST), count(102, *SECOND), count(120, *own),
          name=CHILD_FILE)  # fmt: skip
    write(meta(200, grandchild, forked_from_id=CHILD), count(202, *FIRST), count(204, *SECOND),
          count(206, *own), count(230, used(50_010), used(10)),
          name=f"x/rollout-2026-06-01T14-00-00-{grandchild}.jsonl")  # fmt: skip
    trace, summary = import_all(tmp_path / "x")
    assert [one.prompt_tokens for one in trace] == [20_149, 23_735, 6_116, 10]
    assert "events that forks copied from their parents, counted once: 5" in summary.warnings
