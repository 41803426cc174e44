"""The sessions of a log, those that lost most first: a table to search, and to choose one from."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from cachecast.dashboard import address, wording
from cachecast.dashboard import misses_numbers as numbers
from cachecast.dashboard.states import empty
from cachecast.dashboard.work import Answer

_MOST = 1_000  # rows of the table; search finds the others
_HEIGHT = 260
_HEAD, _ROW = 34, 33  # pixels, at our font size, of Streamlit's table
_CLICKED, _TABLES = "session clicked", "tables of sessions drawn"  # in the session
_MEANING = {
    "avoidable": "Lost to avoidable misses: what they cost above the read price",
    "all misses": "What all misses cost above the read price",
    "share": "All misses, of the session's charge",
    "tokens": "Prompt tokens that were not read",
}


def choose(why: Answer) -> Answer | None:
    """The session that the person chose, as `why --json` has it; None if none missed anything."""
    rows = numbers.sessions(why)
    if not rows:
        empty("Nothing was missed", "No session has a miss to look into.", ":material/check:")
        return None
    _say_if_the_link_names_another(rows)
    wanted = st.text_input(
        "Search sessions", placeholder="part of a session's id", icon=":material/search:",
        width=360, key="search sessions", persist_state="session",
    )  # fmt: skip
    found = numbers.searched(rows, wanted)
    if not found:
        empty("No such session", f"None of {len(rows):,} sessions has that in its id.")
        return None
    chosen = _in_url(found) or found[0]
    _table(found[:_MOST], numbers.currency_of(why), chosen, wanted)
    if len(found) > _MOST:
        st.caption(f"The first {_MOST:,} of {len(found):,} sessions; search for the others.")
    return chosen


def _say_if_the_link_names_another(rows: Sequence[Answer]) -> None:
    named = address.one("session")
    if named is not None and _in_url(rows) is None:
        name = wording.plain(numbers.session_name(named or None))
        st.info(f"The link names {name}, which missed nothing here: the first one is shown.")


def _in_url(rows: Sequence[Answer]) -> Answer | None:
    """The session that the URL names; None if it names none of this log."""
    named = address.one("session")
    if named is None:
        return None
    return next((row for row in rows if (row["session"] or "") == named), None)


def _table(rows: Sequence[Answer], currency: str | None, chosen: Answer, wanted: str) -> None:
    """Draw it; a click names the session in the URL, which alone says what is chosen: where that
    was changed by other means the table is a new one, with another row marked."""
    drawn: int = st.session_state.setdefault(_TABLES, 0)
    if st.session_state.setdefault(_CLICKED, chosen["session"]) != chosen["session"]:
        st.session_state[_CLICKED] = chosen["session"]
        st.session_state[_TABLES] = drawn = drawn + 1
    key = f"sessions {drawn} {wanted}"
    at = next((i for i, row in enumerate(rows) if row is chosen), None)
    st.dataframe(
        _styled(rows, currency),
        hide_index=True,
        column_config={
            name: st.column_config.Column(help=meaning) for name, meaning in _MEANING.items()
        },
        height=min(_HEIGHT, _HEAD + _ROW * len(rows) + 2),
        on_select=partial(_name_in_url, rows, key),
        selection_mode="single-row-required",
        selection_default={"selection": {"rows": [0 if at is None else at]}},
        key=key,
        alt="Sessions by money lost",
    )


def _name_in_url(rows: Sequence[Answer], key: str) -> None:
    picked = st.session_state[key].selection.rows
    if picked and picked[0] < len(rows):
        st.session_state[_CLICKED] = rows[picked[0]]["session"]
        address.put(session=rows[picked[0]]["session"] or "")


def _styled(rows: Sequence[Answer], currency: str | None) -> Any:
    """Numbers that sort as numbers and read as money."""
    columns: dict[str, list[Any]] = {
        "session": [numbers.session_name(row["session"]) for row in rows],
        "avoidable": [_number(row["avoidable_cost"]) for row in rows],
        "all misses": [_number(row["cost"]) for row in rows],
        "share": [row["share_of_charge"] for row in rows],
        "requests": [row["requests"] for row in rows],
        "tokens": [row["tokens"] for row in rows],
    }
    if currency is None:
        for name in ("avoidable", "all misses", "share"):
            del columns[name]
    frame = pd.DataFrame(columns)
    formats: dict[str, Any] = {
        "avoidable": lambda amount: _money(amount, currency),
        "all misses": lambda amount: _money(amount, currency),
        "share": lambda part: "–" if pd.isna(part) else wording.share(part),
        "requests": wording.tokens,
        "tokens": wording.tokens,
    }
    return frame.style.format({name: formats[name] for name in columns if name in formats})


def _number(amount: str | None) -> float | None:
    return None if amount is None else float(amount)


def _money(amount: float, currency: str | None) -> str:
    return "no price" if pd.isna(amount) else wording.money(f"{amount:.12f}", currency)
