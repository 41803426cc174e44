"""Small tables that break their lines where a screen is narrow, instead of hiding a column."""

from collections.abc import Collection, Sequence
from html import escape

_TABLE = "width:100%;border-collapse:collapse;font-size:.87rem"
_CELL = "padding:.35rem .45rem;border:1px solid rgba(128,128,128,.25);vertical-align:top;"
_NUMBER = "text-align:right;white-space:pre"
_WORDS = "text-align:left;white-space:pre-line;overflow-wrap:anywhere;min-width:7.5rem"
_HEAD = ";white-space:normal;font-weight:400;opacity:.75"


def as_html(rows: Sequence[dict[str, object]], words: Collection[str]) -> str:
    """A table of the rows, whose keys name the columns. `words` are columns of text: they take
    the room that is left; the others are numbers. All cells are text, never markup; a line may end
    in them."""
    names = list(rows[0])
    styles = {name: _CELL + (_WORDS if name in words else _NUMBER) for name in names}
    heads = "".join(f'<th style="{styles[name]}{_HEAD}">{escape(name)}</th>' for name in names)
    lines = (
        "".join(f'<td style="{styles[name]}">{escape(str(row[name]))}</td>' for name in names)
        for row in rows
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f'<div style="overflow-x:auto"><table style="{_TABLE}"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
