"""Changes of `cachecast whatif` worked through in numbers that a reader can redo by hand.

Prices, dollars a million tokens: Opus 5 writes for 6.25, reads for 0.50 and takes 5 for other input
and 25 for output; Sonnet 5 takes 2.50, 0.20, 2 and 10; GPT-6 Sol 2.50, 0.20, 2 and 10.
"""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rule_sketches import Item, Line, line

RunCli = Callable[..., tuple[int, str, str]]
WhatIf = Callable[..., tuple[dict[str, Any], dict[str, Any]]]
OPUS, SOL = "claude-opus-5", "gpt-6-sol"


@pytest.fixture
def what_if(run_cli: RunCli, tmp_path: Path) -> WhatIf:
    """(baseline, scenario) of one change in the JSON that `whatif` prints."""

    def asked(scenario: str, change: str, *lines: Line) -> tuple[dict[str, Any], dict[str, Any]]:
        log = tmp_path / "log.jsonl"
        log.write_text("".join(json.dumps(entry) + "\n" for entry in lines))
        code, out, err = run_cli("whatif", log, "--as", scenario, "--change", change, "--json")
        assert code == 0, err
        found = json.loads(out)
        (changed,) = found["scenarios"]
        return found["baseline"], changed

    return asked


def dollars(found: dict[str, Any]) -> Decimal:
    return Decimal(found["charge"]["total"])


def test_a_marker_at_the_end_of_every_request_reads_what_the_one_before_wrote(
    what_if: WhatIf,
) -> None:
    """1,100 tokens without a marker, then 1,250: no write, no read, all input at $5.

    With one on the last block the first writes 1,100; the second reads them and writes 150.
    """
    system: Item = ("system", "S", 1000)
    q, a, r = ("user", "Q", 100), ("assistant", "A", 50), ("user", "R", 100)
    baseline, changed = what_if(
        OPUS, "mark=last", line(0, system, q, output=0), line(10, system, q, a, r, output=0)
    )

    million = Decimal(1_000_000)
    assert dollars(baseline) == 2350 * Decimal("5") / million
    assert dollars(changed) == (1250 * Decimal("6.25") + 1100 * Decimal("0.5")) / million
    assert changed["delta"] == {"charge": "-0.0033875", "hit_tokens": 1100, "prefill_tokens": -1100}


def test_another_model_takes_its_own_prices_for_the_same_tokens(what_if: WhatIf) -> None:
    """A write and a read of 6,000 tokens and two answers of 10.

    Opus 5: 0.0375 + 0.003 + 20 x 0.000025; Sonnet 5: 0.015 + 0.0012 + 20 x 0.00001.
    """
    system: Item = ("system", "S", 6000, "5m")
    baseline, changed = what_if(
        OPUS, "model=claude-sonnet-5", line(0, system, output=10), line(10, system, output=10)
    )

    assert (dollars(baseline), dollars(changed)) == (Decimal("0.041"), Decimal("0.0164"))
    assert changed["delta"] == {"charge": "-0.0246", "hit_tokens": 0, "prefill_tokens": 0}


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize(
    ("change", "writes"),
    [("cache-key=session", 2), ("cache-key=account", 1), ("cache-key=none", 1)],
)
def test_keys_of_sessions_write_a_prompt_that_one_key_or_none_shares(
    what_if: WhatIf, change: str, writes: int, keyed: bool
) -> None:
    """Sessions s, t, s, t of one account send one prompt of 2,560 tokens.

    Under one key it is written once, under a key for each session twice; all others are read.
    Whatever keys the log has, the change replaces them.
    """
    prompt: list[Item] = [("system", "S", 2000), ("user", "Q", 560)]
    lines = [
        line(at, *prompt, session=name, output=0,
             settings={"prompt_cache_key": name} if keyed else {})
        for at, name in ((0, "s"), (10, "t"), (20, "s"), (30, "t"))
    ]  # fmt: skip
    baseline, changed = what_if(SOL, change, *lines)

    def cost(written: int) -> Decimal:
        return 2560 * (written * Decimal("2.5") + (4 - written) * Decimal("0.2")) / 1_000_000

    assert dollars(baseline) == cost(2 if keyed else 1)
    assert dollars(changed) == cost(writes)
    assert Decimal(changed["delta"]["charge"]) == cost(writes) - dollars(baseline)


FLEET = """
[fleet]
servers = 1
[engine]
blocks = 1000
max_batch_tokens = 2000
[latency]
kind = "linear"
step_base_s = 0.01
per_token_s = 0.00005
[cost]
gpu_hour = "3.60"
"""


def test_own_servers_predict_the_first_token_from_the_tokens_that_they_compute(
    what_if: WhatIf, tmp_path: Path
) -> None:
    """6,000 tokens are three steps: 3 x 0.01 + 6,000 x 0.00005 = 0.33 s.

    The repeat hits 374 blocks of 16 and computes the last one: 0.01 + 16 x 0.00005 = 0.0108 s. A
    GPU at $3.60 an hour is $0.001 a second, for the 20.0108 s until the last token.
    """
    own = tmp_path / "own.toml"
    own.write_text(FLEET)
    prompt: Item = ("system", "S", 6000, "5m")
    # one output token: the first token is the last
    lines = [line(at, prompt, output=1) for at in (0, 20)]
    baseline, changed = what_if(OPUS, f"fleet={own}", *lines)

    ttft = changed["ttft_s"]
    assert (ttft["mean"], ttft["p50"]) == (pytest.approx((0.33 + 0.0108) / 2),) * 2
    # between two values a quantile is on the line from one to the other
    assert ttft["p90"] == pytest.approx(0.0108 + 0.9 * (0.33 - 0.0108))
    assert changed["makespan_s"] == 20.0108
    assert dollars(changed) == Decimal("0.0200108")
    assert Decimal(changed["delta"]["charge"]) == Decimal("0.0200108") - dollars(baseline)
    assert changed["hit_tokens"] == 374 * 16
