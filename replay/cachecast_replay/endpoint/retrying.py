"""Which failures are worth another try, and how long to wait before it."""

import email.utils
from dataclasses import dataclass
from datetime import datetime

RETRIED_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
LONGEST_WAIT_S = 60.0
_FIRST_WAIT_S = 0.5


class RequestFailed(Exception):
    """One try of a request that gave no answer.

    `status` is the HTTP status where there was one, `again` whether another try may do better,
    `after_s` the wait that the server asked for.
    """

    def __init__(
        self, message: str, *, status: int | None = None, again: bool = False,
        after_s: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.status = status
        self.again = again
        self.after_s = after_s


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `retries` tries after the first."""

    retries: int

    def wait_s(self, done: int, failed: RequestFailed) -> float | None:
        """Seconds before the next try after `done` retries; None to give up.

        What the server asks for (Retry-After), else 0.5, 1, 2 … s. A wait of more than a minute
        is not cut short: the request has failed.
        """
        if not failed.again or done >= self.retries:
            return None
        asked = _FIRST_WAIT_S * 2**done if failed.after_s is None else failed.after_s
        return asked if asked <= LONGEST_WAIT_S else None


def retry_after_s(header: str | None, now: datetime) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or a date; None if it is neither."""
    if header is None:
        return None
    text = header.strip()
    if text.replace(".", "", 1).isdecimal() and text.isascii():
        return float(text)
    try:
        return max(0.0, (email.utils.parsedate_to_datetime(text) - now).total_seconds())
    except (TypeError, ValueError):
        return None
