"""Choosing what is open: the built-in example, a path on this machine, or a dropped file."""

from pathlib import Path

import streamlit as st

from cachecast.dashboard import wording
from cachecast.dashboard.answers import Answers
from cachecast.dashboard.arguments import Arguments
from cachecast.dashboard.folder import path_typed
from cachecast.dashboard.opened import EXAMPLE_NAME, Opened, example_path, label_of, opened
from cachecast.dashboard.states import answer_or_stop, refused, when_done
from cachecast.dashboard.work import Work
from cachecast_datasets.errors import BadInput

_READING = "Reading the log"
_CHOSEN = "chosen input"  # in the session: (path, label), or None for none


def current(answers: Answers, arguments: Arguments) -> Opened | None:
    """What the person has open; None if nothing is. A log that is still read ends the page."""
    first = arguments.source
    default = None if first is None else (first, label_of(first))
    if _CHOSEN not in st.session_state:  # a reload keeps the log: the URL holds its hash
        st.session_state[_CHOSEN] = answers.chosen.get(st.query_params.get("log", ""), default)
    chosen = st.session_state[_CHOSEN]
    if chosen is None:
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
    if chosen == default:
        st.query_params.pop("log", None)
    else:
        answers.chosen[now.key] = chosen
        st.query_params["log"] = now.key
    return now


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
    st.session_state[_CHOSEN] = (path, label)
    st.rerun()


def _folder(answers: Answers) -> None:
    st.caption("Dropped and imported logs, runs and answers are kept here:")
    st.code(str(answers.folder.path), language=None)
    for what, count, size in answers.folder.contents():
        st.caption(f"{wording.tokens(count)} {what}, {wording.size(size)}")
    if st.button("Empty the folder", icon=":material/delete:"):
        answers.empty()
        st.session_state[_CHOSEN] = None
        st.rerun()
