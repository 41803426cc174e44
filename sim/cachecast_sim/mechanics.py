"""The mechanics of prompt caches on small numbers that a reader can redo by hand."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cachecast_datasets.hashing import content_hash, token_block_hashes
from cachecast_pricing.rates import ClassPrices

PROMPT = (
    "You are a careful assistant . Answer in one sentence , and name the file you mean . "
    "The repository holds a parser , a lexer , a printer and their tests"
)
BLOCK_TOKENS = 4
DIMENSION, STEPS = 32, 64


@dataclass(frozen=True, slots=True)
class Edit:
    """A prompt sent after PROMPT: what was done to it, and how much of it a cache has."""

    name: str
    what: str
    tokens: int
    hit_tokens: int


def edits() -> list[Edit]:
    """PROMPT appended to, changed in the middle, at the start, and by one comma.

    A token is a word or a mark; the cache holds whole blocks of BLOCK_TOKENS tokens, each hashed
    with all blocks before it, so that the hit ends at the first block that differs.
    """
    words = PROMPT.split()
    middle, comma = words.index("repository"), words.index(",")
    return [
        _edit(
            "append", "five words more at the end", [*words, *["and", "a", "long", "change", "log"]]
        ),
        _edit("middle", "“repository” becomes “project”", _with(words, middle, ["project"])),
        _edit("start", "“Today ,” before the first word", ["Today", ",", *words]),
        _edit("punctuation", "the first comma is left out", _with(words, comma, [])),
    ]


def _with(words: list[str], at: int, new: list[str]) -> list[str]:
    return [*words[:at], *new, *words[at + 1 :]]


def _edit(name: str, what: str, words: list[str]) -> Edit:
    held, now = _hashes(PROMPT.split()), _hashes(words)
    blocks = 0
    while blocks < min(len(held), len(now)) and held[blocks] == now[blocks]:
        blocks += 1
    return Edit(name, what, len(words), blocks * BLOCK_TOKENS)


def _hashes(words: list[str]) -> list[int]:
    ids = [content_hash(word.encode()) & 0x7FFF_FFFF for word in words]
    found: list[int] = token_block_hashes(np.array(ids, dtype=np.int32), BLOCK_TOKENS).tolist()
    return found


def multiply_adds(dimension: int, steps: int, cached: bool) -> int:
    """Multiply-adds of one attention layer over steps t = 1 … `steps`.

    Without a cache a step projects the keys and values of all t tokens and one query, (2t + 1)d²,
    with one only the new token's three, 3d²; both weigh t scores, td.
    """
    squared = dimension * dimension
    total = 0
    for t in range(1, steps + 1):
        total += (3 if cached else 2 * t + 1) * squared + t * dimension
    return total


@dataclass(frozen=True, slots=True)
class BreakEven:
    """How many reads a written prefix needs before it is cheaper than no cache.

    Prices are picounits a token; `reads` None: never.
    """

    lifetime: str
    write: int
    read: int
    fresh: int
    reads: int | None


def break_even(prices: ClassPrices) -> list[BreakEven]:
    """For each lifetime that the model writes: one write and n reads against n + 1 plain passes."""
    fresh, read = prices.fresh, prices.cache_read
    if fresh is None or read is None:
        return []
    found = []
    for lifetime in ("5m", "30m", "1h", "12h"):
        write = getattr(prices, f"cache_write_{lifetime}")
        if write is not None:
            found.append(BreakEven(lifetime, write, read, fresh, reads_to_pay(write, read, fresh)))
    return found


def reads_to_pay(write: int, read: int, fresh: int) -> int | None:
    """The least n with write + n·read < (n + 1)·fresh; None where no number of reads pays."""
    if read >= fresh:
        return 0 if write < fresh else None
    premium = Fraction(write - fresh, fresh - read)
    return max(0, int(premium // 1) + 1) if premium >= 0 else 0
