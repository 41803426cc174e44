"""From a click on What-if to the new numbers, control by control, in a real browser.

    python benchmarks/dashboard_controls.py                # the built-in example
    python benchmarks/dashboard_controls.py LOG --as log --rounds 3

Each round has a server of its own with an empty folder, so that every change is worked out anew;
only the baseline is there. The median of the rounds. It needs chromium.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from cachecast.dashboard.opened import example_path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from dashboard_server import CHROMIUM_FLAGS, Server, chromium, serving, settle, wait_for

VIEW: ViewportSize = {"width": 1280, "height": 800}
PRICE_S, SIMULATION_S = 1.0, 3.0  # the goals


METRICS = """() => [...document.querySelectorAll('[data-testid="stMetric"]')]
    .map(metric => metric.innerText).join('|')"""


def changed(page: Page, before: str) -> None:
    """Wait for a scenario's numbers against the bill of today."""
    wait_for(page, "stMetricDelta")


def served(page: Page, before: str) -> None:
    """Wait for a fleet's numbers, others than those that the page showed before."""
    page.wait_for_function(
        f"""before => {{
            const shown = ({METRICS})();
            return shown.includes('Time to first token') && shown !== before;
        }}""",
        arg=before,
        polling="raf",
    )


@dataclass(frozen=True, slots=True)
class Control:
    """What is clicked or typed, the change that it makes, and how soon its numbers should come.

    `shown` waits for them. `on` is the page; one that is `there` already stands as it was left.
    """

    change: str
    goal_s: float
    use: Callable[[Page], None]
    shown: Callable[[Page, str], None] = changed
    on: str = "what-if"
    there: bool = False


def pick(label: str, option: str) -> Callable[[Page], None]:
    """Choose or type into a box."""

    def use(page: Page) -> None:
        box = page.get_by_role("combobox", name=label, exact=True)
        box.click()
        box.fill(option)
        box.press("Enter")

    return use


def press(label: str) -> Callable[[Page], None]:
    """Press one of a few buttons."""
    return lambda page: page.get_by_role("radio", name=label, exact=True).click()


def toggle(label: str) -> Callable[[Page], None]:
    """Switch something on."""
    return lambda page: page.get_by_text(label, exact=True).click()


def write(text: str) -> Callable[[Page], None]:
    """Type among the other changes."""

    def use(page: Page) -> None:
        page.get_by_text("The prompts themselves, and every other change").click()
        box = page.get_by_role("textbox", name="Other changes")
        box.fill(text)
        box.press("Enter")

    return use


def visit(name: str) -> Callable[[Page], None]:
    """Go to a page of the navigation."""
    return lambda page: page.get_by_role("link", name=name).click()


def several(*uses: Callable[[Page], None]) -> Callable[[Page], None]:
    """One after the other, as fast as the page takes it."""

    def use(page: Page) -> None:
        for one in uses:
            one(page)

    return use


CONTROLS = (
    Control("ttl=1h", PRICE_S, press("1h")),
    Control("batch", PRICE_S, toggle("Batch API")),
    Control("model=gpt-6-sol", PRICE_S, write("model=gpt-6-sol")),
    Control("mark=last", SIMULATION_S, pick("Markers", "last")),
    Control("mark=every16", SIMULATION_S, pick("Markers", "every16")),
    Control("keep-alive=290x1", SIMULATION_S, pick("Keep-alive", "290")),
    Control("ttl=1h,keep-alive=3300x1", SIMULATION_S, write("ttl=1h,keep-alive=3300x1")),
    Control("ttl=1h,mark=every16", SIMULATION_S, write("ttl=1h,mark=every16")),
    Control("tenant=shared", SIMULATION_S, write("tenant=shared")),
    Control("fleet, the first", SIMULATION_S, press("Own servers"), served),
    Control(
        "fleet, another router", SIMULATION_S, pick("Router", "least_loaded"), served, there=True
    ),
    Control("fleet, 8B", SIMULATION_S, pick("Model", "llama-3.1-8b"), served, there=True),
    Control("servers", SIMULATION_S, visit("Own servers"), served, ""),
    Control(
        "servers, another router", SIMULATION_S, pick("Router", "least loaded"), served, there=True
    ),
)


def main() -> None:
    """Print a line a control."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("log", nargs="?", type=Path, default=example_path())
    parser.add_argument("--as", dest="scenario", default="claude-opus-5")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", metavar="CHANGE", help="leave out the others")
    asked = parser.parse_args()
    path = chromium()
    if path is None:
        print("no chromium on the PATH: nothing measured")
        return
    controls = [one for one in CONTROLS if not asked.only or one.change in asked.only]
    words = (str(asked.log), "--as", asked.scenario)
    taken: dict[str, list[float]] = {one.change: [] for one in controls}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM_FLAGS))
        for _ in range(asked.rounds):
            with (
                tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
                serving(Path(folder), *words) as server,
            ):
                _round(browser, server, controls, taken)
        for one in controls:
            times = taken[one.change]
            print(
                f"{one.change:<26} {statistics.median(times):>6.2f} s, worst {max(times):.2f} s "
                f"(goal {one.goal_s:.0f} s)",
                flush=True,
            )
        browser.close()


def _round(
    browser: Browser, server: Server, controls: list[Control], taken: dict[str, list[float]]
) -> None:
    """Every control once, each on a page of its own."""
    page = browser.new_context(viewport=VIEW).new_page()
    page.set_default_timeout(120_000)
    page.goto(server.url)
    settle(page)  # what the Overview asks for is not to be in the way
    for one in controls:
        if not one.there:
            page.goto(f"{server.url}/{one.on}")
        settle(page)
        before: str = page.evaluate(METRICS)
        started = time.perf_counter()
        one.use(page)
        one.shown(page, before)
        taken[one.change].append(time.perf_counter() - started)
        print(f"  {one.change} {taken[one.change][-1]:.2f} s", flush=True)


if __name__ == "__main__":
    main()
