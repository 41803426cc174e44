"""What a bill can be broken down by."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from cachecast_datasets.errors import BadInput
from cachecast_sim.ledger import LedgerRow

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Key = Callable[[LedgerRow], str | bool | None]


def _hour(row: LedgerRow) -> str:
    at = _EPOCH + timedelta(microseconds=row.request.arrival_us)
    return at.strftime("%Y-%m-%dT%H:00Z")


def _day(row: LedgerRow) -> str:
    return (_EPOCH + timedelta(microseconds=row.request.arrival_us)).strftime("%Y-%m-%d")


def _priced_model(row: LedgerRow) -> str | None:
    return None if row.model is None else row.model.model


# Relative times count from 1970-01-01, as in the Parquet file.
GROUPS: dict[str, Key] = {
    "account": lambda row: row.request.account,
    "agent_id": lambda row: row.request.agent_id,
    "day": _day,
    "hour": _hour,
    "is_batch": lambda row: row.request.is_batch,
    "model": lambda row: row.request.model,
    "platform": lambda row: row.request.platform,
    "priced_model": _priced_model,
    "provider": lambda row: row.request.provider,
    "reason": lambda row: row.outcome.explanation.reason,
    "region": lambda row: row.request.region,
    "service_tier": lambda row: row.request.service_tier,
    "session_id": lambda row: row.request.session_id,
    "speed": lambda row: row.request.speed,
    "status": lambda row: row.outcome.status,
}


def keys_of(columns: str) -> list[tuple[str, Key]]:
    """The parsed `--by` list; BadInput names the known columns."""
    names = [name.strip() for name in columns.split(",") if name.strip()]
    for name in names:
        if name not in GROUPS:
            raise BadInput(f"--by {name}: unknown column; known: {', '.join(GROUPS)}")
    return [(name, GROUPS[name]) for name in names]
