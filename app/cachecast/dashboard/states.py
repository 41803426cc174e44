"""How a page looks with nothing to show: no log yet, a refusal, work that goes on."""

import time
from collections.abc import Callable
from typing import NoReturn

import streamlit as st

from cachecast.dashboard.wording import plain
from cachecast.dashboard.work import Answer, Work

_PATIENCE_S = 0.25  # a short wait shows nothing: no flicker
_LOOK_EVERY_S = 0.4
_LONGEST = 800  # characters of a refusal, which repeats what somebody wrote
_DRAWING_S = 0.2
_SEEN = "numbers were drawn"


def empty(title: str, sentence: str, icon: str = ":material/inbox:") -> None:
    """A state that is no fault: what is not there, and what would put it there."""
    with st.container(border=True):
        st.markdown(f"#### {icon} {plain(title)}")
        st.markdown(plain(sentence))


def refused(sentence: str) -> None:
    """A sentence of ours that says what cannot be done and what would be accepted."""
    short = sentence if len(sentence) <= _LONGEST else f"{sentence[:_LONGEST]} …"
    st.error(plain(short), icon=":material/error:")


def stop_with(title: str, sentence: str) -> NoReturn:
    """The empty state as the whole page."""
    empty(title, sentence)
    st.stop()


def when_done(
    work: Work, doing: str, show: Callable[[Answer], None], *, patience_s: float = _PATIENCE_S
) -> bool:
    """Show the answer; until it is there its progress with a way to cancel. True if it is shown.

    The rest of the page is drawn meanwhile; the page is drawn anew once the work has ended.
    """
    work.wait(patience_s)
    if work.answer is not None:
        show(work.answer)
        return True
    if work.state == "failed":
        refused(work.problem or "no answer")
    elif work.ended:
        if st.button(f"{doing}: cancelled. Start again", key=f"again {doing} {id(work)}"):
            work.abandon()
            st.rerun()
    else:
        st.fragment(_progress, run_every=_LOOK_EVERY_S)(work, doing)
    return False


def numbers_first() -> None:
    """Let the browser draw the numbers before charts come: both at once take it twice as long.

    Once a session, which begins with a new or reloaded page.
    """
    if _SEEN not in st.session_state:
        st.session_state[_SEEN] = True
        time.sleep(_DRAWING_S)


def answer_or_stop(work: Work, doing: str) -> Answer:
    """The answer, for what the whole page rests on; until it is there the page ends here."""
    found: list[Answer] = []
    when_done(work, doing, found.append, patience_s=2.0)
    if not found:
        st.stop()
    return found[0]


def _progress(work: Work, doing: str) -> None:
    """Drawn again and again, alone, until the work has ended."""
    if work.ended:
        st.rerun()
    bar, button = st.columns([5, 1], vertical_alignment="center")
    waits = "" if work.state == "running" else " (waits for other work)"
    bar.progress(work.share, text=f"{doing}{waits} … {100 * work.share:.0f} %")
    if button.button("Cancel", key=f"cancel {doing} {id(work)}"):
        work.cancel()
