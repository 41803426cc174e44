"""The controls of own servers."""

from dataclasses import replace

import streamlit as st

from cachecast.dashboard.what_if.fleets import Fleet, fleet_of
from cachecast.dashboard.what_if.state import PREFIX
from cachecast_sim.fleet.routers import ROUTERS
from cachecast_sim.latency.catalog import hardware_catalog, model_catalog

_START = Fleet(4, "h200-sxm", "llama-3.1-70b", 2)
_PARALLEL = (1, 2, 4, 8)


def fleet(was: str | None) -> str:
    """Draw them; the fleet as a text. Its step times are the roofline of shipped data sheets."""
    at_first = _START if was is None else fleet_of(was)
    for field in ("servers", "hardware", "model", "tensor_parallel", "router"):
        st.session_state.setdefault(f"{PREFIX}fleet {field}", getattr(at_first, field))
    st.session_state.setdefault(f"{PREFIX}fleet gpu_hour", at_first.gpu_hour or "")
    with st.container(horizontal=True, gap="medium"):
        servers = st.number_input("Servers", 1, 4_096, key=f"{PREFIX}fleet servers", width=130)
        hardware = st.selectbox(
            "GPU", list(hardware_catalog()), key=f"{PREFIX}fleet hardware", width=180
        )
        model = st.selectbox("Model", list(model_catalog()), key=f"{PREFIX}fleet model", width=200)
        parallel = st.selectbox(
            "GPUs a server", _PARALLEL, key=f"{PREFIX}fleet tensor_parallel", width=130
        )
        router = st.selectbox("Router", sorted(ROUTERS), key=f"{PREFIX}fleet router", width=180)
        price = st.text_input(
            "USD a GPU hour", key=f"{PREFIX}fleet gpu_hour", placeholder="what you pay", width=140
        ).strip()
    st.caption(
        "Prompts and answers as in the log. Step times are a roofline of the GPU's data sheet; a "
        "whole fleet file goes with `cachecast simulate` or `whatif --change fleet=FILE`."
    )
    made = Fleet(int(servers), hardware, model, int(parallel), router)
    return (made if not price else replace(made, gpu_hour=price)).text
