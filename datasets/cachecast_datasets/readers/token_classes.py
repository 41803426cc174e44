"""Which tokens a source's "input" contains, decided by the row's own numbers; nothing is clamped.

inclusive: read and written tokens are part of the input (fresh = input - read - written).
additive: they stand beside it (prompt = input + read + written); disjoint buckets are the same.
The source's own convention holds, unless its numbers contradict it and only the other one fits.
"""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import msgspec

from cachecast_datasets.request import Observed, Request

Convention = Literal["inclusive", "additive"]
CONVENTIONS: tuple[Convention, ...] = ("inclusive", "additive")


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of one row, None = unknown; `output` includes reasoning.

    `write` are written tokens whose lifetime the source does not tell, beside `m5`, `m30`, `h1`.
    """

    input: int | None
    read: int | None
    output: int | None
    write: int | None = 0
    m5: int = 0
    m30: int = 0
    h1: int = 0
    total: int | None = None
    reasoning: int | None = None

    @property
    def cached(self) -> int:
        """Read and written tokens, as far as known."""
        return (self.read or 0) + (self.write or 0) + self.m5 + self.m30 + self.h1

    def prompt(self, convention: Convention) -> int:
        """All prompt tokens, as far as known."""
        if convention == "inclusive" and self.input is not None:
            return self.input
        return (self.input or 0) + self.cached

    def fresh(self, convention: Convention) -> int:
        """Fresh tokens; negative where the convention cannot be true."""
        return self.prompt(convention) - self.cached

    def fits_total(self, convention: Convention) -> bool:
        """Whether the stated total, if there is one, is prompt + output."""
        if None in (self.total, self.input, self.output):
            return True
        if convention == "additive" and None in (self.read, self.write):
            return True
        return self.total == self.prompt(convention) + (self.output or 0)


class Classes(NamedTuple):
    """What a row reported in disjoint classes, its whole prompt if known, and what was decided."""

    observed: Observed
    prompt_tokens: int | None
    convention: Convention
    surprising: bool  # the convention is not the source's own


def classes(counts: Counts, own: Convention, raw: Any = None) -> Classes:
    """The row's classes under the convention that its numbers allow.

    Raises ValueError, with the numbers, where neither convention fits.
    """
    other: Convention = "additive" if own == "inclusive" else "inclusive"
    counts = _with_output(counts)
    if (counts.reasoning or 0) > (counts.output if counts.output is not None else 10**15):
        raise ValueError(
            f"reasoning is {counts.reasoning}, expected at most the {counts.output} output tokens "
            "it is in"
        )
    convention = own
    if counts.fresh(own) < 0 or not counts.fits_total(own):
        fits = counts.fresh(other) >= 0 and counts.fits_total(other)
        if not fits and (counts.fresh(own) >= 0 or counts.fresh(other) < 0):
            raise ValueError(f"the usage does not add up, expected sums: {_numbers(counts)}")
        convention = other
    known = counts.input is not None and None not in (counts.read, counts.write)
    inclusive = convention == "inclusive"
    observed = Observed(
        fresh=counts.fresh(convention)
        if known or (counts.input is not None and not inclusive)
        else None,
        cache_read=counts.read,
        cache_write_5m=_write(counts.m5, counts),
        cache_write_30m=_write(counts.m30, counts),
        cache_write_1h=_write(counts.h1, counts),
        cache_write_12h=_write(0, counts),
        cache_write_unknown=counts.write,
        output=counts.output,
        output_reasoning=counts.reasoning,
        raw_json=None if raw is None else msgspec.json.encode(raw).decode(),
    )
    whole = known or (inclusive and counts.input is not None)
    return Classes(
        observed, counts.prompt(convention) if whole else None, convention, convention != own
    )


def nothing() -> Observed:
    """A request that no provider saw: every class is zero, and so is the cost."""
    zero = dict.fromkeys(("fresh", "cache_read", "cache_write_5m", "cache_write_30m"), 0)
    more = dict.fromkeys(("cache_write_1h", "cache_write_12h", "cache_write_unknown", "output"), 0)
    return Observed(**zero, **more)  # type: ignore[arg-type]


def paid(seen: Observed, cost: Decimal | None, kind: str) -> Observed:
    """`seen` with what the source says it cost, in US dollars; unchanged where it says nothing."""
    if cost is None:
        return seen
    return seen._replace(cost=cost, currency="USD", cost_kind=kind)


def report(request: Request, found: Classes) -> None:
    """Put the classes, the prompt's size and the output on a request."""
    request.observed = found.observed
    request.prompt_tokens = found.prompt_tokens
    request.output_tokens = found.observed.output


def _write(tokens: int, counts: Counts) -> int | None:
    """A stated lifetime; unknown where the source does not know its writes at all."""
    return None if counts.write is None and not tokens else tokens


def _with_output(counts: Counts) -> Counts:
    """An output that is null follows from the total, where nothing was cached."""
    if counts.output is not None or counts.total is None or counts.input is None:
        return counts
    output = counts.total - counts.input
    if output < 0 or counts.cached or None in (counts.read, counts.write):
        return counts
    return replace(counts, output=output)


def _numbers(counts: Counts) -> str:
    stated = {
        "input": counts.input, "cache read": counts.read,
        "cache written": counts.cached - (counts.read or 0), "output": counts.output,
        "total": counts.total,
    }  # fmt: skip
    numbers = ", ".join(f"{name} {count}" for name, count in stated.items() if count is not None)
    made = "; ".join(
        f"{name} means {counts.prompt(name)} prompt tokens with {counts.fresh(name)} fresh"
        for name in CONVENTIONS
    )
    return f"{numbers}; {made}"
