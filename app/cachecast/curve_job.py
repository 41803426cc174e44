"""The `curve` job: open the log as token blocks, run them through the curves, choose the points."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from cachecast.progress import Report
from cachecast_datasets.prefix_blocks import BlockLog
from cachecast_datasets.trace import Trace
from cachecast_sim.curve.block_size import BlockSize
from cachecast_sim.curve.curves import CurveBuilder, Curves, Ratios
from cachecast_sim.curve.points import (
    LIVES_US,
    SHARES,
    chart_capacities,
    chart_lives,
    merged,
    table_capacities,
    table_lives,
)
from cachecast_sim.curve.worth import TokenWorth


@dataclass(frozen=True, slots=True)
class Question:
    """What a person asked for; None for points that are theirs to be chosen."""

    block_tokens: int | None = None
    capacities: tuple[int, ...] | None = None
    lives_us: tuple[int, ...] | None = None
    refresh: bool = True
    sample: float | None = None
    bytes_per_token: int | None = None  # of KV cache, for capacities in GiB
    worth: TokenWorth | None = None  # of a hit token, for the money


@dataclass(frozen=True, slots=True)
class Reached:
    """What it takes to have `share` of the ideal's hit blocks; `ttl_us` with refresh."""

    share: Fraction
    blocks: int
    ttl_us: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """The curves with the points to show: few for a table, many for a chart and for scripts."""

    question: Question
    curves: Curves
    notes: list[str]

    @property
    def capacities(self) -> list[int]:
        """For the table."""
        asked = self.question.capacities
        return table_capacities(self.curves) if asked is None else list(asked)

    @property
    def lives_us(self) -> list[int]:
        """For the table."""
        asked = self.question.lives_us
        return table_lives(self.curves) if asked is None else list(asked)

    @property
    def many_capacities(self) -> list[int]:
        """For scripts and charts."""
        asked = self.question.capacities
        return chart_capacities(self.curves) if asked is None else list(asked)

    @property
    def many_lives_us(self) -> list[int]:
        """For scripts and charts; without refresh only some are known."""
        if self.question.lives_us is not None:
            return list(self.question.lives_us)
        if not self.question.refresh:
            return self.lives_us
        return chart_lives(self.curves)

    def at_ttl(self, ttl_us: int) -> Ratios:
        """The ratios with this lifetime, refreshed or not as it was asked."""
        return self.curves.at_ttl(ttl_us, self.question.refresh)

    def gib(self, blocks: int) -> float | None:
        """The memory that so many blocks take."""
        if self.question.bytes_per_token is None:
            return None
        return blocks * self.curves.block_tokens * self.question.bytes_per_token / 2**30

    def saved(self, found: Ratios) -> int | None:
        """Picounits that these hits save; None without prices, or where lengths are unknown."""
        worth = self.question.worth
        if worth is None or found.hit_tokens is None:
            return None
        return worth.saved(found.hit_tokens)

    def reached(self) -> list[Reached]:
        """What 50, 90, 99 and 100 % of the ideal take; nothing where nothing hits."""
        found = ((s, self.curves.capacity_for(s), self.curves.ttl_for(s)) for s in SHARES)
        return [Reached(s, blocks, ttl_us) for s, blocks, ttl_us in found if blocks is not None]


def answer(trace: Trace, name: str, question: Question, report: Report) -> Answer:
    """The curves of a log; `name` is the log's as a person gave it.

    Raises BadInput for blocks of several sizes, a size that does not fit the log's and a sample
    that says nothing; EvidenceError for a log that does not know what prompts share.
    """
    log = BlockLog(trace, name, question.block_tokens)
    size = BlockSize(log.block_tokens, question.block_tokens, log.keeps_partial)
    lives_us: Sequence[int] = ()
    if not question.refresh:
        lives_us = merged(LIVES_US if question.lives_us is None else question.lives_us)
    builder = CurveBuilder(size, lives_us, question.sample)
    done = 0
    for requests in log:
        builder.add(requests)
        done += len(requests.arrival_us)
        report("following blocks", done, trace.rows)
    curves = builder.curves()
    notes = _notes(log, size, curves)
    if question.worth is not None:
        notes += question.worth.assumptions
    return Answer(question, curves, notes)


def _notes(log: BlockLog, size: BlockSize, curves: Curves) -> list[str]:
    """What a person has to know to read the curves rightly."""
    notes = []
    if not curves.requests:
        notes.append("the log has no requests with token blocks")
    if log.left_out:
        notes.append(f"{log.left_out:,} requests without token blocks are left out")
    if log.of_content:
        notes.append(
            f"the log's content blocks were cut into blocks of {size.tokens} tokens "
            "(--block-tokens); what two different content blocks share is not seen"
        )
    if log.estimated:
        notes.append(
            f"{log.estimated:,} requests do not say their prompt tokens: the estimate of their "
            "content blocks is taken"
        )
    if size.parts > 1:
        notes.append(
            f"the log's blocks hold {size.tokens * size.parts} tokens, so what prompts share "
            "inside one of them is not seen: smaller blocks may hit more than this"
        )
    if log.scopes > 1:
        notes.append(
            f"block ids are local to each of the log's {log.scopes:,} sessions or files; what "
            "those share is not seen, so one cache for all may hit more than this"
        )
    if curves.unchained:
        notes.append(
            f"in {curves.unchained:,} requests a block was there without the one before it: the "
            "log's ids do not name whole prefixes"
        )
    if curves.requests and curves.prompt_tokens is None:
        notes.append("some prompts have no length in the log: token hit ratios are unknown")
    if curves.sample is not None:
        notes.append(
            f"estimated from {curves.sampled_blocks:,} of {curves.total_blocks:,} blocks (a share "
            f"of {curves.sample:g} of the distinct ones); intervals hold in 95 of 100 samples"
        )
    return notes
