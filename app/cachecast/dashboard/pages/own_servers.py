"""The page Own servers: what a fleet would do with the log, and what it costs beside the API."""

from collections.abc import Callable
from pathlib import Path
from shlex import quote

import streamlit as st

from cachecast.dashboard import fleet_form, wording
from cachecast.dashboard import overview_numbers as overview
from cachecast.dashboard import own_servers_numbers as numbers
from cachecast.dashboard.own_servers_charts import costs, curves, distributions, misses, timelines
from cachecast.dashboard.page import Page
from cachecast.dashboard.questions.bill import BILL
from cachecast.dashboard.questions.curve import CURVE
from cachecast.dashboard.questions.fleet import FLEET, FLEET_FILE, as_argument, priced
from cachecast.dashboard.run_check import bills_of_run, check_fleet
from cachecast.dashboard.states import answer_or_stop, refused, stop_with, when_done
from cachecast.dashboard.tile_row import tile_row
from cachecast.dashboard.work import Answer, Work
from cachecast.fleet_file import FilesBeside, fleet_of
from cachecast.results.reader import read_info
from cachecast_datasets.errors import BadInput
from cachecast_sim.fleet.config import FleetConfig
from cachecast_sim.fleet.kv_size import kv_size, usable_blocks

AskBill = Callable[[], Answer | None]
_LAST = "the last fleet's work"  # in the session: nobody waits for it once the fleet is changed


def show(page: Page) -> None:
    """Draw it."""
    st.header("Own servers")
    if page.opened.log is None:
        _kept_run(page)
        return
    st.caption(wording.plain(overview.about(page.opened)))
    if page.opened.facts["evidence"] == "counts":
        stop_with(
            "This log cannot be served",
            "It counts tokens and does not say which prompts share what, so no cache can be "
            "simulated. Open a log with prompts, token blocks or token ids: cachecast import "
            "says what a log carries.",
        )
    text = fleet_form.fleet_text()
    try:
        config = fleet_of(text.encode())
        capacity = _capacity(config)
    except BadInput as problem:
        refused(str(problem) if fleet_form.is_form() else f"{FLEET_FILE}: {problem}")
        st.stop()
    _command(page, text)
    fleet = page.ask(FLEET, as_argument(config), _stamp(config))
    _cancel_the_last(fleet)
    bill = page.ask(BILL, page.scenario)
    curve = page.ask(CURVE, str(capacity["bytes_per_token"] or ""), *map(str, _marks(config)),
        behind=True)  # fmt: skip
    run = Path(answer_or_stop(fleet, FLEET.doing)["path"])
    info = priced(read_info(run), config.cost)
    _results(info, run, lambda: _bill_or_none(bill), config.fleet.traffic)
    st.subheader("How much memory buys how many hits")
    hits = info["fleet"]["token_hit_ratio"]
    when_done(curve, CURVE.doing, lambda found: curves(found, hits, config.engine.ttl_s))
    _fine_print(info, page.opened.facts.get("warnings", ()))


def _capacity(config: FleetConfig) -> dict[str, int | None]:
    """One server's cache. BadInput for a model that is not known or does not fit."""
    kv = kv_size(config, FilesBeside(FLEET_FILE))
    return {"blocks": usable_blocks(config, kv), "bytes_per_token": kv.bytes_per_token}


def _marks(config: FleetConfig) -> list[int]:
    blocks = _capacity(config)["blocks"]
    assert blocks is not None
    cache = {"blocks_per_server": blocks, "block_tokens": config.engine.block_tokens}
    return numbers.marks(cache, config.fleet.prefill_servers or config.servers)


def _stamp(config: FleetConfig) -> str:
    """What tells whether a file that the fleet names has changed."""
    named = [config.latency.get("file"), config.latency.get("model"), config.engine.model]
    found = []
    for name in named:
        if isinstance(name, str) and Path(name).exists():
            seen = Path(name).stat()
            found.append(f"{name} {seen.st_size} {seen.st_mtime_ns}")
    return "; ".join(found)


def _cancel_the_last(work: Work) -> None:
    last: Work | None = st.session_state.get(_LAST)
    if last is not None and last is not work and not last.ended:
        last.abandon()
    st.session_state[_LAST] = work


def _command(page: Page, text: str) -> None:
    with st.container(key="stack-command"):
        code, button = st.columns([5, 1], vertical_alignment="center")
    command = f"cachecast simulate {quote(str(page.opened.source))} --fleet {FLEET_FILE}"
    if page.scenario != "log":
        command += f" --as {quote(page.scenario)}"
    code.code(command, language="sh", wrap_lines=True)
    button.download_button(
        "fleet.toml", text, file_name=str(FLEET_FILE), icon=":material/download:", width="stretch",
        help="The fleet as a file for this command",
    )  # fmt: skip


def _bill_or_none(work: Work) -> Answer | None:
    """The bill, or nothing while it is worked out; then its progress stands in its place."""
    found: list[Answer] = []
    when_done(work, BILL.doing, found.append, patience_s=2.0)
    return found[0] if found else None


def _kept_run(page: Page) -> None:
    """A run of `simulate` that is open: the same, without what needs the log."""
    info, run = page.opened.facts, page.opened.run
    if info.get("command") != "simulate" or run is None:
        stop_with(
            "No fleet in this run",
            f"It was written by {info.get('command')}. Open a log to simulate servers with it, or "
            "a run of cachecast simulate LOG --fleet FILE -o RUN.",
        )
    check_fleet(info)
    bills = bills_of_run(info)
    st.caption(f"The run {wording.plain(page.opened.label)}, as `cachecast simulate` kept it.")
    _results(info, run, (lambda: bills[0]) if bills else None, 1.0)
    _fine_print(info, ())


def _results(info: Answer, run: Path, ask_bill: AskBill | None, traffic: float) -> None:
    fleet = info["fleet"]
    said = numbers.rejected(fleet)
    if said is not None:
        st.error(wording.plain(said), icon=":material/block:")
    if fleet["completed"]:
        tile_row(numbers.tiles(fleet), "fleet")
        if ask_bill is not None:
            st.subheader("What it costs")
            bill = ask_bill()
            if bill is not None:
                costs(fleet, bill, traffic)
        st.subheader("How long requests wait")
        distributions(info)
        st.subheader("Each server over time")
        timelines(info, run)
        st.subheader("Why prompt tokens were not hit")
        misses(fleet)


def _fine_print(info: Answer, warnings: tuple[str, ...]) -> None:
    with st.expander("What was taken for granted"):
        for sentence in (*info["assumptions"], *warnings):
            st.markdown(f"- {wording.plain(sentence)}")
