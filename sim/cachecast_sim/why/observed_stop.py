"""What the log's own usage says of a request, where it read less than the rules would have it."""

from dataclasses import dataclass

from cachecast_pricing.usage import PROMPT_CLASSES
from cachecast_sim.ledger import LedgerRow
from cachecast_sim.observed_gap import Gap

_HIGHEST_MINIMUM = 4_096  # tokens; no provider's documented minimum is above it
_WRITES = tuple(name for name in PROMPT_CLASSES if name.startswith("cache_write"))


@dataclass(frozen=True, slots=True)
class Stop:
    """Where the provider stopped reading, as it reported.

    `stops_at` names the boundary that it read up to (`start`: it read nothing), None where it is
    none of the prompt's; `candidates` are what the counts alone can mean.
    """

    read: int
    predicted: int
    stops_at: str | None
    gaps: tuple[Gap, ...]
    candidates: tuple[str, ...]


def observed_stop(row: LedgerRow) -> Stop | None:
    """The stop of a row whose log tells less read tokens than predicted; None for any other."""
    seen, usage = row.request.observed, row.usage
    if seen is None or seen.cache_read is None or seen.cache_read >= usage.cache_read:
        return None
    return Stop(
        seen.cache_read,
        usage.cache_read,
        _boundary(row, seen.cache_read),
        tuple(row.gaps),
        _candidates(row),
    )


def _boundary(row: LedgerRow, tokens: int) -> str | None:
    if tokens == 0:
        return "start"
    found = row.request.boundaries
    if found is None or tokens not in found.tokens:
        return None
    return found.names[found.tokens.index(tokens)]


def _candidates(row: LedgerRow) -> tuple[str, ...]:
    """Neither read nor written: nothing was cached at all, or the provider did not keep it."""
    seen = row.request.observed
    assert seen is not None  # asked for a stop only where something was seen
    written = [getattr(seen, name) for name in _WRITES]
    if seen.cache_read or any(written):
        return ("provider_miss", "unknown")
    if None in written:
        return ("unknown",)
    small = row.usage.prompt_tokens < _HIGHEST_MINIMUM
    small_too = ("below_minimum",) if small else ()
    return ("not_requested", *small_too, "provider_miss")
