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


# Columns of the log that a bill can be broken down by as they are.
COLUMNS: tuple[str, ...] = (
    "account", "agent_id", "attempt", "cache_mode", "is_batch", "is_sidechain", "model",
    "model_served", "parent_request_id", "platform", "provider", "region", "request_id",
    "response_id", "retry_of", "service_tier", "session_id", "speed",
)  # fmt: skip

# What is made for it. Relative times count from 1970-01-01, as in the Parquet file.
MADE: dict[str, Key] = {
    "day": _day,
    "hour": _hour,
    "priced_model": _priced_model,
    "reason": lambda row: row.outcome.explanation.reason,
    "status": lambda row: row.outcome.status,
}


def keys_of(columns: str) -> list[tuple[str, Key]]:
    """The parsed `--by` list; BadInput names the known columns."""
    names = [name.strip() for name in columns.split(",") if name.strip()]
    return [(name, _key(name)) for name in names]


def _key(name: str) -> Key:
    if name in MADE:
        return MADE[name]
    if name not in COLUMNS:
        known = ", ".join(sorted((*COLUMNS, *MADE)))
        raise BadInput(f"--by {name}: unknown column; known: {known}")

    def value(row: LedgerRow) -> str | bool | None:
        found: str | bool | None = getattr(row.request, name)
        return found

    return value
