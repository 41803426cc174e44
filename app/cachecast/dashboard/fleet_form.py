"""The form of a fleet, or its file as text: what the page Own servers simulates."""

from dataclasses import fields, replace
from typing import Any

import streamlit as st

from cachecast.dashboard import address, wording
from cachecast.dashboard.fleet_address import from_address, to_address
from cachecast.dashboard.fleet_text import CHOICES, LIMITS, FleetForm, memory_gib

_FORM, _TEXT = "the form", "the fleet file"  # in the session, for a return to the page
_AS_FORM, _AS_FILE = "As a form", "As a file"
_UNREAD = "what a link asks of a fleet"
_LARGEST = 1 << 20
_LATENCIES = {
    "roofline": "data sheet (roofline)", "linear": "base + per token", "fixed": "fixed steps",
}  # fmt: skip


def fleet_text() -> str:
    """The fleet file that the person has made, as TOML."""
    with st.container(border=True, key="form-fleet"):
        how = st.segmented_control(
            "The fleet", [_AS_FORM, _AS_FILE], default=_remembered("how", _AS_FORM), key="fleet how"
        )
        st.session_state["remembered how"] = how or _AS_FORM
        form = _chosen()
        if how == _AS_FILE:
            return _file(form)
        _say_what_is_unread()
        form = _form(form)
        _hold(form)
        return form.text()


def set_traffic(times: float) -> None:
    """Let the form's fleet carry so many times the log's traffic, from its next drawing on."""
    _hold(replace(_remembered(_FORM, FleetForm()), traffic=times))
    st.session_state["fleet traffic"] = times


def _chosen() -> FleetForm:
    """The form, which is drawn anew where the address has another one."""
    held: FleetForm | None = _remembered(_FORM, None)
    values = address.several("fleet")
    if held is None or to_address(held) != values:
        held, st.session_state[_UNREAD] = from_address(values)
        st.session_state["remembered " + _FORM] = held
        for field in fields(FleetForm):
            st.session_state.pop(f"fleet {field.name}", None)
    return held


def _hold(form: FleetForm) -> None:
    if form != _remembered(_FORM, None):
        st.session_state.pop(_UNREAD, None)  # the form is the person's own now
    st.session_state["remembered " + _FORM] = form
    address.put(fleet=to_address(form))


def _say_what_is_unread() -> None:
    unread: list[str] = st.session_state.get(_UNREAD, [])
    if unread:
        said = wording.plain(", ".join(unread)[:200])
        st.info(f"What the link asks of the fleet and the form cannot hold is left out: {said}.")


def is_form() -> bool:
    """Whether the form is what the person edits."""
    return bool(_remembered("how", _AS_FORM) == _AS_FORM)


def _remembered(name: str, otherwise: Any) -> Any:
    """Streamlit forgets the state of widgets that a page does not draw; this survives."""
    return st.session_state.get(f"remembered {name}", otherwise)


def _form(form: FleetForm) -> FleetForm:
    for field in fields(FleetForm):
        st.session_state.setdefault(f"fleet {field.name}", getattr(form, field.name))
    found: dict[str, Any] = {}
    gpu, model, ranks, servers = st.columns([1.4, 1.6, 1, 1])
    with gpu:
        found["hardware"] = _choice("hardware", "GPU")
    with model:
        found["model"] = _choice("model", "Model")
    with ranks:
        found["tensor_parallel"] = _count(
            "tensor_parallel", "GPUs a server", "Tensor parallel: they share one model"
        )
    with servers:
        found["servers"] = _count("servers", "Servers")
    router, price, currency, traffic = st.columns(
        [1.4, 1.1, 0.5, 2], vertical_alignment="bottom"
    )  # fmt: skip
    with router:
        found["router"] = _choice("router", "Router", format_func=wording.words)
    with price:
        found["gpu_hour"] = st.text_input(
            "Price of a GPU hour", key="fleet gpu_hour", placeholder="2.50",
            help="What a GPU costs you for an hour; no price is known here",
        )  # fmt: skip
    with currency:
        found["currency"] = st.text_input("in", key="fleet currency", max_chars=3)
    with traffic:
        left, right = st.columns(2, vertical_alignment="bottom")
        found["traffic"] = left.number_input(
            "Traffic, × the log's", *LIMITS["traffic"], key="fleet traffic", format="%g",
            help="The same requests, so many times as densely (fleet.traffic)",
        )  # fmt: skip
        with right.popover("More", icon=":material/tune:", width="stretch"):
            found |= _more(found["hardware"])
    return FleetForm(**found)


