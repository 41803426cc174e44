"""What surrounds every page: navigation, the log that is open, the scenario it is priced under."""

from collections.abc import Callable
from functools import partial
from importlib import import_module

import streamlit as st

from cachecast.dashboard import log_picker
from cachecast.dashboard.answers import Answers, answers_in
from cachecast.dashboard.arguments import Arguments
from cachecast.dashboard.catalogue import OWN_MODELS, catalogue, models
from cachecast.dashboard.page import Page
from cachecast.dashboard.page_list import PAGES, PageEntry
from cachecast.dashboard.states import refused
from cachecast.dashboard.theme import STYLE
from cachecast.dashboard.work import fault
from cachecast.scenarios import scenario_of
from cachecast_datasets.errors import BadInput

# drawn here: the browser would fetch an emoji or one of Streamlit's icons from a stranger's server
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
    '<rect width="32" height="32" rx="7" fill="#0F7F68"/>'
    '<path d="M6 22h20M6 16h14M6 10h8" stroke="#fff" stroke-width="4" stroke-linecap="round"/>'
    "</svg>"
)
_OWN = "Each request's own model"
_CHOSEN = "chosen scenario"  # in the session


def draw(arguments: Arguments) -> None:
    """One run of the script."""
    st.set_page_config("cachecast", _ICON, layout="wide")
    st.html(STYLE)
    answers = answers_in(arguments.folder)
    pages = [_page(entry, arguments, answers) for entry in PAGES]
    st.navigation(pages, position="top").run()


def _page(entry: PageEntry, arguments: Arguments, answers: Answers) -> st.Page:
    show = partial(_show, entry, arguments, answers)
    return st.Page(
        show, title=entry.title, icon=entry.icon, url_path=entry.address,
        default=entry is PAGES[0],
    )  # fmt: skip


def _show(entry: PageEntry, arguments: Arguments, answers: Answers) -> None:
    """One page. Whatever fails in it ends in a sentence."""
    try:
        opened = log_picker.current(answers, arguments)
        if opened is None:
            log_picker.welcome(answers)
            return
        with st.sidebar:
            log_picker.sidebar(answers, opened)
            scenario = OWN_MODELS if opened.log is None else _scenario(arguments)
        show: Callable[[Page], None] = import_module(
            f"cachecast.dashboard.pages.{entry.module}"
        ).show
        show(Page(answers, opened, scenario))
    except BadInput as problem:
        refused(str(problem))
    except Exception as problem:  # Streamlit's own signals are no Exception
        refused(fault(problem))


def _scenario(arguments: Arguments) -> str:
    """The scenario of the page: the URL's, else the session's, else the command line's.

    A link of the navigation leaves the URL's query behind: so the session knows it too.
    """
    session = st.session_state.get(_CHOSEN, arguments.scenario)
    asked: str = st.query_params.get("as") or session
    options = list(dict.fromkeys([OWN_MODELS, asked, *models()]))
    chosen = st.selectbox(
        "Rules and prices",
        options,
        index=options.index(asked),
        format_func=lambda text: _OWN if text == OWN_MODELS else text,
        accept_new_options=True,
        help="A model, or a whole scenario as `--as` takes it: claude-opus-5,ttl=1h",
    )
    scenario = (chosen or OWN_MODELS).strip()
    scenario_of(scenario, catalogue())  # BadInput says which models and keys there are
    st.session_state[_CHOSEN] = st.query_params["as"] = scenario
    return scenario
