"""Choosing what is open: the built-in example, a path on this machine, or a dropped file."""

from pathlib import Path

import streamlit as st

from cachecast.dashboard import address, wording
from cachecast.dashboard.answers import Answers
from cachecast.dashboard.arguments import Arguments
from cachecast.dashboard.folder import path_typed
from cachecast.dashboard.opened import EXAMPLE_NAME, Opened, example_path, label_of, opened
from cachecast.dashboard.states import answer_or_stop, refused, when_done
from cachecast.dashboard.work import Work
from cachecast_datasets.errors import BadInput

_READING = "Reading the log"
# in the session
_CHOSEN = "chosen input"  # (path, label), or None for none
_KEY = "hash of what is open"
_ANOTHER = "another input was chosen"
_NOT_OPEN = "log that the link names"  # its hash, where this server knows no such log

_OF_A_LOG = {"session": None, "bill": None}  # what the address says of one log only


def current(answers: Answers, arguments: Arguments) -> Opened | None:
    """What the person has open; None if nothing is. A log that is still read ends the page."""
    first = arguments.source
    default = None if first is None else (first, label_of(first))
    chosen = _named_by_address(answers) or st.session_state.setdefault(_CHOSEN, default)
    st.session_state[_CHOSEN] = chosen
    if chosen is None:
        _say_what_is_not_open(None)
        return None
    work: Work = answers.open(*chosen)
    if work.state == "failed":
        refused(work.problem or "it cannot be opened")
        welcome(answers)
        st.stop()
    if work.state == "cancelled":
        when_done(work, _READING, lambda answer: None)
        welcome(answers)
        st.stop()
    now = opened(answer_or_stop(work, _READING))
    answers.chosen[now.key], st.session_state[_KEY] = chosen, now.key
    _say_what_is_not_open(now)
    if st.session_state.pop(_ANOTHER, False):
        address.put(log=now.key, **_OF_A_LOG)  # at once: one step of the browser's history
    else:
        address.put(log=now.key)
    return now


def _named_by_address(answers: Answers) -> tuple[Path, str] | None:
    """Path and label of another log that the address names, if this server has opened it before."""
    key = address.one("log")
    if key is None or key == st.session_state.get(_KEY):
        return None
    if _CHOSEN not in st.session_state and key not in answers.chosen:
        st.session_state[_NOT_OPEN] = key
    return answers.chosen.get(key)


def _say_what_is_not_open(now: Opened | None) -> None:
    """A link may come from another machine, a reload from before the server's last start."""
    asked = st.session_state.get(_NOT_OPEN)
    if asked is None or (now is not None and now.key == asked):
        return
    if now is None:
        st.info("This link was made for a log that is not open here: open it first.")
    else:
        st.info(
            "This link was made for another log, which is not open here: "
            f"all that it asks for is shown for {wording.plain(now.label)}."
        )


def welcome(answers: Answers) -> None:
    """The first page of somebody who named no log."""
    st.title("What did the prompt cache do to your bill?")
    st.markdown(
        "Open a request log to see what was paid and saved, why requests missed, and what a change "
        "would have cost. Nothing leaves this machine."
    )
    _choices(answers)


def sidebar(answers: Answers, now: Opened) -> None:
    """What is open, with a way to something else and to the folder."""
    kind = "Run" if now.log is None else "Log"
    st.markdown(f"**{kind}: {wording.plain(now.label)}**")
    with st.popover("Open another", width="stretch"):
        _choices(answers)
    with st.popover("Files on this machine", width="stretch"):
        _folder(answers)


def _choices(answers: Answers) -> None:
    if st.button("Open the built-in example", icon=":material/play_arrow:", type="primary"):
        _choose(answers, example_path(), EXAMPLE_NAME)
    typed = st.text_input(
        "Path of a log, a folder of transcripts, or a run", placeholder="~/.claude/projects"
    )
    if st.button("Open the path") and typed.strip():
        try:
            path = path_typed(typed)
        except BadInput as problem:
            refused(str(problem))
        else:
            _choose(answers, path, label_of(path))
    file = st.file_uploader("Or drop a log: every format that `cachecast import` reads")
    if file is not None and st.button(f"Open {wording.plain(file.name)}", type="primary"):
        path = answers.folder.upload(file.name, file.getbuffer())
        _choose(answers, path, Path(file.name).name)
    st.caption("Files that you drop are kept in the folder below until you empty it, nowhere else.")
    st.code(str(answers.folder.path), language=None)


def _choose(answers: Answers, path: Path, label: str) -> None:
    answers.read_anew(path, label)
    st.session_state.pop(_NOT_OPEN, None)
    st.session_state[_CHOSEN], st.session_state[_ANOTHER] = (path, label), True
    st.rerun()


def _folder(answers: Answers) -> None:
    st.caption("Dropped and imported logs, runs and answers are kept here:")
    st.code(str(answers.folder.path), language=None)
    for what, count, size in answers.folder.contents():
        st.caption(f"{wording.tokens(count)} {what}, {wording.size(size)}")
    if st.button("Empty the folder", icon=":material/delete:"):
        answers.empty()
        address.put(log=None, **_OF_A_LOG)
        st.session_state[_CHOSEN] = None
        st.rerun()
