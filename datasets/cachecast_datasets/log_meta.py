"""What a whole log says about itself, and what evidence its rows carry. Knows no Parquet: whoever
only streams a log need not load it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cachecast_datasets.errors import at

EVIDENCE: tuple[str, ...] = ("text", "tokens", "blocks", "token_blocks", "counts")


@dataclass(frozen=True, slots=True)
class LogMeta:
    """What a whole log says about itself (Parquet key-value metadata).

    `evidence` is the strongest level its rows carry, in the order of `EVIDENCE`; `carries_markers`
    says whether the source could have shown cache markers (then no marker means none was sent);
    `keeps_partial_block` whether a last, partly filled token block has a hash.
    """

    source_format: str
    evidence: str
    carries_markers: bool
    keeps_partial_block: bool = False
    time_origin: str = "relative"
    tokenizer: str | None = None
    salt_id: str | None = None
    text_seen: bool = False


def merged_meta(metas: Sequence[LogMeta], paths: Sequence[Path]) -> LogMeta:
    """What the merged log says about itself. LogError if two kinds of times or of markers mix."""
    first = metas[0]
    _check_markers(metas, paths)
    for meta, path in zip(metas, paths, strict=True):
        if meta.time_origin != first.time_origin:
            problem = (
                f"its times are {meta.time_origin}, those of {paths[0]} are {first.time_origin}; "
                "expected one kind in an import"
            )
            raise at(str(path), None, problem)
    if all(meta == first for meta in metas):
        return first
    return LogMeta(
        source_format="+".join(sorted({meta.source_format for meta in metas})),
        evidence=min((meta.evidence for meta in metas), key=EVIDENCE.index),
        carries_markers=any(meta.carries_markers for meta in metas),
        keeps_partial_block=any(meta.keeps_partial_block for meta in metas),
        time_origin=first.time_origin,
        tokenizer="; ".join(sorted({m.tokenizer for m in metas if m.tokenizer})) or None,
        text_seen=any(meta.text_seen for meta in metas),
    )


def _check_markers(metas: Sequence[LogMeta], paths: Sequence[Path]) -> None:
    """Where content blocks are known, a missing marker must mean the same in every source."""
    known = [
        (meta, path)
        for meta, path in zip(metas, paths, strict=True)
        if meta.evidence in ("text", "blocks")
    ]
    for meta, path in known:
        if meta.carries_markers != known[0][0].carries_markers:
            can = {True: "can show", False: "cannot show"}
            problem = (
                f"its source {can[meta.carries_markers]} cache markers, that of {known[0][1]} "
                f"{can[not meta.carries_markers]} them; expected one kind in an import"
            )
            raise at(str(path), None, problem)
