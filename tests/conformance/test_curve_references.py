"""Curves of the public traces against values that others computed from the definition."""

import subprocess
import sys
from pathlib import Path

import pytest

from cachecast.curve_job import Answer, Question, answer
from cachecast_datasets.importing import open_or_import


def answered(log: Path, tmp_path: Path) -> Answer:
    """The curves of a log in its own block size."""
    trace = open_or_import([log], tmp_dir=tmp_path)
    return answer(trace, log.name, Question(), lambda what, done, total: None)


@pytest.fixture(scope="module")
def conversation(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """12,031 requests in blocks of 512 tokens."""
    folder = tmp_path_factory.mktemp("conversation")
    return answered(shared / "traces" / "mooncake" / "conversation_trace.jsonl", folder)


@pytest.mark.parametrize(
    ("blocks", "ratio"),
    [
        (1_000, "0.0445"), (3_000, "0.0653"), (10_000, "0.2116"), (30_000, "0.3257"),
        (50_000, "0.3546"), (100_000, "0.3637"),
    ],
)  # fmt: skip
def test_the_conversation_trace_hits_its_reference_at_each_capacity(
    conversation: Answer, blocks: int, ratio: str
) -> None:
    assert f"{conversation.curves.at_capacity(blocks).blocks:.4f}" == ratio


@pytest.mark.parametrize(
    ("ttl_s", "ratio"), [(60, "0.1034"), (300, "0.2877"), (1_800, "0.3635"), (3_600, "0.3664")]
)
def test_the_conversation_trace_hits_its_reference_at_each_lifetime(
    conversation: Answer, ttl_s: int, ratio: str
) -> None:
    assert f"{conversation.curves.at_ttl(ttl_s * 1_000_000).blocks:.4f}" == ratio


def test_the_conversation_trace_has_its_reference_ideal(conversation: Answer) -> None:
    ideal = conversation.curves.ideal

    assert (f"{ideal.blocks:.4f}", f"{ideal.tokens:.4f}") == ("0.3664", "0.3736")
    assert conversation.curves.prompt_tokens == 144_793_823


@pytest.fixture(scope="module")
def sessions(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """514 sessions whose block ids are their own, so that each is cached alone."""
    folder = tmp_path_factory.mktemp("sessions")
    script = shared / "traces" / "kv-cache-tester" / "expand.py"
    subprocess.run([sys.executable, script, folder / "files"], check=True, capture_output=True)
    return answered(folder / "files", folder)


@pytest.mark.parametrize(
    ("ttl_s", "ratio"),
    [(60, "0.7757"), (300, "0.9131"), (1_800, "0.9525"), (3_600, "0.9592"), (10**9, "0.9613")],
)
def test_the_sessions_read_their_reference_share_at_each_lifetime(
    sessions: Answer, ttl_s: int, ratio: str
) -> None:
    assert f"{sessions.curves.at_ttl(ttl_s * 1_000_000).tokens:.4f}" == ratio


def test_the_merged_file_is_followed_block_by_block(shared: Path, tmp_path: Path) -> None:
    """6.35 million blocks; without a limit no block is missed but at its first use."""
    log = shared / "traces" / "kv-cache-tester" / "kvt_merged_dev.jsonl.gz"
    curves = answered(log, tmp_path).curves

    assert curves.total_blocks == 6_350_156
    assert curves.ideal.blocks == (curves.total_blocks - curves.unique_blocks) / curves.total_blocks
    assert curves.unchained == 0
