"""What surrounds every page: navigation, the log that is open, the scenario it is priced under."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from cachecast.dashboard import address, log_picker
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


def draw(arguments: Arguments) -> None:
    """One run of the script."""
    st.set_page_config("cachecast", _ICON, layout="wide")
    st.html(STYLE)
    address.read()
    answers = answers_in(arguments.folder)
    pages = [_page(entry, arguments, answers) for entry in PAGES]
    page = st.navigation(pages, position="hidden")
    with st.container(key="navigation", horizontal=True, gap=None):
        places = [st.empty() for _ in pages]
    _links(places, pages)
    try:
        page.run()
    finally:  # the page may have ended early, with something chosen
        _links(places, pages)


def _links(places: Sequence[DeltaGenerator], pages: Sequence[st.Page]) -> None:
    """The navigation. Streamlit's own leaves the address behind, in a new tab for good."""
    for place, page in zip(places, pages, strict=True):
        place.page_link(page, query_params=address.choices())


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
    """The scenario of the page: the address's, else the command line's."""
    asked = address.one("as") or arguments.scenario
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
    address.put(**{"as": scenario})
    return scenario
