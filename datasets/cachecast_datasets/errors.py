"""Bad input, said in one sentence.

Every exception here takes one finished message (SimPy re-makes exceptions from `args`), and the
command line prints it and leaves with exit code 2.
"""


class BadInput(Exception):
    """The person's input cannot be used; the message names place, value and what is accepted."""


class LogError(BadInput):
    """A request log breaks its format; the message starts with the file and the line or row."""


class EvidenceError(BadInput):
    """A command needs evidence that this log does not carry."""


def at(source: str, line: int | None, problem: str) -> LogError:
    """A LogError that names its place: `FILE line N: problem` (or `FILE: problem`)."""
    place = source if line is None else f"{source} line {line}"
    return LogError(f"{place}: {problem}")
