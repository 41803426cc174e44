"""One session: its prefix ribbon, and what is known of one of its requests."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from cachecast.dashboard import misses_numbers, wording
from cachecast.dashboard import ribbon_numbers as numbers
from cachecast.dashboard.page import Page
from cachecast.dashboard.passages import as_html
from cachecast.dashboard.questions.texts import TEXTS
from cachecast.dashboard.ribbon_file import session_rows
from cachecast.dashboard.states import when_done
from cachecast.dashboard.work import Answer
from cachecast_pricing.money import to_decimal

Row = dict[str, Any]


def show(page: Page, why: Answer, session: Answer) -> None:
    """Draw it. `session` is one of `why --json`'s."""
    rows = _agent(session_rows(Path(why["path"]), session["session"]))
    currency = misses_numbers.currency_of(why)
    with st.container(border=True):
        st.markdown(f"**{wording.plain(_title(session, currency))}**")
        st.caption(
            "Each bar is a prompt from its first token to its last, cut where its content blocks "
            "end. A diamond stands where it parts from the prompt that it continues. Click a bar "
            "to see why it missed."
        )
        drawn = _page(rows, currency, session["session"])
        _ribbon(rows, drawn, currency, session["session"])
    _request(page, rows, drawn, currency, session["session"])


def _title(session: Answer, currency: str | None) -> str:
    name = misses_numbers.session_name(session["session"])
    said = wording.counted(session["requests"], "request")
    if currency is None or session["avoidable_cost"] is None:
        return f"{name}: {said}"
    lost = wording.money(session["avoidable_cost"], currency)
    return f"{name}: {said}, {lost} lost of {wording.money(session['charge'], currency)}"


def _agent(rows: list[Row]) -> list[Row]:
    """The requests of one agent, where the session has several and the person wants one."""
    agents = list(dict.fromkeys(row["agent_id"] for row in rows))
    if len(agents) < 2:
        return rows
    chosen = st.selectbox(
        "Requests of", ["all", *agents], width=360, key=f"agent of {rows[0]['session_id']}",
        persist_state="session",
        format_func=lambda agent: "every agent" if agent == "all" else numbers.agent_name(agent),
    )  # fmt: skip
    return rows if chosen == "all" else [row for row in rows if row["agent_id"] == chosen]


def _page(rows: Sequence[Row], currency: str | None, session: str | None) -> tuple[int, int]:
    """The requests to draw; at first those around the one that lost most."""
    found = numbers.pages(rows)
    if len(found) == 1:
        return found[0]
    first = numbers.dearest(rows) // numbers.PAGE
    chosen = st.selectbox(
        "Requests", found, index=first, width=280, key=f"requests of {session} {len(rows)}",
        persist_state="session",
        format_func=lambda page: numbers.page_label(rows, page, currency),
    )  # fmt: skip
    return chosen or found[0]


def _ribbon(
    rows: Sequence[Row], drawn: tuple[int, int], currency: str | None, session: str | None
) -> None:
    from cachecast.dashboard.charts.ribbon import PICKED, ribbon

    chart = ribbon(numbers.segments(rows, drawn), numbers.notes(rows, drawn, currency))
    key = f"ribbon of {session} {drawn} {len(rows)}"
    missed = _missed(rows, drawn)

    def pick() -> None:
        """Let the request that was clicked be the one below, if it missed anything."""
        for point in st.session_state[key].selection.get(PICKED, ()):
            if point["n"] - 1 in missed:
                st.session_state[_request_key(session, drawn)] = point["n"] - 1

    st.altair_chart(
        chart, width="stretch", alt="Prefix ribbon: prompt tokens by class", key=key,
        on_select=pick, selection_mode=PICKED,
    )  # fmt: skip


def _missed(rows: Sequence[Row], drawn: tuple[int, int]) -> list[int]:
    return [number for number in range(*drawn) if rows[number]["reason"] is not None]


def _request_key(session: str | None, drawn: tuple[int, int]) -> str:
    return f"request of {session} {drawn}"


def _request(
    page: Page, rows: Sequence[Row], drawn: tuple[int, int], currency: str | None,
    session: str | None,
) -> None:  # fmt: skip
    """What is known of one request that missed."""
    missed = _missed(rows, drawn)
    if not missed:
        st.caption("Each of these requests read all that was stored for it.")
        return
    first = numbers.dearest([rows[number] for number in missed])
    labels = {note["n"] - 1: note["label"] for note in numbers.notes(rows, drawn, currency)}
    chosen = st.selectbox(
        "A request that missed", missed, index=first, key=_request_key(session, drawn),
        persist_state="session",
        format_func=lambda number: f"{number + 1}: {labels[number]}",
    )  # fmt: skip
    row = rows[missed[first] if chosen is None else chosen]
    with st.container(border=True):
        _facts(row, currency)
        _text(page, row)


def _facts(row: Row, currency: str | None) -> None:
    finding = row["finding"] or {}
    st.markdown(f"**{wording.plain(row['request_id'])}: {wording.plain(numbers.cause(row))}**")
    open_ = numbers.candidates(row)
    if open_:
        st.markdown(f"Not decided by the evidence: {wording.plain(open_)}.")
    told = [wording.plain(sentence) for sentence in numbers.told(finding)]
    if told:
        st.markdown(" · ".join(told))
    misses = zip(row["miss_reasons"], row["miss_tokens"], row["miss_costs"], strict=True)
    st.table(
        [
            {
                "not read because": wording.words(reason),
                "tokens": wording.tokens(tokens),
                "cost above the read price": (
                    wording.money_md(None if cost is None else to_decimal(cost), row["currency"])
                ),
            }
            for reason, tokens, cost in misses
        ]
    )


def _text(page: Page, row: Row) -> None:
    """The characters at which the prompts part; only once the person asked for them."""
    if page.opened.facts["evidence"] != "text":
        st.caption("This log has no text of prompts: only hashes and sizes were compared.")
        return
    wanted = st.toggle(
        "Show the text where the prompts part", value=False, key="show text",
        help="Reads the log again with its text. It is shown here and kept in memory only.",
    )  # fmt: skip
    if wanted:
        work = page.ask(TEXTS, page.scenario)
        when_done(work, TEXTS.doing, partial(_passages, row))


def _passages(row: Row, texts: Answer) -> None:
    found = texts["requests"]
    if found is None:
        st.info(
            "No text lies beside this Parquet. Make it anew with cachecast import --keep-text, or "
            "open the log that it was made from."
        )
        return
    passages = found.get(row["request_id"], {}).get("passages") or []
    if not passages:
        st.caption("The text of these two prompts does not differ, or nothing was compared.")
    for passage in passages:
        place = f"{wording.words(passage['cause'])}: {passage['section']} block {passage['block']}"
        if passage["offset"] is not None:
            place += f", character {wording.tokens(passage['offset'])}"
        st.markdown(f"**{wording.plain(place)}**")
        if passage["before"] is None:
            st.html(as_html(passage, "after"))
            continue
        for column, side, name in zip(
            st.columns(2), ("before", "after"), ("before", "now"), strict=True
        ):
            column.caption(name)
            column.html(as_html(passage, side))
