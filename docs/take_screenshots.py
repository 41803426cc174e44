"""Every page of the dashboard in two widths and both themes: `make screenshots`.

`--readme` writes docs/dashboard.png instead, the one that the README shows.
"""

import argparse
import io
import tempfile
from pathlib import Path
from typing import Literal

from dashboard_server import CHROMIUM_FLAGS, chromium, serving, settle
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from cachecast.dashboard.opened import example_path
from cachecast.dashboard.page_list import PAGES

WIDTHS = (1280, 800)
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
README_CHANGE = "volatile%3Ddrop%2Corder%3Dstable"
README_PICTURE = Path(__file__).parent / "dashboard.png"


def main() -> None:
    """Take them all, or the one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("screenshots"))
    parser.add_argument("--log", default=str(example_path()))
    parser.add_argument("--as", dest="scenario", default="claude-opus-5")
    parser.add_argument("--pages", default=",".join(entry.address for entry in PAGES))
    parser.add_argument("--readme", action="store_true")
    asked = parser.parse_args()
    path = chromium()
    if path is None:
        parser.error("no chromium on the PATH; on Debian: apt-get install chromium")
    with tempfile.TemporaryDirectory() as kept, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM_FLAGS))
        with serving(Path(kept), asked.log, "--as", asked.scenario) as server:
            if asked.readme:
                address = f"{server.url}/what-if?change={README_CHANGE}"
                picture = _take(browser, address, 1280, "light", whole=False)
                _small(picture).save(README_PICTURE, optimize=True)
                return
            asked.folder.mkdir(parents=True, exist_ok=True)
            for page in asked.pages.split(","):
                address = f"{server.url}/{'' if page == PAGES[0].address else page}"
                for width in WIDTHS:
                    for theme in THEMES:
                        picture = _take(browser, address, width, theme, whole=True)
                        file = asked.folder / f"{page}-{width}-{theme}.png"
                        file.write_bytes(picture)
                        print(file)
        browser.close()


def _take(
    browser: Browser, address: str, width: int, theme: Literal["light", "dark"], *, whole: bool
) -> bytes:
    """A PNG of the page at 800 high, or with all that scrolls."""
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=theme, reduced_motion="reduce"
    )
    with context:
        page = context.new_page()
        page.goto(address)
        settle(page)
        if whole:
            main = page.get_by_test_id("stMain")
            height = main.evaluate("element => element.scrollHeight")
            page.set_viewport_size({"width": width, "height": max(800, height + 60)})
            settle(page)
        page.wait_for_timeout(600)  # charts draw after the page stands still
        return page.screenshot()


def _small(picture: bytes) -> Image.Image:
    """The same with a palette of 128 colours, a third of the size."""
    return Image.open(io.BytesIO(picture)).convert("RGB").quantize(128)


if __name__ == "__main__":
    main()
