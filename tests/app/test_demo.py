"""`cachecast demo` and the log that comes with it."""

import json
from collections.abc import Callable
from pathlib import Path

from cachecast.commands.demo import DRAW, LOG
from cachecast_datasets.packed import open_bytes

RunCli = Callable[..., tuple[int, str, str]]


def test_the_demos_log_is_the_draw_that_it_says_it_is(
    root: Path, tmp_path: Path, run_cli: RunCli
) -> None:
    """Line by line, whatever they compress to; `make docs` writes it anew."""
    drawn = tmp_path / "log.jsonl"
    assert run_cli("generate", *DRAW.split(), "-o", drawn)[0] == 0

    shipped = root / "app" / "cachecast" / LOG
    with open_bytes(shipped) as stream:
        assert stream.read() == drawn.read_bytes()
    assert shipped.stat().st_size < 100_000


def test_the_demo_shows_what_happens_in_real_life(run_cli: RunCli) -> None:
    code, out, _ = run_cli("demo", "--json")

    assert code == 0
    opus, hour, *_ = json.loads(out)["scenarios"]
    assert {
        "volatile_value", "tools_reordered", "tools_changed", "system_changed", "ttl_expired",
        "concurrent_with_writer", "below_minimum",
    } <= {miss["reason"] for miss in opus["misses"]}  # fmt: skip
    # no pause is longer than an hour, and here an hour costs more than it saves
    assert "ttl_expired" not in {miss["reason"] for miss in hour["misses"]}
    assert float(hour["charge"]["total"]) > float(opus["charge"]["total"])


def test_the_demo_says_how_to_make_its_log_and_what_was_counted_by_whom(run_cli: RunCli) -> None:
    _, _, err = run_cli("demo")

    assert f"cachecast generate {DRAW} -o LOG" in err
    assert "no prompt size reported: the blocks are an estimate" in err
