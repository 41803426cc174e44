"""What the command hands to the script that Streamlit runs, as arguments of its own."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from cachecast.dashboard.catalogue import OWN_MODELS
from cachecast.dashboard.folder import DEFAULT


@dataclass(frozen=True, slots=True)
class Arguments:
    """The input to open at first (None: the person picks one), its scenario, the folder."""

    source: Path | None
    scenario: str
    folder: Path

    def as_list(self) -> list[str]:
        """The arguments as words."""
        source = [] if self.source is None else ["--source", str(self.source)]
        return ["--scenario", self.scenario, "--folder", str(self.folder), *source]


def read(words: list[str]) -> Arguments:
    """The words of `as_list` read back."""
    parser = argparse.ArgumentParser("cachecast dashboard", add_help=False)
    parser.add_argument("--source", type=Path)
    parser.add_argument("--scenario", default=OWN_MODELS)
    parser.add_argument("--folder", type=Path, default=DEFAULT)
    found = parser.parse_args(words)
    return Arguments(found.source, found.scenario, found.folder.expanduser())