def _more(hardware: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    one, two = st.columns(2)
    with one:
        found["engine"] = _choice("engine", "Rules of")
        found["max_batch_tokens"] = _count("max_batch_tokens", "Tokens a step, at most")
        found["block_tokens"] = _count("block_tokens", "Tokens a block")
    with two:
        found["loop"] = _choice(
            "loop", "Arrivals",
            help="closed: a session's next request waits for the answer before it",
        )  # fmt: skip
        found["max_seqs"] = _count("max_seqs", "Requests at a time, at most")
        found["blocks"] = st.number_input(
            "Blocks a server", int(LIMITS["blocks"][0]), int(LIMITS["blocks"][1]),
            key="fleet blocks",
            placeholder=f"from {memory_gib(hardware):.0f} GiB a GPU",
            help="Empty: what the weights leave of the memory, as vLLM counts",
        )  # fmt: skip
    found |= _latency()
    one, two = st.columns(2)
    with one:
        found["cpu_gib"] = _real("cpu_gib", "CPU memory for blocks, GiB a server")
    with two:
        found["cpu_gb_per_s"] = _real("cpu_gb_per_s", "GB/s from there")
    return found


def _latency() -> dict[str, Any]:
    """How long a step takes; the fields of the other kinds keep their values."""
    form: FleetForm = _remembered(_FORM, FleetForm())
    names = (
        "efficiency", "step_overhead_ms", "step_base_ms", "per_token_us", "prefill_step_ms",
        "decode_step_ms",
    )  # fmt: skip
    found: dict[str, Any] = {name: getattr(form, name) for name in names}
    kind = _choice("latency", "How long a step takes", _LATENCIES.__getitem__)
    found["latency"] = kind
    one, two = st.columns(2)
    if kind == "roofline":
        with one:
            found["efficiency"] = _real("efficiency", "Share of the data sheet")
        with two:
            found["step_overhead_ms"] = _real("step_overhead_ms", "Overhead, ms a step")
    elif kind == "linear":
        with one:
            found["step_base_ms"] = _real("step_base_ms", "Base, ms a step")
        with two:
            found["per_token_us"] = _real("per_token_us", "µs a token")
    else:
        with one:
            found["prefill_step_ms"] = _real("prefill_step_ms", "Prefill step, ms")
        with two:
            found["decode_step_ms"] = _real("decode_step_ms", "Decode step, ms")
    return found


def _file(form: FleetForm) -> str:
    """The file as text: everything that docs/fleets.md describes, tiers and prefill servers too."""
    uploaded = st.file_uploader("A fleet file (TOML)", type=["toml"], key="fleet upload")
    text = _remembered(_TEXT, form.text())
    if uploaded is not None and uploaded.file_id != _remembered("upload", None):
        st.session_state["remembered upload"] = uploaded.file_id
        text = uploaded.getvalue()[:_LARGEST].decode("utf-8", "replace")
        st.session_state["fleet as text"] = text
    st.session_state.setdefault("fleet as text", text)
    text = st.text_area("fleet.toml", key="fleet as text", height=260)
    st.session_state["remembered " + _TEXT] = text
    return text


def _choice(name: str, label: str, format_func: Any = str, **more: Any) -> Any:
    return st.selectbox(
        label, CHOICES[name], key=f"fleet {name}", format_func=format_func, **more
    )  # fmt: skip


def _count(name: str, label: str, help: str | None = None) -> Any:
    least, most = map(int, LIMITS[name])
    return st.number_input(label, least, most, key=f"fleet {name}", step=1, help=help)


def _real(name: str, label: str) -> Any:
    least, most = map(float, LIMITS[name])
    return st.number_input(label, least, most, key=f"fleet {name}", format="%g")
