"""The pages. To add one, write `pages/NAME.py` with a function `show(page)` and enter it here."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page: its module in `pages`, which is its address too, its title and its icon."""

    module: str
    title: str
    icon: str

    @property
    def address(self) -> str:
        """The end of its URL."""
        return self.module.replace("_", "-")


PAGES: Final = (
    PageEntry("overview", "Overview", ":material/dashboard:"),
    PageEntry("what_if", "What-if", ":material/tune:"),
    PageEntry("misses", "Misses", ":material/search:"),
    PageEntry("own_servers", "Own servers", ":material/dns:"),
    PageEntry("proof", "Proof", ":material/verified:"),
    PageEntry("sql", "SQL", ":material/database:"),
)
