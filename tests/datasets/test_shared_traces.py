"""Against the development traces beside the repository; skipped where they are absent."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cachecast_datasets.importing import ImportSummary
from cachecast_datasets.trace import Trace

ImportAll = Callable[..., tuple[Trace, ImportSummary]]


@pytest.fixture(scope="session")
def sessions(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kv-cache-tester sessions in their published form."""
    folder = tmp_path_factory.mktemp("sessions")
    script = shared / "traces" / "kv-cache-tester" / "expand.py"
    if not script.exists():
        pytest.skip("the kv-cache-tester sessions are not on this machine")
    subprocess.run([sys.executable, script, folder], check=True)
    return folder


def found(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path.name} is not on this machine")
    return path


def test_mooncake_has_12031_requests_of_144793823_prompt_tokens(
    shared: Path, import_all: ImportAll
) -> None:
    trace, summary = import_all(found(shared / "traces" / "mooncake" / "conversation_trace.jsonl"))
    assert summary.rows == 12_031
    requests = list(trace.requests(columns=["prompt_tokens", "boundaries"]))
    assert sum(one.prompt_tokens or 0 for one in requests) == 144_793_823
    # the partial last block is kept: the end is the prompt's own length
    assert all(
        one.boundaries and one.boundaries.tokens[-1] == one.prompt_tokens for one in requests
    )


def test_the_merged_file_has_3700_requests_within_3_hours(
    shared: Path, import_all: ImportAll
) -> None:
    path = found(shared / "traces" / "kv-cache-tester" / "kvt_merged_dev.jsonl.gz")
    _, summary = import_all(path)
    assert (summary.rows, summary.source_format) == (3_700, "kv-cache-tester-merged")
    assert summary.period is not None
    assert float(summary.period[1]) < 3 * 3600


@pytest.mark.parametrize("name", ["steady", "burst", "storm", "repeat"])
def test_token_id_workloads_keep_their_ids(shared: Path, import_all: ImportAll, name: str) -> None:
    trace, summary = import_all(found(shared / "golden" / f"workload_{name}.jsonl.gz"))
    assert summary.evidence == "tokens"
    for one in trace:
        assert one.token_ids is not None
        assert len(one.token_ids) == one.prompt_tokens


def test_sessions_keep_every_request_and_sub_agents_are_marked(
    sessions: Path, import_all: ImportAll
) -> None:
    trace, summary = import_all(sessions)
    assert (summary.rows, summary.sessions) == (33_356, 514)
    assert len(summary.warnings) == 1
    assert sum(one.agent_id is not None for one in trace.requests(columns=["agent_id"])) == 483
    for one in trace:
        assert one.boundaries is not None
        assert one.token_blocks is not None
        assert one.prompt_tokens is not None
        assert len(one.token_blocks) == one.prompt_tokens // 64
        assert one.boundaries.tokens == sorted(set(one.boundaries.tokens))
        numbers = np.array(one.boundaries.tokens) // 64 - 1
        assert one.token_blocks[numbers].tolist() == one.boundaries.hashes


def records(dump: Path, path: Path) -> Path:
    """The JSON Lines of a raw session that TraceLab dumped with separators between them."""
    _, *texts = re.split(r"^===== record \d+ =====\n", dump.read_text(), flags=re.MULTILINE)
    path.write_text("".join(json.dumps(json.loads(text)) + "\n" for text in texts))
    return path


def sums(trace: Trace) -> tuple[int, ...]:
    """fresh, read, written, output."""
    classes = ("cache_write_5m", "cache_write_30m", "cache_write_1h", "cache_write_unknown")
    rows = [
        (seen.fresh, seen.cache_read, sum(getattr(seen, name) for name in classes), seen.output)
        for seen in (one.observed for one in trace)
        if seen is not None
    ]
    return tuple(sum(column) for column in zip(*rows, strict=True))


def test_tracelabs_claude_session_is_billed_to_the_token(
    shared: Path, tmp_path: Path, import_all: ImportAll
) -> None:
    dump = found(shared / "traces" / "tracelab" / "claude_trace.json")
    trace, summary = import_all(records(dump, tmp_path / "s.jsonl"))
    assert (summary.rows, summary.warnings, summary.skipped) == (10, [], [])
    assert sums(trace) == (3_039, 394_068, 21_086, 9_423)
    requests = list(trace)
    assert sum(one.prompt_tokens or 0 for one in requests) == 418_193
    assert sum(one.tokens for one in requests[-1].blocks or ()) == requests[-1].prompt_tokens


def test_tracelabs_codex_session_sums_to_its_last_total(
    shared: Path, tmp_path: Path, import_all: ImportAll
) -> None:
    dump = found(shared / "traces" / "tracelab" / "codex_trace.json")
    trace, summary = import_all(records(dump, tmp_path / "s.jsonl"))
    assert (summary.rows, summary.evidence, summary.models) == (9, "blocks", ["gpt-5.4"])
    # its last total_token_usage: 95,819 in, 79,488 of them cached, 1,912 out
    assert sums(trace) == (95_819 - 79_488, 79_488, 0, 1_912)


@pytest.mark.parametrize(
    ("name", "rows", "classes"),
    [
        ("ccusage_alpha_chat", 3, (600, 70, 75, 250)),
        ("ccusage_beta_chat", 2, (130, 40, 15, 60)),
        ("ccusage_codex_session-alpha", 2, (2_750, 750, 0, 425)),
        ("claude-code-log_edge_cases", 4, (488, 0, 0, 435)),
        ("claude-code-log_representative_messages", 5, (218, 0, 0, 445)),
        ("claude-code-log_session_b", 1, (20, 0, 0, 35)),
        ("claude-code-log_todowrite_examples", 6, (883, 0, 0, 328)),
    ],
)
def test_fixtures_of_other_tools_are_read_to_the_token(
    shared: Path, import_all: ImportAll, name: str, rows: int, classes: tuple[int, ...]
) -> None:
    path = found(shared / "traces" / "claude-code" / f"{name}.jsonl")
    trace, summary = import_all(path, skip_bad=True)
    assert (summary.rows, sums(trace)) == (rows, classes)
