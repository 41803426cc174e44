"""Which tokens an API's "input" contains: decided by the object's own numbers, never clamped.

additive: read and written tokens stand beside the input (prompt = input + read + written).
inclusive: they are part of it (fresh = input - read - written).
disjoint: additive buckets that may also split the output (Langfuse).
"""

from dataclasses import dataclass, replace

from cachecast_pricing.counts import UsageError, known_sum
from cachecast_pricing.usage import Usage
from cachecast_pricing.usage_reading import Semantics, UsageReading


@dataclass(frozen=True, slots=True)
class Writes:
    """Written tokens by lifetime; `null` if the source says that it does not know how many."""

    m5: int = 0
    m30: int = 0
    h1: int = 0
    h12: int = 0
    unknown: int = 0
    null: bool = False

    @property
    def total(self) -> int:
        """Written tokens of every lifetime."""
        return self.m5 + self.m30 + self.h1 + self.h12 + self.unknown


def writes_beside_split(aggregate: int | None, m5: int | None, h1: int | None) -> Writes:
    """Writes where an aggregate stands beside its lifetimes as their sum, a rest, or 0.

    Never added: the lifetimes alone where the aggregate is 0, else the larger of both.
    Rule: srtab/daiv#1159.
    """
    split = (m5 or 0) + (h1 or 0)
    if aggregate is None and not split:
        return Writes(null=True)
    return Writes(m5=m5 or 0, h1=h1 or 0, unknown=max(0, (aggregate or 0) - split))


@dataclass(frozen=True, slots=True)
class Parts:
    """The counts of one usage object, before it is decided what contains what; None is unknown.

    `output` includes reasoning; `more_output` if a part of it is unknown. `beside` are prompt
    tokens that stand beside the input in every convention (Gemini's tool-use prompt).
    """

    input: int | None
    read: int | None
    output: int | None
    writes: Writes = Writes()
    total: int | None = None
    beside: int = 0
    reasoning: int | None = None
    more_output: bool = False
    notes: tuple[str, ...] = ()

    def prompt(self, semantics: Semantics) -> int:
        """All prompt tokens under a convention, as far as known."""
        known = known_sum((self.input, self.beside))
        if semantics == "inclusive" and self.input is not None:
            return known
        return known + known_sum((self.read, self.writes.total))

    def fresh(self, semantics: Semantics) -> int:
        """Fresh tokens under a convention; negative where the convention cannot be true."""
        return self.prompt(semantics) - known_sum((self.read, self.writes.total))

    def fits_total(self, semantics: Semantics) -> bool:
        """Whether the stated total, if there is one, is prompt + output under a convention."""
        if self.total is None or self.input is None or self.output is None or self.more_output:
            return True
        if semantics != "inclusive" and (self.read is None or self.writes.null):
            return True
        return self.total == self.prompt(semantics) + self.output


def decide(parts: Parts, own: Semantics, others: tuple[Semantics, ...] = ()) -> UsageReading:
    """The reading under the provider's `own` convention, or the one other that the numbers prove.

    Raises UsageError, with the numbers, if none or several of the others fit.
    """
    parts = _with_output(parts)
    if parts.reasoning and parts.output is not None and parts.reasoning > parts.output:
        raise UsageError(
            f"reasoning is {parts.reasoning}, more than the {parts.output} output tokens it is in"
        )
    if parts.fresh(own) >= 0 and parts.fits_total(own):
        return _reading(parts, own, parts.notes)
    possible = [s for s in (own, *others) if parts.fresh(s) >= 0]
    fitting = [s for s in others if s in possible and parts.fits_total(s)]
    choice = fitting or [s for s in possible if len(possible) == 1]
    if len(choice) != 1 or choice[0] == own:
        raise UsageError(f"usage does not add up: {_numbers(parts, (own, *others))}")
    why = "input is smaller than the cached part" if parts.fresh(own) < 0 else "the total says so"
    notes = [f"read as {choice[0]}, although the API is {own}: {why}"]
    if not fitting:
        notes.append(f"total {parts.total} does not agree with it")
    return _reading(parts, choice[0], (*parts.notes, *notes))


def _with_output(parts: Parts) -> Parts:
    """An output that is null follows from the total, where input and total are stated."""
    if parts.output is not None or parts.total is None or parts.input is None:
        return parts
    output = parts.total - parts.prompt("inclusive")
    if output < 0 or parts.read is None or parts.read or parts.writes.total or parts.writes.null:
        return parts
    note = "output is null; it follows from the total"
    return replace(parts, output=output, notes=(*parts.notes, note))


def _reading(parts: Parts, semantics: Semantics, notes: tuple[str, ...]) -> UsageReading:
    unknown = {
        "fresh": parts.input is None,
        "cache_read": parts.read is None,
        "cache_write": parts.writes.null,
        "output": parts.output is None or parts.more_output,
    }
    writes = parts.writes
    usage = Usage(
        fresh=parts.fresh(semantics),
        cache_read=parts.read or 0,
        cache_write_5m=writes.m5,
        cache_write_30m=writes.m30,
        cache_write_1h=writes.h1,
        cache_write_12h=writes.h12,
        cache_write_unknown=writes.unknown,
        output=parts.output or 0,
    )
    return UsageReading(
        usage=usage,
        semantics=semantics,
        unknown=frozenset(name for name, is_unknown in unknown.items() if is_unknown),
        output_reasoning=parts.reasoning,
        notes=notes,
    )


def _numbers(parts: Parts, tried: tuple[Semantics, ...]) -> str:
    """All numbers of the object and what each convention makes of them."""
    stated = {
        "input": parts.input, "cache read": parts.read, "cache written": parts.writes.total,
        "tool use": parts.beside or None, "output": parts.output, "total": parts.total,
    }  # fmt: skip
    numbers = ", ".join(f"{name} {count}" for name, count in stated.items() if count is not None)
    made = []
    for semantics in tried:
        total = parts.prompt(semantics) + known_sum((parts.output,))
        fresh = parts.fresh(semantics)
        made.append(f"{semantics} means a total of {total} with {fresh} fresh")
    return f"{numbers}; {', '.join(made)}"
