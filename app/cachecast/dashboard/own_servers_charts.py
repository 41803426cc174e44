"""The sections of the page Own servers: each draws one part of a fleet's answer."""

from functools import partial
from pathlib import Path

import streamlit as st

from cachecast.dashboard import fleet_form, wording
from cachecast.dashboard import own_servers_numbers as numbers
from cachecast.dashboard.fleet_rows import timeline
from cachecast.dashboard.states import empty
from cachecast.dashboard.tile_row import panels
from cachecast.dashboard.work import Answer

_HOW = """\
The multiple is GPU cost ÷ API bill of the same requests. It takes for granted that

- the API's bill grows in proportion to the traffic: no volume prices, the same share of the prompts
  read from its cache;
- the GPUs are paid for the same time whatever they do, from the first arrival to the last end;
- the fleet can carry that much. A simulation at that traffic shows it: the same requests come so
  many times as densely (`fleet.traffic`), and if the queue keeps up, their cost falls to the API's
  bill. So many more *users* would also bring more different prompts, and need more memory for the
  same hits.
"""


def costs(fleet: Answer, bill: Answer, traffic: float) -> None:
    """GPUs beside the API, and the traffic at which they cost the same."""
    from cachecast.dashboard.charts import servers

    times, sentence, more = numbers.break_even(fleet, bill, traffic)
    left, right = panels(2, "costs")
    with left:
        st.markdown("**The same log, at both**")
        rows = numbers.costs(fleet, bill)
        if rows:
            st.altair_chart(servers.costs(rows), width="stretch", alt="Costs of GPUs and API")
        else:
            _prices_missing(fleet, bill)
    with right:
        st.metric("Break-even traffic", times)
        st.markdown(wording.plain(sentence))
        if more is not None and fleet_form.is_form():
            st.button(
                f"Simulate {times} the traffic", on_click=partial(fleet_form.set_traffic, more)
            )
    with st.expander("How the break-even is computed"):
        st.markdown(_HOW)


def _prices_missing(fleet: Answer, bill: Answer) -> None:
    for tile in (numbers.tiles(fleet)[-1], numbers.bill_tile(bill)):
        st.markdown(f"{tile.label}: **{wording.plain(tile.value)}**")
    if fleet["cost"] is None:
        st.caption("Say above what a GPU hour costs you.")
    if bill["charge"] is None:
        st.caption("No request names a model with a price: choose one under “Rules and prices”.")


def distributions(info: Answer) -> None:
    """TTFT of requests and ITL of all gaps between tokens."""
    from cachecast.dashboard.charts import servers

    found, fleet = info.get("distributions"), info["fleet"]
    if found is None:
        empty("Not kept in this run", "An older cachecast wrote it: simulate the log again.")
        return
    left, right = panels(2, "distributions")
    for panel, name, what, of in (
        (left, "ttft", "time to first token", "requests"),
        (right, "itl", "time between two tokens", "tokens"),
    ):
        curve, marks = numbers.distribution(found, name, fleet[f"{name}_s"])
        with panel:
            st.markdown(f"**{what.capitalize()}**")
            if curve:
                chart = servers.distribution(curve, marks, what, of)
                st.altair_chart(chart, width="stretch", alt=f"Distribution of the {what}")
            else:
                st.caption("No answer has a second token.")


def timelines(info: Answer, run: Path) -> None:
    """Queue and blocks of each server."""
    from cachecast.dashboard.charts import servers

    unit, rows = timeline(run, info["fleet"]["servers"])
    limit = (info.get("cache") or {}).get("blocks_per_server")
    left, right = panels(2, "timelines")
    for panel, field, title, most in (
        (left, "waiting", "Requests that wait", None),
        (right, "blocks", "Blocks that running requests hold", limit),
    ):
        with panel:
            of = "" if most is None else f", of {wording.tokens(most)}"
            st.markdown(f"**{title}{of}**")
            chart = servers.timeline(rows, field, title.lower(), unit)
            st.altair_chart(chart, width="stretch", alt=title)


def misses(fleet: Answer) -> None:
    """Tokens by reason."""
    from cachecast.dashboard.charts.misses import reason_bars

    rows = numbers.misses(fleet)
    if not rows:
        st.success("Every prompt token was hit.", icon=":material/check:")
        return
    with st.container(border=True):
        chart = reason_bars(rows, "tokens not hit", "all prompt tokens")
        st.altair_chart(chart, width="stretch", alt="Misses by reason")


def curves(found: Answer, simulated: float | None, life_s: float | None) -> None:
    """The hit ratio at every capacity and at every lifetime."""
    from cachecast.dashboard.charts import curves as charts

    curve = found["curve"]
    if curve["ideal"]["token_hit_ratio"] is None:
        empty("No curve", "No request of the log has a prompt whose length is known.")
        return
    left, right = panels(2, "curves")
    with left:
        st.markdown("**One cache of a limited size (LRU)**")
        chart = charts.capacity_curve(curve, numbers.marked(found["marked"]), simulated)
        st.altair_chart(chart, width="stretch", alt="Hit ratio by capacity")
    with right:
        st.markdown("**One cache that forgets by age only**")
        st.altair_chart(charts.life_curve(curve, life_s), width="stretch", alt="Hit ratio by life")
    for note in curve["notes"]:
        st.caption(wording.plain(note))
