"""The page What-if: a scenario in controls, its numbers against the log as it is, others kept."""

from collections.abc import Sequence

import streamlit as st

from cachecast.dashboard import address, wording
from cachecast.dashboard.page import Page
from cachecast.dashboard.questions.what_if import WHAT_IF
from cachecast.dashboard.states import refused, stop_with, when_done
from cachecast.dashboard.what_if import sections, state
from cachecast.dashboard.what_if.controls import controls
from cachecast.dashboard.what_if.draft import Draft, draft_of
from cachecast.dashboard.what_if.kept import MOST, Kept, keep, without
from cachecast.dashboard.what_if.numbers import AS_IT_IS, as_it_is
from cachecast.dashboard.work import Answer, Work

_PATIENCE_S = 2.5  # most answers are there by then: old numbers stay until the new ones come
# in the session
_ASKED = "what was asked last"
_NAME = "name of the scenario"
_NOW = "Now"


def show(page: Page) -> None:
    """Draw it: controls, result, scenarios side by side, search, export."""
    st.header("What-if")
    if page.opened.log is None:
        stop_with("No log is open", "A run holds no prompts to replay: open its request log.")
    draft = controls(page, state.draft())
    state.hold(draft)
    *before, work = _asked(page, draft)
    if when_done(work, WHAT_IF.doing, sections.result, patience_s=_PATIENCE_S) and before:
        _change_by_change(draft, [*before, work])
    st.subheader("Side by side")
    _keeping(draft)
    shown = _shown(page, draft)
    if shown:
        sections.compare(shown)
    st.subheader("The best policy")
    sections.search(page, draft)
    if shown:
        sections.fine_print(page, shown, address.query())


def _asked(page: Page, draft: Draft) -> list[Work]:
    """The works on the way to the controls' scenario, which is the last; what was asked before and
    is wanted no more ends."""
    work = _ask(page, draft.text)
    works = [*(_ask_behind(page, change) for change in draft.steps[:-1]), work]
    wanted = [*works, *(_ask_behind(page, one.change) for one in state.kept())]
    for before in st.session_state.get(_ASKED, ()):
        if not before.ended and before not in wanted:
            before.abandon()
    st.session_state[_ASKED] = works
    return works


def _ask(page: Page, change: str) -> Work:
    return page.ask(WHAT_IF, page.scenario, *([change] if change else []))


def _change_by_change(draft: Draft, works: Sequence[Work]) -> None:
    """What each of several changes adds to those before it, once all of them are replayed."""
    answers: list[Answer] = []
    for change, work in zip(draft.steps, works, strict=True):
        if not when_done(work, f"Replaying {wording.plain(change)}", answers.append):
            return
    sections.change_by_change(draft.steps, answers)


def _ask_behind(page: Page, change: str) -> Work:
    """For a kept scenario or a step on the way: what the controls ask goes first."""
    return page.ask(WHAT_IF, page.scenario, change, behind=True)


def _keeping(draft: Draft) -> None:
    """Keeping the scenario under a name; opening and removing kept ones."""
    kept = state.kept()
    unread = len(address.several("keep")) - len(kept)
    if unread > 0:
        what = wording.counted(unread, "kept scenario")
        st.info(f"{what} of this link cannot be shown: it holds {MOST} at most, as NAME~CHANGE.")
    if len(kept) == MOST:
        name = wording.plain(kept[0].name)
        st.caption(f"{MOST} scenarios are the most: the next one takes the place of {name}.")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            "Name of this scenario", placeholder=draft.text or AS_IT_IS, width=240, max_chars=40,
            key=_NAME, persist_state="session",
        )  # fmt: skip
        st.button(
            "Keep it", icon=":material/bookmark_add:", disabled=not draft.text, on_click=_keep,
            args=(draft.text,),
        )  # fmt: skip
        if not kept:
            return
        chosen = st.selectbox("Kept", [one.name for one in kept], width=240)
        change = next((one.change for one in kept if one.name == chosen), None)
        if st.button("Open", icon=":material/tune:") and change is not None:
            state.take_over(draft_of(change))
            st.rerun()
        if st.button("Remove", icon=":material/delete:") and chosen is not None:
            state.hold_kept(without(kept, chosen))
            st.rerun()


def _keep(change: str) -> None:
    """Keep it under the name that was typed, which the next one shall not have again."""
    state.hold_kept(keep(state.kept(), st.session_state[_NAME] or "", change))
    st.session_state[_NAME] = ""


def _shown(page: Page, draft: Draft) -> list[sections.Shown]:
    """The log as it is, the controls' scenario and the kept ones, as far as they are answered."""
    kept = state.kept()
    unkept = draft.text and draft.text not in [one.change for one in kept]
    wanted = [*([Kept(_NOW, draft.text)] if unkept else []), *kept]
    answers = [(one, _ask_behind(page, one.change).answer) for one in wanted]
    found = [(one, answer) for one, answer in answers if answer is not None]
    first = _ask(page, draft.text).answer or next((answer for _, answer in found), None)
    _unanswered(page, kept)
    if first is None:
        return []
    return [(Kept(AS_IT_IS, ""), as_it_is(first)), *found]


def _unanswered(page: Page, kept: Sequence[Kept]) -> None:
    """What became of kept scenarios without an answer: a refusal, or the first that is awaited."""
    awaited = False
    for one in kept:
        work = _ask_behind(page, one.change)
        if work.state == "failed":
            refused(f"{one.name}: {work.problem}")
        elif work.answer is None and not awaited:
            awaited = True
            doing = f"Replaying {wording.plain(one.name)}"
            when_done(work, doing, lambda answer: None, patience_s=0)
