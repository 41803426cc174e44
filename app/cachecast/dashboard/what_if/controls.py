"""The controls of a scenario. What a log or model cannot have is not offered, or says why."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import streamlit as st

from cachecast.dashboard.page import Page
from cachecast.dashboard.what_if import choices
from cachecast.dashboard.what_if.draft import (
    MARKS,
    ORDERS,
    PING_TIMES,
    PINGS_EVERY_S,
    VOLATILE,
    Draft,
)
from cachecast.dashboard.what_if.fleet_controls import fleet
from cachecast.dashboard.what_if.fleets import is_fleet
from cachecast.dashboard.what_if.state import PREFIX
from cachecast_pricing.rules.settings import TTL_US

_API, _OWN = "A provider", "Own servers"
_T = TypeVar("_T")
_MARKS = {
    "log": "as the log has them", "auto": "system and end", "last": "the end",
    "system+last": "system and end", "none": "nowhere", "translate": "another provider's",
}  # fmt: skip
_VOLATILE = {"drop": "One text for all", "move": "Behind the turn"}
_ORDERS = {"stable": "Tools and JSON keys", "tools": "Tools", "keys": "JSON keys"}


def controls(page: Page, was: Draft) -> Draft:
    """Draw them with what they were; what they say now."""
    was = _readable(was)
    with st.container(border=True):
        options = (_API, _OWN)
        side = _one("served by", "Served by", options, _API if was.fleet is None else _OWN)
        if side == _OWN:
            return Draft(fleet=fleet(was.fleet))
        with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
            model = _model(was.model)
            ttl = _lifetime(page, model, was.ttl)
            mark = _marks(was.mark)
            every_s, times, paying = _pings(was)
            batch = _toggle("batch", "Batch API", was.batch, "Batch prices at the log's own times")
        with st.expander("The prompts themselves, and every other change"):
            return _prompts(
                page, was, model=model, ttl=ttl, mark=mark, batch=batch, every_s=every_s,
                times=times, paying=paying,
            )  # fmt: skip


def _readable(was: Draft) -> Draft:
    """With a model or servers that no control can show among the other changes: there the answer
    says what is wrong, and they can be taken out."""
    if was.fleet is not None and not is_fleet(was.fleet):
        return Draft(more=was.text)
    if was.model is not None and not choices.is_offered(was.model):
        more = ",".join(filter(None, (f"model={was.model}", was.more)))
        return replace(was, model=None, more=more)
    return was


def _model(was: str | None) -> str | None:
    own = "As it is"
    provider = _choice(
        "provider", "Provider", [own, *choices.providers()],
        own if was is None else choices.provider_of(was), width=180,
    )  # fmt: skip
    if provider == own:
        return None
    models = choices.models_of(provider)
    shown = [was, *models] if was is not None and _elsewhere(was, provider, models) else models
    found: str | None = _choice(
        f"model of {provider}", "Model", [None, *shown], was if was in shown else None, width=230,
        format_func=lambda name: name or "Choose one",
    )  # fmt: skip
    return found


def _elsewhere(model: str, provider: str, models: Sequence[str]) -> bool:
    """A name of the provider's that its list has in another form (`claude-opus-4-5`)."""
    return model not in models and choices.provider_of(model) == provider


def _lifetime(page: Page, model: str | None, was: str | None) -> str | None:
    """A lifetime that was chosen stays in sight, also where the model does not sell it: then the
    answer says so."""
    sold = choices.lifetimes(page.opened, page.scenario, model)
    shown = [ttl for ttl in TTL_US if ttl in sold or ttl == was]
    return _one(
        "ttl", "Lifetime of markers", [None, *shown], was,
        format_func=lambda ttl: ttl or "As it is", disabled=not shown,
        help="Every marker lives that long" if sold else "The model has no price for writes",
    )  # fmt: skip


def _marks(was: str | None) -> str | None:
    places = [was] if was is not None and was not in MARKS else []
    options: list[str | None] = [None, *MARKS, *places]
    found: str | None = _choice(
        "mark", "Markers", options, was, width=260, more=True,
        format_func=lambda mark: "As it is" if mark is None else _marks_text(mark),
        help="Where caching is asked for. Places may be typed too: tools:1h+end:5m",
    )  # fmt: skip
    return found


