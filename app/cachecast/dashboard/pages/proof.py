"""The page Proof: a prediction beside what a real engine did with the same requests."""

from pathlib import Path
from shlex import quote
from typing import Any

import streamlit as st

from cachecast.dashboard import proof_numbers as numbers
from cachecast.dashboard import wording
from cachecast.dashboard.folder import path_typed
from cachecast.dashboard.html_table import as_html
from cachecast.dashboard.page import Page
from cachecast.dashboard.questions.compare import COMPARE
from cachecast.dashboard.states import answer_or_stop, empty
from cachecast.dashboard.tile_row import panels, tile_row
from cachecast.dashboard.work import Answer

_FOLDER = "the folder of runs"  # in the session
_NONE = "none"
_SIGNS = {
    "pass": (":material/check_circle:", st.success), "fail": (":material/cancel:", st.error),
    "inconclusive": (":material/help:", st.warning),
}  # fmt: skip


def show(page: Page) -> None:
    """Draw it."""
    st.header("Proof")
    st.caption("A prediction beside what a real engine, with real K and V, did with the same log.")
    chosen = _choose(page)
    if chosen is None:
        return
    predicted, measured, again = chosen
    words = [str(path) if path is not None else "" for path in chosen]
    work = page.ask(COMPARE, *words, _stamp([predicted, measured, again]))
    _results(answer_or_stop(work, COMPARE.doing))
    command = f"cachecast compare {quote(str(predicted))} {quote(str(measured))}"
    if again is not None:
        command += f" --again {quote(str(again))}"
    st.code(command, language="sh", wrap_lines=True)


def _choose(page: Page) -> tuple[Path, Path, Path | None] | None:
    """The runs; None, and the way to make them, where the folder has not both kinds."""
    first = Path.cwd() if page.opened.run is None else page.opened.run.parent
    with st.container(border=True):
        st.session_state.setdefault(_FOLDER, str(first))
        typed = st.text_input("Folder with runs", key=_FOLDER, persist_state="session") or ""
        folder = path_typed(typed)
        simulated, replayed = (numbers.runs_in(folder, c) for c in ("simulate", "replay"))
        if simulated and replayed:
            one, two, three = st.columns(3)
            own = None if page.opened.run is None else page.opened.run.name
            predicted = one.selectbox(
                "Predicted", simulated, _place(own, simulated), **_kept("predicted")
            )
            measured = two.selectbox(
                "Measured", replayed, _place(own, replayed), **_kept("measured")
            )
            others = [_NONE, *(name for name in replayed if name != measured)]
            again = three.selectbox(
                "Measured again", others, help="A second replay: the noise floor between the two",
                **_kept("measured again"),
            )  # fmt: skip
            second = None if again == _NONE else folder / str(again)
            return folder / str(predicted), folder / str(measured), second
    _nothing(folder, bool(simulated), bool(replayed))
    return None


def _kept(name: str) -> dict[str, Any]:
    """A choice that outlives the page, where the folder still has it."""
    return {"key": f"proof {name}", "persist_state": "session"}


def _place(name: str | None, names: list[str]) -> int:
    return names.index(name) if name in names else 0


def _nothing(folder: Path, simulated: bool, replayed: bool) -> None:
    missing = [
        name
        for name, there in (("run of simulate", simulated), ("run of replay", replayed))
        if not there
    ]
    empty(
        "No prediction beside a measurement yet",
        f"The folder {folder} has no {' and no '.join(missing)}. These commands make both, on this "
        "machine and with your log; a Hugging Face config.json is enough of a model.",
        ":material/science:",
    )
    st.code(
        "cachecast calibrate --engine torch:MODEL --normalise -o latency.toml\n"
        "cachecast replay LOG --engine torch:MODEL --fleet fleet.toml --normalise -o measured\n"
        "cachecast simulate LOG --fleet fleet.toml --set latency.kind=fitted "
        "--set latency.file=latency.toml -o predicted\n",
        language="sh",
        wrap_lines=True,
    )


def _stamp(paths: list[Path | None]) -> str:
    """What tells whether a run was written anew."""
    seen = [(path / "run.json").stat() for path in paths if path is not None]
    return "; ".join(f"{found.st_size} {found.st_mtime_ns}" for found in seen)


def _results(answer: Answer) -> None:
    found = answer["comparison"]
    icon, say = _SIGNS[found["verdict"]]
    mode = wording.words(found["mode"]).replace(" ", "-")
    say(f"**{found['verdict'].capitalize()}**, {mode}: {wording.plain(found['why'])}.", icon=icon)
    tile_row(numbers.tiles(found), "proof")
    st.subheader("Request by request")
    _scatters(answer["panels"])
    st.subheader("Errors, of what was measured")
    st.html(as_html(numbers.errors(found), ("of",)))
    rows = numbers.differing(found)
    if rows:
        st.subheader("What differs")
        st.html(as_html(rows, ("what", "which")))
    if found["left_out"]:
        left_out = wording.counted(found["left_out"], "request")
        st.caption(f"{left_out} completed in one of the runs only: left out.")
    st.subheader("How it was measured")
    with st.container(border=True):
        facts = numbers.made_by(answer["predicted"], answer["measured"])
        st.markdown("  \n".join(f"**{name}**: {wording.plain(value)}" for name, value in facts))


def _scatters(found: list[Answer]) -> None:
    from cachecast.dashboard.charts.proof import scatter

    drawn = [panel for panel in found if panel["points"]]
    if not drawn:
        st.caption("No request completed in both runs.")
        return
    st.caption(
        "A point is a request. On the dashed line prediction and measurement agree; the grey band, "
        "where a second replay is chosen, is how far two replays differ on average."
    )
    for frame, panel in zip(panels(len(drawn), "scatters"), drawn, strict=True):
        with frame:
            st.markdown(f"**{panel['name']}**")
            points = numbers.shown(panel["points"])
            chart = scatter(points, panel["name"], panel["floor_pct"])
            st.altair_chart(chart, width="stretch", alt=f"Predicted and measured {panel['name']}")
            if len(points) < len(panel["points"]):
                of = wording.tokens(len(panel["points"]))
                st.caption(f"{wording.tokens(len(points))} of {of} requests are drawn.")
