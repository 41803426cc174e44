"""Parts of the page: the result, the scenarios side by side, the search, the export."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import streamlit as st

from cachecast.dashboard import wording
from cachecast.dashboard.html_table import as_html
from cachecast.dashboard.page import Page
from cachecast.dashboard.questions.optimum import OPTIMUM, change_of
from cachecast.dashboard.questions.what_if import change_text
from cachecast.dashboard.states import when_done
from cachecast.dashboard.tile import Tile
from cachecast.dashboard.what_if import export, numbers, state, waterfalls
from cachecast.dashboard.what_if.choices import scenario_with
from cachecast.dashboard.what_if.draft import Draft, draft_of
from cachecast.dashboard.what_if.kept import Kept, keep
from cachecast.dashboard.work import Answer

Shown = tuple[Kept, Answer]  # a scenario with its answer
_SEARCHED = "policy searched for"
BEST = "Best policy"


def result(answer: Answer) -> None:
    """The large numbers, the way from today's bill, and who pays more."""
    tiles = numbers.tiles(answer)
    with st.container(key="tiles-what-if"):
        for column, tile in zip(st.columns(len(tiles)), tiles, strict=True):
            column.metric(
                tile.label, tile.value, tile.delta, delta_color=_colour(tile), border=True,
                delta_arrow="off" if tile.delta == numbers.UNCHANGED else "auto",
                height="stretch", help=tile.help,
            )  # fmt: skip
    for sentence in numbers.warnings(answer):
        st.warning(wording.plain(sentence), icon=":material/info:")
    if numbers.changed(answer) is None:
        st.caption("This is the log as it is. Move a control to see what it changes.")
        return
    _charts(answer)


def _colour(tile: Tile) -> Literal["off", "inverse", "normal"]:
    if tile.less_is_good is None or tile.delta == numbers.UNCHANGED:
        return "off"
    return "inverse" if tile.less_is_good else "normal"


def _charts(answer: Answer) -> None:
    from cachecast.dashboard.charts import what_if as charts  # after the numbers are on screen

    steps, sides = waterfalls.waterfall(answer), numbers.sessions(answer)
    if steps:
        currency = answer["baseline"]["charge"]["currency"]
        with st.container(border=True):
            st.markdown("**From today's bill to this one**")
            alt = "Waterfall of the charge by class"
            st.altair_chart(charts.waterfall(steps, currency), width="stretch", alt=alt)
    if sides:
        with st.container(border=True):
            st.markdown("**Who wins and who loses**")
            st.altair_chart(charts.who_pays(sides), width="stretch", alt="Sessions by change")
            st.html(_legend(sides))


def _legend(sides: Sequence[numbers.Row]) -> str:
    """The counts with the colours of their parts of the bar; words and numbers of ours only."""
    from cachecast.dashboard.charts.what_if import SIDES

    named = (f'<span style="color:{SIDES[s["side"]]}">■</span> {s["text"]}' for s in sides)
    return f"<small>Sessions that {' &nbsp; '.join(named)}</small>"


def change_by_change(steps: Sequence[str], answers: Sequence[Answer]) -> None:
    """The way from today's bill to the scenario's, a bar for each change."""
    from cachecast.dashboard.charts.what_if import changes

    rows = waterfalls.by_change(steps, answers)
    if not rows:
        return
    with st.container(border=True):
        st.markdown("**Change by change**")
        currency = answers[0]["baseline"]["charge"]["currency"]
        alt = "Waterfall of the charge by change"
        st.altair_chart(changes(rows, currency), width="stretch", alt=alt)
        st.caption(
            "Each on top of those above it: in another order they share the money otherwise."
        )


def compare(shown: Sequence[Shown]) -> None:
    """All scenarios side by side: bars of money, and a table."""
    from cachecast.dashboard.charts.what_if import side_by_side

    bars = numbers.charges_by_class([(one.name, answer) for one, answer in shown])
    if bars and len(shown) > 1:
        currency = shown[0][1]["baseline"]["charge"]["currency"]
        alt = "Charge of each scenario by class"
        st.altair_chart(side_by_side(bars, currency), width="stretch", alt=alt)
    st.html(as_html(numbers.table(rows(shown)), ("Scenario",)))


def rows(shown: Sequence[Shown]) -> list[numbers.Row]:
    """Raw numbers of all scenarios."""
    return [numbers.row_of(one.name, one.change, answer) for one, answer in shown]


def search(page: Page, draft: Draft) -> None:
    """The best policy of markers and pings, to be found and taken over."""
    asked = scenario_with(page.scenario, draft.model)
    st.caption(
        "Judges every policy of up to four markers, 5m or 1h each, with and without keep-alive "
        "pings, over the whole log. It takes up to a minute on large logs."
    )
    if st.button("Find the best policy", icon=":material/search:"):
        st.session_state[_SEARCHED] = asked
    if st.session_state.get(_SEARCHED) == asked:
        work = page.ask(OPTIMUM, asked)
        best = partial(best_draft, scenario=page.scenario, model=draft.model)
        when_done(work, OPTIMUM.doing, partial(_optimum, best), patience_s=0.5)


def _optimum(draft_for: Callable[[Answer], Draft], found: Answer) -> None:
    currency = found["charge"]["currency"]
    with st.container(border=True):
        saved = wording.money_md(found["saving"], currency)
        left = wording.money_md(found["left_to_bound"], currency)
        st.markdown(
            f"**The best of {wording.tokens(found['candidates'])} policies** saves {saved} against "
            f"the log's own and is {left} above the clairvoyant bound."
        )
        for sentence in found["instructions"]:
            st.markdown(f"- {wording.plain(sentence)}")
        best = draft_for(found)
        if st.button("Take it over as a scenario", icon=":material/check:", type="primary"):
            state.take_over(best)
            state.hold_kept(keep(state.kept(), BEST, best.text))
            st.rerun()


def best_draft(found: Answer, scenario: str, model: str | None) -> Draft:
    """The policy that a search under a scenario found, as the controls hold it."""
    policy = found["policy"]
    head = "" if model is None else f"model={model},"
    return draft_of(head + change_of(policy["mark"], policy["keep_alive"], scenario))


def fine_print(page: Page, shown: Sequence[Shown], query: str) -> None:
    """Assumptions, files, the link and the command."""
    st.subheader("Take it with you")
    table = rows(shown)
    with st.container(horizontal=True, gap="small"):
        icon = ":material/download:"
        st.download_button(
            "CSV", export.as_csv(table), "what-if.csv", "text/csv", icon=icon, on_click="ignore"
        )
        st.download_button(
            "Parquet", export.as_parquet(table), "what-if.parquet", on_click="ignore",
            mime="application/vnd.apache.parquet", icon=icon,
        )  # fmt: skip
    changes = [change_text(one.change, page.answers.folder) for one, _ in shown if one.change]
    if changes:
        st.caption("The same numbers on the command line")
        command = export.command(page.opened.source, page.scenario, changes)
        st.code(command, language="sh", wrap_lines=True)
    st.caption("A link to this page. It names the log by a hash and holds no text of a prompt.")
    st.code(f"{st.context.url or ''}?{query}", language=None, wrap_lines=True)
    with st.expander("What these numbers take for granted", expanded=False):
        for one, answer in shown:
            st.markdown(f"**{wording.plain(one.name)}**")
            for sentence in numbers.assumptions(answer):
                st.markdown(f"- {wording.plain(sentence)}")