def _marks_text(mark: str) -> str:
    return f"{mark}: {_MARKS[mark]}" if mark in _MARKS else mark


def _pings(was: Draft) -> tuple[int | None, int, bool]:
    every_s = _choice(
        "every", "Keep-alive", [None, *PINGS_EVERY_S], was.every_s, width=180,
        format_func=lambda s: "None" if s is None else f"a ping every {s:,} s",
        help="The conversation's last prompt again (one output token), until its next request",
    )  # fmt: skip
    if every_s is None:
        return None, 1, False
    times = _choice(
        "times", "Pings at most", list(PING_TIMES), was.times, width=130, format_func=str
    )
    assert times is not None
    paying = _toggle(
        "paying", "Only where they pay", was.paying,
        "Only in pauses that the pings bridge, known beforehand: the most that pings can save",
    )  # fmt: skip
    return every_s, times, paying


def _prompts(page: Page, was: Draft, **chosen: Any) -> Draft:
    """What was chosen stays chosen where the log does not allow it: the answer says so."""
    known = choices.knows_blocks(page.opened)
    with st.container(horizontal=True, gap="medium"):
        volatile = _one(
            "volatile", "Dates, ids and numbers in the prefix", [None, *VOLATILE], was.volatile,
            format_func=lambda way: "As it is" if way is None else _VOLATILE[way],
            disabled=not known and was.volatile is None,
        )  # fmt: skip
        order = _one(
            "order", "Stable order of", [None, *ORDERS], was.order,
            format_func=lambda way: "Nothing" if way is None else _ORDERS[way],
            disabled=not known and was.order is None,
        )  # fmt: skip
        summary = _toggle(
            "summary", "Summary last", was.summary,
            "A block that is rewritten in place goes behind those that stay",
            disabled=not known and not was.summary,
        )  # fmt: skip
    if not known:
        st.caption(
            "This log does not tell what its prompts are made of (it knows token blocks or counts "
            "only), so they cannot be changed."
        )
    more = _text(was.more)
    return Draft(volatile=volatile, order=order, summary=summary, more=more, **chosen)


def _text(was: str) -> str:
    key = PREFIX + "more"
    st.session_state.setdefault(key, was)
    return st.text_input(
        "Other changes", key=key, placeholder="tenant=shared,response=exact",
        help="As `--change` takes them, with commas between: prewarm=5, compaction=100000, "
        "tenant=session, cache-key=account, response=exact, tier=flex, ttl=1h/5m, …",
    ).strip()  # fmt: skip


def _one(
    name: str,
    label: str,
    options: Sequence[_T],
    was: _T,
    *,
    format_func: Callable[[Any], str] = str,
    disabled: bool = False,
    help: str | None = None,
) -> _T:
    """One of a few, all in sight."""
    key = _prepared(name, options, was)
    found = st.segmented_control(
        label, options, key=key, format_func=format_func, required=True, disabled=disabled,
        help=help,
    )  # fmt: skip
    return options[0] if found is None else found


def _choice(
    name: str,
    label: str,
    options: Sequence[_T],
    was: _T,
    *,
    width: int,
    format_func: Callable[[Any], str] = str,
    more: bool = False,
    help: str | None = None,
) -> Any:
    """One of many; with `more` a text of one's own as well.

    Streamlit takes a chosen None for nothing chosen, so it stands as an empty text.
    """
    values: list[Any] = ["" if option is None else option for option in options]
    key = _prepared(name, values, "" if was is None else was, more)
    found = st.selectbox(
        label, values, key=key, width=width, help=help, accept_new_options=more,
        format_func=lambda value: format_func(None if value == "" else value),
    )  # fmt: skip
    return None if found == "" else found


def _toggle(name: str, label: str, was: bool, help: str, *, disabled: bool = False) -> bool:
    key = PREFIX + name
    st.session_state.setdefault(key, was)
    return st.toggle(label, key=key, help=help, disabled=disabled)


def _prepared(name: str, options: Sequence[Any], was: Any, more: bool = False) -> str:
    """The key, with a value that the options have: they change with the model."""
    key = PREFIX + name
    if key not in st.session_state or (not more and st.session_state[key] not in options):
        st.session_state[key] = was
    return key
