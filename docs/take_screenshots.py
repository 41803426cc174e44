"""Every page of the dashboard in two widths and both themes: `make screenshots`.

Two logs: the built-in example, and a longer one of conversations with which own servers have
something to do. Proof compares small runs that are made for it. `--log` takes another log alone;
`--readme` writes docs/dashboard.png instead, the one that the README shows.
"""

import argparse
import io
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from dashboard_server import CHROMIUM_FLAGS, chromium, drawn, serving, settle
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from screenshot_runs import make_log, make_runs

from cachecast.dashboard.opened import example_path
from cachecast.dashboard.page_list import PAGES

WIDTHS = (1280, 800)
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
README_CHANGE = "volatile%3Ddrop%2Corder%3Dstable"
README_PICTURE = Path(__file__).parent / "dashboard.png"
SCENARIOS = f"?change={README_CHANGE}&keep=An hour~ttl%3D1h&keep=Pings~keep-alive%3D290x3"
# Each step waits for what it needs, not for a time: this is only where it gives up, and the machine
# may be busy with something else for minutes.
_LONG_MS = 900_000


_MONEY, _SHARE = re.compile(r"^\$\d"), re.compile("%$")


class View(NamedTuple):
    """A log and the pages of it that are taken."""

    name: str
    log: str
    pages: tuple[str, ...]


def main() -> None:
    """Take them all, or the one."""
    asked = _asked()
    expect.set_options(timeout=_LONG_MS)
    with tempfile.TemporaryDirectory() as kept, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(CHROMIUM_FLAGS))
        if asked.readme:
            with serving(Path(kept), str(example_path()), "--as", asked.scenario) as server:
                address = f"{server.url}/what-if?change={README_CHANGE}"
                picture = _take(browser, address, 1280, "light", whole=False)
                _small(picture).save(README_PICTURE, optimize=True)
        else:
            asked.folder.mkdir(parents=True, exist_ok=True)
            made = (asked.keep or Path(kept)).resolve()
            for view in _views(asked, made):
                _take_all(browser, view, asked, made, Path(kept))
        browser.close()


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("screenshots"))
    parser.add_argument("--log", help="this log alone")
    parser.add_argument("--as", dest="scenario", default="claude-opus-5")
    parser.add_argument("--pages", default=",".join(entry.address for entry in PAGES))
    parser.add_argument("--keep", type=Path, help="runs and log are made there, once")
    parser.add_argument("--readme", action="store_true")
    if chromium() is None:
        parser.error("no chromium on the PATH; on Debian: apt-get install chromium")
    return parser.parse_args()


def _views(asked: argparse.Namespace, made: Path) -> Iterator[View]:
    pages = tuple(asked.pages.split(","))
    if "proof" in pages:
        make_runs(made / "runs")
    if asked.log is not None:
        yield View("log", asked.log, pages)
        return
    yield View("example", str(example_path()), tuple(p for p in pages if p != "own-servers"))
    others = tuple(page for page in pages if page not in ("proof", "sql"))
    if others:
        yield View("conversations", str(make_log(made)), others)


def _take_all(
    browser: Browser, view: View, asked: argparse.Namespace, made: Path, kept: Path
) -> None:
    runs = made / "runs"
    where = runs if runs.exists() else kept
    with serving(kept / view.name, view.log, "--as", asked.scenario, cwd=where) as server:
        for page in view.pages:
            address = f"{server.url}/{'' if page == PAGES[0].address else page}"
            for width in WIDTHS:
                for theme in THEMES:
                    picture = _take(browser, address, width, theme, whole=True)
                    file = asked.folder / f"{view.name}-{page}-{width}-{theme}.png"
                    file.write_bytes(picture)
                    print(file, flush=True)


def _take(
    browser: Browser, address: str, width: int, theme: Literal["light", "dark"], *, whole: bool
) -> bytes:
    """A PNG of the page at 800 high, or with all that scrolls."""
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=theme, reduced_motion="reduce"
    )
    with context:
        context.set_default_timeout(_LONG_MS)
        page = context.new_page()
        page.goto(address + (SCENARIOS if address.endswith("what-if") else ""))
        settle(page)
        _fill_in(page, address)
        drawn(page)
        if whole:
            block = page.get_by_test_id("stMainBlockContainer")
            height = block.evaluate("block => block.getBoundingClientRect().height")
            page.set_viewport_size({"width": width, "height": max(800, round(height))})
            drawn(page)
        return page.screenshot()


def _fill_in(page: Page, address: str) -> None:
    """What a person would type before the page has all that it can show."""
    if address.endswith("own-servers"):
        _type(page.get_by_role("textbox", name="Price of a GPU hour"), "2.50")
        expect(_tile(page, "GPU cost")).to_have_text(_MONEY)
        _type(page.get_by_role("spinbutton", name="Traffic"), "40")
        # the page of the traffic before stands still, too: the address tells them apart
        expect(page).to_have_url(re.compile("fleet=traffic"))
        settle(page)
        expect(_tile(page, "GPU cost")).to_have_text(_MONEY)
    elif address.endswith("proof"):
        again = page.get_by_role("combobox", name="Measured again")
        again.click()
        page.get_by_role("option", name="measured-again", exact=True).click()
        expect(_tile(page, "Noise floor of TTFT")).to_have_text(_SHARE)


def _type(field: Locator, text: str) -> None:
    field.fill(text)
    field.press("Enter")


def _tile(page: Page, label: str) -> Locator:
    """The large number under a label."""
    tile = page.get_by_test_id("stMetric").filter(has_text=label)
    return tile.get_by_test_id("stMetricValue")


def _small(picture: bytes) -> Image.Image:
    """The same with a palette of 128 colours, a third of the size."""
    return Image.open(io.BytesIO(picture)).convert("RGB").quantize(128)


if __name__ == "__main__":
    main()
