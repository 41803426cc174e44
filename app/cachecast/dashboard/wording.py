"""How numbers and other people's words are written on a page; amounts as the command line does."""

import datetime
import re
from decimal import Decimal

from cachecast import output

THIN = "\u202f"  # a thin space that does not break
_MARKUP = re.compile(r"([\\`*_{}\[\]()#!|<>~$:&^=]|^[-+]|(?<=^\d)[.](?= ))")
_BREAKS = re.compile(r"[ \t\n\r\f\v\x1c-\x1f\x85\u2028\u2029]+")  # our thin space is none
_SCALE = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


def plain(text: object) -> str:
    """Other people's text (names of files, ids) for a place that renders Markdown: no markup."""
    flat = _BREAKS.sub(" ", str(text)).strip()
    return _MARKUP.sub(r"\\\1", flat)


def money(amount: Decimal | str | None, currency: str | None) -> str:
    """`$4,671.34`, `$0.00412`, `no price`; never 0.00 for a real amount."""
    return output.money(amount, currency or "")


def money_md(amount: Decimal | str | None, currency: str | None) -> str:
    """The same where Markdown is rendered: a pair of dollars would become a formula."""
    return money(amount, currency).replace("$", "\\$")


def tokens(count: int | None) -> str:
    """`3 953 006 531` with thin spaces; `unknown` for None."""
    return output.tokens(count).replace(",", THIN)


def short_tokens(count: float | None) -> str:
    """`3.95 G`, `210 M`, `812`: three digits, for labels in charts."""
    if count is None:
        return "unknown"
    for size, unit in _SCALE:
        if abs(count) >= size:
            value = count / size
            digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
            return f"{value:.{digits}f}{THIN}{unit}"
    return f"{count:.0f}"


def counted(number: int, what: str) -> str:
    """`1 request`, `33 356 requests`."""
    return f"{tokens(number)} {what}{'' if number == 1 else 's'}"


def share(part: float | None) -> str:
    """`90.0 %`; `–` where there is nothing to divide by."""
    return output.share(part)


def part(of: float | Decimal | None) -> str:
    """A share that is something is never shown as nothing: `< 0.1 %`."""
    return (
        "< 0.1 %"
        if of is not None and 0 < of < 0.0005
        else share(None if of is None else float(of))
    )


def words(name: str) -> str:
    """`ttl_expired` as `ttl expired`."""
    return name.replace("_", " ")


def seconds(value: float | None) -> str:
    """A time span with the unit that fits: `0.82 s`, `12 min`, `3.1 h`, `2.4 days`."""
    if value is None:
        return "unknown"
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if abs(value) >= 2 * size:
            return f"{value / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{value:.3g} s"


def period(found: list[str] | list[float] | tuple[object, object] | None) -> str:
    """First to last arrival; of relative times the span alone."""
    if found is None:
        return "no requests"
    first, last = found
    if isinstance(first, str) and isinstance(last, str):
        return f"{_day(first)} to {_day(last)}"
    assert isinstance(first, int | float)
    assert isinstance(last, int | float)
    return f"{seconds(last - first)} in relative time"


def size(count: int) -> str:
    """Bytes with the unit that fits."""
    value = float(count)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def _day(text: str) -> str:
    return datetime.datetime.fromisoformat(text).strftime("%-d %b %Y, %H:%M UTC")
