"""Bad input, said in one sentence.

Every exception here takes one finished message (SimPy re-makes exceptions from `args`), and the
command line prints it and leaves with exit code 2.
"""

from collections.abc import Callable


class BadInput(Exception):
    """The person's input cannot be used; the message names place, value and what is accepted."""


class LogError(BadInput):
    """A request log breaks its format; the message starts with the file and the line or row.

    `reason` is the kind of fault, under which `--skip-bad` counts it; `skippable` says that this
    option would have left it out.
    """

    reason = "unreadable"
    skippable = False


class RowError(LogError):
    """A bad row of a Parquet; a class of its own, since SimPy keeps the type and no attribute."""

    skippable = True


class EvidenceError(BadInput):
    """A command needs evidence that this log does not carry."""


class RequestFault(BadInput):
    """One request of a log cannot be used; the message names the request and not the file."""


class RequestLacks(RequestFault, EvidenceError):
    """The same for want of evidence."""


Bad = Callable[[LogError], None]  # what is told of a fault


def refuse(problem: LogError) -> None:
    """What to do with a bad row unless somebody asked to skip: stop."""
    raise problem


def at(source: str, line: int | None, problem: str, reason: str = "bad value") -> LogError:
    """A LogError that names its place: `FILE line N: problem` (or `FILE: problem`)."""
    return placed(source, "line", line, problem, reason)


def at_row(source: str, row: int | None, problem: str, reason: str = "bad value") -> LogError:
    """The same for Parquet: `FILE row N: problem`, rows counted from 1."""
    kind = LogError if row is None else RowError
    return placed(source, "row", row, problem, reason, kind)


def placed(
    source: str, unit: str, number: int | None, problem: str, reason: str,
    kind: type[LogError] = LogError,
) -> LogError:  # fmt: skip
    """`SOURCE UNIT NUMBER: problem`, or `SOURCE: problem` without a number."""
    place = source if number is None else f"{source} {unit} {number}"
    error = kind(f"{place}: {problem}")
    error.reason = reason
    return error
