"""Logs that know only token blocks: which positions there are, and what each family reads."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

RunCli = Callable[..., tuple[int, str, str]]
Replay = Callable[..., list[dict[str, Any]]]

B = 64
TOOLS, SYSTEM = 700, 900  # boundaries at 64 x 10 = 640 and 64 x 25 = 1,600


def call(at: float, ids: Sequence[int], extra: int = 10, **keys: Any) -> dict[str, Any]:
    """A call whose prompt is these blocks and `extra` tokens of a partial one."""
    return {
        "t": at, "type": "n", "model": "claude-opus-5", "in": len(ids) * B + extra, "out": 5,
        "hash_ids": list(ids),
    } | keys  # fmt: skip


def session(*calls: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {
        "id": "one", "block_size": B, "hash_id_scope": "local", "requests": list(calls),
        "tool_tokens": TOOLS, "system_tokens": SYSTEM,
    } | keys  # fmt: skip


@pytest.fixture
def replay(run_cli: RunCli, tmp_path: Path) -> Replay:
    """Per-request lines of one scenario over session files (or over the lines of a JSONL)."""

    def run(scenario: str, *documents: dict[str, Any] | list[dict[str, Any]]) -> Any:
        folder = tmp_path / "log"
        folder.mkdir(exist_ok=True)
        for n, document in enumerate(documents):
            path = folder / (f"{n}.jsonl" if isinstance(document, list) else f"{n}.json")
            rows = document if isinstance(document, list) else [document]
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        source = folder / "0.jsonl" if isinstance(documents[0], list) else folder
        code, out, err = run_cli("bill", source, "--as", scenario, "--per-request", "--json")
        assert code == 0, err
        return [json.loads(text) for text in out.splitlines()]

    return run


def reads(rows: list[dict[str, Any]]) -> list[int]:
    return [row["usage"]["cache_read"] for row in rows]


def told(row: dict[str, Any]) -> dict[str, int]:
    return {miss["reason"]: miss["tokens"] for miss in row["misses"]}


HUNDRED = range(100)  # 6,400 tokens
LONGER = range(120)  # the same and 1,280 more
SYSTEM_ONLY = [*range(25), *range(500, 560)]  # shares tools and system


def test_the_tail_after_the_last_whole_block_is_fresh_and_called_block_rounding(
    replay: Replay,
) -> None:
    (only,) = replay("claude-opus-5", session(call(0, HUNDRED)))
    usage = only["usage"]
    assert (usage["cache_read"], usage["cache_write_5m"], usage["fresh"]) == (0, 6400, 10)
    assert (only["reason"], told(only)) == (
        "cold_start",
        {"cold_start": 6400, "block_rounding": 10},
    )


def test_the_end_of_an_earlier_turn_is_read(replay: Replay) -> None:
    rows = replay("claude-opus-5", session(call(0, HUNDRED), call(100, LONGER)))
    assert reads(rows) == [0, 6400]
    assert told(rows[1]) == {"new_content": 20 * B, "block_rounding": 10}
    assert rows[1]["reason"] is None


POLICIES = [("", 1600), (",mark=auto", 1600), (",mark=system+last", 1600), (",mark=last", 0)]


@pytest.mark.parametrize(("policy", "read"), POLICIES)
def test_markers_are_on_the_system_and_the_end_unless_told_otherwise(
    policy: str, read: int, replay: Replay
) -> None:
    log = session(call(0, HUNDRED), call(100, SYSTEM_ONLY))
    assert reads(replay(f"claude-opus-5{policy}", log)) == [0, read]


def test_without_tool_and_system_counts_only_the_end_is_marked(replay: Replay) -> None:
    log = session(call(0, HUNDRED), call(100, SYSTEM_ONLY), call(200, LONGER))
    for key in ("tool_tokens", "system_tokens"):
        del log[key]
    assert reads(replay("claude-opus-5", log)) == [0, 0, 6400]


def test_mark_none_asks_for_nothing(replay: Replay) -> None:
    rows = replay("claude-opus-5,mark=none", session(call(0, HUNDRED), call(100, HUNDRED)))
    assert [row["reason"] for row in rows] == ["not_requested"] * 2


def test_a_whole_repeat_reads_everything_but_the_tail(replay: Replay) -> None:
    for scenario in ("claude-opus-5", "gpt-6-sol", "gpt-5.4", "deepseek-flash"):
        rows = replay(scenario, session(call(0, HUNDRED), call(100, HUNDRED)))
        assert reads(rows) == [0, 6400]
        assert (rows[1]["reason"], told(rows[1])) == (None, {"block_rounding": 10})


def test_local_ids_do_not_join_two_sessions(replay: Replay) -> None:
    one, two = session(call(0, HUNDRED)), session(call(100, HUNDRED), id="two")
    assert reads(replay("claude-opus-5", one, two)) == [0, 0]


@pytest.mark.parametrize("scenario", ["claude-opus-5", "gpt-6-sol", "gpt-5.4", "deepseek-flash"])
def test_two_models_of_a_session_do_not_start_to_share(scenario: str, replay: Replay) -> None:
    log = session(call(0, HUNDRED), call(100, HUNDRED, model="claude-haiku-4.5"))
    rows = replay(scenario, log)
    assert reads(rows) == [0, 0]
    assert rows[1]["reason"] == "model_changed"


@pytest.mark.parametrize(("added", "read"), [(18, 6400), (19, 0)])
def test_look_back_counts_content_blocks_where_the_log_tells_them(
    added: int, read: int, replay: Replay
) -> None:
    # the second turn adds the answer's one block and `added` of its own: 19 or 20 positions
    first = call(0, HUNDRED, input_types=["text"], output_types=["text"])
    second = call(100, LONGER, input_types=["text"] * added, output_types=["text"])
    assert reads(replay("claude-opus-5,mark=last", session(first, second))) == [0, read]


def test_look_back_is_off_and_named_where_it_cannot_be_counted(
    run_cli: RunCli, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    row = {"timestamp": 0, "input_length": 2048, "output_length": 5, "hash_ids": [1, 2, 3, 4]}
    log.write_text(json.dumps(row) + "\n")
    _, out, _ = run_cli("bill", log, "--as", "claude-opus-5", "--json")
    (found,) = json.loads(out)["scenarios"]
    assert any("look-back" in sentence for sentence in found["assumptions"])
    assert any("mark=auto" in sentence for sentence in found["assumptions"])


def test_openai_writes_at_the_end_only_and_finds_the_ends_of_the_session(replay: Replay) -> None:
    log = session(call(0, HUNDRED), call(100, SYSTEM_ONLY), call(200, LONGER))
    rows = replay("gpt-6-sol", log)
    assert reads(rows) == [0, 0, 6400]
    assert [row["usage"]["cache_write_30m"] for row in rows] == [6400, 85 * B, 20 * B]


@pytest.mark.parametrize(
    ("scenario", "blocks", "read"),
    [
        ("gpt-5.4", 25, 12 * 128),  # 1,600 shared
        ("gpt-5.4", 15, 0), ("gpt-5.4", 16, 1024),
        ("gpt-5.5", 31, 0), ("gpt-5.5", 32, 2048), ("gpt-5.5", 63, 2048),
        ("deepseek-flash,interval=1000", 50, 3000), ("deepseek-flash,unit=128", 51, 25 * 128),
    ],
)  # fmt: skip
def test_a_shared_run_of_blocks_is_read_at_the_family_s_steps(
    scenario: str, blocks: int, read: int, replay: Replay
) -> None:
    log = session(call(0, HUNDRED), call(100, [*range(blocks), *range(500, 560)]))
    assert reads(replay(scenario, log)) == [0, read]


def test_deepseek_reads_the_longest_common_run_from_the_third_request_on(replay: Replay) -> None:
    log = session(
        *(call(100 * n, [*range(50), *range(n * 1000, n * 1000 + 20)]) for n in (1, 2, 3))
    )
    rows = replay("deepseek-flash", log)
    assert reads(rows) == [0, 0, 50 * B]
    assert rows[1]["reason"] == "unit_incomplete"
    assert told(rows[1])["unit_incomplete"] == 50 * B


def test_br_106_two_mooncake_requests_share_6144_tokens(replay: Replay) -> None:
    def row(at_ms: int, length: int, ids: Sequence[int]) -> dict[str, Any]:
        return {"timestamp": at_ms, "input_length": length, "output_length": 9,
                "hash_ids": list(ids)}  # fmt: skip

    log = [row(0, 6955, range(14)), row(60_000, 6472, [*range(12), 100])]
    for scenario in ("gpt-5.4", "deepseek-flash,unit=512"):
        second = replay(scenario, log)[1]
        assert (second["usage"]["cache_read"], second["usage"]["fresh"]) == (6144, 328)


def test_mooncake_keeps_its_partial_last_block_so_there_is_no_tail(replay: Replay) -> None:
    row = {"timestamp": 0, "input_length": 1100, "output_length": 9, "hash_ids": [1, 2, 3]}
    rows = replay("claude-opus-5", [row, row | {"timestamp": 60_000}])
    assert reads(rows) == [0, 1100]
    assert rows[1]["misses"] == []


def test_a_sub_agent_has_its_own_system_end_in_the_scope_of_its_session(replay: Replay) -> None:
    # its tools and system are 960 tokens, 15 blocks; the session's are 25
    agent = {
        "t": 100, "type": "subagent", "agent_id": "g1", "tool_tokens": 320, "system_tokens": 640,
        "requests": [
            call(0, range(500, 600)),
            call(50, [*range(500, 515), *range(700, 720)]),
            call(60, HUNDRED),
        ],
    }  # fmt: skip
    log = session(call(0, HUNDRED), agent, call(200, LONGER))
    rows = replay("claude-opus-5", log)
    assert [row["request_id"] for row in rows] == [
        "one/1",
        "one/2.1",
        "one/2.2",
        "one/2.3",
        "one/3",
    ]
    assert reads(rows) == [0, 0, 15 * B, 6400, 6400]
