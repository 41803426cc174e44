"""Sketch lines (design §3) played through the real reader, rules and world, one result a request.

first, second = play("claude-opus-5", line(0, *prompt), line(10, *prompt))
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachecast.scenarios import scenario_of
from cachecast_datasets.importing import open_or_import
from cachecast_pricing.catalog import load_catalog
from cachecast_pricing.usage import Usage
from cachecast_sim.billing import Billing
from cachecast_sim.ledger import LedgerRow
from cachecast_sim.totals import merged

Item = Sequence[Any]  # [section, name, tokens, marker, options]
Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """One request under one scenario. `misses` has the unread tokens by reason."""

    request_id: str
    status: str
    usage: Usage
    hit_tokens: int
    reason: str | None
    misses: Mapping[str, int]
    candidates: tuple[str, ...]
    charge: int | None
    low: int | None
    high: int | None

    @property
    def read(self) -> int:
        """Tokens billed as read."""
        return self.usage.cache_read

    @property
    def written(self) -> int:
        """Tokens billed as written, of whatever lifetime."""
        return self.usage.cache_write

    @property
    def split(self) -> tuple[int, int, int]:
        """(read, written, fresh)."""
        return self.usage.cache_read, self.usage.cache_write, self.usage.fresh


def line(at: float | str, *prompt: Item, **keys: Any) -> Line:
    """A sketch line of one account, session and model whose answer starts at once.

    Any key of the format may be given; None leaves `model`, `account` or `session` out.
    """
    base: Line = {"at": at, "ttft": 0, "account": "a", "session": "s", "model": "m"}
    given = {**base, **keys, "prompt": [list(item) for item in prompt]}
    return {k: v for k, v in given.items() if v is not None or k == "ttft"}


def play(scenario: str, *lines: Line) -> list[Result]:
    """The lines replayed under one `--as`, in the log's order."""
    return [_result(row) for row in rows(scenario, *lines)]


def rows(scenario: str, *lines: Line) -> list[LedgerRow]:
    """The ledger rows themselves."""
    catalog = load_catalog()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        log.write_text("".join(json.dumps(entry) + "\n" for entry in lines))
        trace = open_or_import([log], tmp_dir=Path(folder))
        billing = Billing(scenario_of(scenario, catalog), catalog, trace.meta)
        return list(billing.rows(trace.requests(columns=billing.columns())))


def last(scenario: str, *lines: Line) -> Result:
    """The result of the last line."""
    return play(scenario, *lines)[-1]


def reads(scenario: str, *lines: Line) -> list[int]:
    """The read tokens of every line."""
    return [result.read for result in play(scenario, *lines)]


def _result(row: LedgerRow) -> Result:
    outcome, paid = row.outcome, row.charge
    return Result(
        request_id=row.request.request_id,
        status=outcome.status,
        usage=row.usage,
        hit_tokens=outcome.hit_tokens,
        reason=outcome.explanation.reason,
        misses={reason: tokens for reason, tokens, _ in merged(row)},
        candidates=tuple(outcome.explanation.candidates),
        charge=None if paid is None else paid.total,
        low=None if paid is None else paid.low,
        high=None if paid is None else paid.high,
    )
