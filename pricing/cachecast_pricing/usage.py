"""Disjoint token classes: the one form of usage that everything after the normalisers reads."""

from typing import NamedTuple

# The order of the JSON contract; the first seven are disjoint and sum to the prompt.
PROMPT_CLASSES: tuple[str, ...] = (
    "fresh", "cache_read", "cache_write_5m", "cache_write_30m", "cache_write_1h",
    "cache_write_12h", "cache_write_unknown",
)  # fmt: skip
CLASSES: tuple[str, ...] = (*PROMPT_CLASSES, "output")


class Usage(NamedTuple):
    """Tokens of one request by class, disjoint; `output` includes reasoning.

    `cache_write_unknown` are written tokens whose lifetime the source does not tell. A named tuple
    because one is made for every request and scenario.
    """

    fresh: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_30m: int = 0
    cache_write_1h: int = 0
    cache_write_12h: int = 0
    cache_write_unknown: int = 0
    output: int = 0

    @property
    def prompt_tokens(self) -> int:
        """The whole prompt: every class but `output`."""
        return (
            self.fresh + self.cache_read + self.cache_write_5m + self.cache_write_30m
            + self.cache_write_1h + self.cache_write_12h + self.cache_write_unknown
        )  # fmt: skip

    @property
    def cache_write(self) -> int:
        """Written tokens of every lifetime."""
        return (
            self.cache_write_5m + self.cache_write_30m + self.cache_write_1h
            + self.cache_write_12h + self.cache_write_unknown
        )  # fmt: skip

    def as_dict(self) -> dict[str, int]:
        """The eight keys of the JSON contract, always all present."""
        return {name: getattr(self, name) for name in CLASSES}
