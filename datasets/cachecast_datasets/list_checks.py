"""Checks of the list columns: content blocks, boundaries, token blocks and token ids."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cachecast_datasets.limits import MAX_TOKENS
from cachecast_datasets.masks import Fault, Mask, beyond, not_among, nulls, without_nulls
from cachecast_datasets.request import BOUNDARY_NAMES, KINDS, MARKERS, SECTIONS

_Columns = dict[str, pa.Array]
_PLAIN_LISTS = ("token_blocks", "token_ids", "output_token_ids", "input_types", "output_types")


class _Elements:
    """The elements of a list column, all rows in one, and where each row's begin."""

    def __init__(self, name: str, array: pa.Array) -> None:
        self.name = name
        self.flat = array.flatten()
        lengths = pc.fill_null(pc.list_value_length(array), 0)
        self.lengths: npt.NDArray[np.int64] = lengths.to_numpy().astype(np.int64)
        self.ends = np.cumsum(self.lengths)
        self.starts = self.ends - self.lengths

    def child(self, field: str) -> pa.Array:
        return self.flat.field(field)

    def fault(self, inside: Mask, accepted: str, field: str | None = None) -> Fault:
        """The rows that hold one of the elements `inside`."""
        rows = np.zeros(len(self.lengths), dtype=bool)
        hits = np.flatnonzero(inside)
        if len(hits):
            rows[np.searchsorted(self.ends, hits, side="right")] = True
        column = self.name if field is None else f"{self.name}.{field}"
        return Fault(rows, column, accepted, self.first(inside, field))

    def first(self, inside: Mask, field: str | None) -> Callable[[int], tuple[str, Any]]:
        """For messages: the first such element of a row, with its index and value."""

        def found(row: int) -> tuple[str, Any]:
            start, end = int(self.starts[row]), int(self.ends[row])
            index = int(np.argmax(inside[start:end]))
            element = self.flat[start + index].as_py()
            if field is None or element is None:
                return f"{self.name}[{index}]", element
            return f"{self.name}[{index}].{field}", element[field]

        return found

    def sums(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The sum of `values` (one an element) over each row."""
        running = np.concatenate(([0], np.cumsum(values)))
        found: npt.NDArray[np.int64] = running[self.ends] - running[self.starts]
        return found


def list_faults(columns: _Columns) -> Iterator[Fault]:
    """The faults of all list columns that the batch has."""
    for name in _PLAIN_LISTS:
        if name in columns and columns[name].values.null_count:
            elements = _Elements(name, columns[name])
            yield elements.fault(nulls(elements.flat), "no nulls inside")
    if "token_blocks" in columns:
        yield from _block_size(columns)
        yield from _block_count(columns)
    blocks = _elements("blocks", columns)
    if blocks is not None:
        yield from _block_faults(blocks)
        yield from _block_sums(blocks, columns)
    boundaries = _elements("boundaries", columns)
    if boundaries is not None:
        yield from _boundary_faults(boundaries, columns)
        if blocks is not None:
            yield from _one_each(boundaries, blocks, columns)


def _elements(name: str, columns: _Columns) -> _Elements | None:
    array = columns.get(name)
    return _Elements(name, array) if array is not None and len(array.values) else None


def _block_size(columns: _Columns) -> Iterator[Fault]:
    blocks, size = columns["token_blocks"], columns.get("token_block_size")
    if blocks.null_count == len(blocks):
        return
    missing = np.ones(len(blocks), dtype=bool) if size is None else nulls(size)
    given = missing & ~nulls(blocks)
    accepted = "the tokens of a block (>= 1) beside token_blocks"
    yield Fault(given, "token_block_size", accepted, lambda row: ("token_block_size", None))


def _block_count(columns: _Columns) -> Iterator[Fault]:
    if "prompt_tokens" not in columns or "token_block_size" not in columns:
        return
    array, size, tokens = (
        columns[name] for name in ("token_blocks", "token_block_size", "prompt_tokens")
    )
    unknown = nulls(array) | nulls(size) | nulls(tokens)
    offsets = array.offsets.to_numpy()
    counts = offsets[1:] - offsets[:-1]
    per_block = np.where(unknown, 1, without_nulls(size).to_numpy())
    prompt = np.where(unknown, 0, without_nulls(tokens).to_numpy())
    unknown |= (per_block < 1) | (prompt < 0)  # said by their own checks
    per_block = np.maximum(per_block, 1)
    floor, ceiling = prompt // per_block, -(-prompt // per_block)

    def accepted(row: int) -> str:
        few, many = floor[row], ceiling[row]
        count = str(few) if few == many else f"{few} or {many}"
        return (
            f"{count} blocks for {prompt[row]} prompt_tokens in blocks of {per_block[row]} "
            f"(it has {counts[row]})"
        )

    yield Fault(~unknown & (counts != floor) & (counts != ceiling), "token_blocks", accepted)


def _block_faults(blocks: _Elements) -> Iterator[Fault]:
    yield blocks.fault(nulls(blocks.flat), "no nulls inside")
    for field, known in (("section", SECTIONS), ("kind", KINDS)):
        array = blocks.child(field)
        wrong = nulls(array) | not_among(array, known)
        yield blocks.fault(wrong, "one of " + ", ".join(known), field)
    array = blocks.child("marker")
    yield blocks.fault(not_among(array, MARKERS), "null or one of " + ", ".join(MARKERS), "marker")
    yield from _numbers(blocks, ("message", "tokens", "hash"))


def _numbers(elements: _Elements, fields: tuple[str, ...]) -> Iterator[Fault]:
    for field in fields:
        array = elements.child(field)
        if field == "hash":
            yield elements.fault(nulls(array), "a number, never null", field)
            continue
        yield elements.fault(nulls(array) | beyond(array, 0), ">= 0, never null", field)
        if field == "tokens":
            wrong = beyond(array, 0, MAX_TOKENS)
            yield elements.fault(wrong, f"at most {MAX_TOKENS}", field)


def _known(array: pa.Array) -> npt.NDArray[np.int64]:
    """The numbers of a column whose faults other checks tell, 0 for those."""
    wrong = nulls(array) | beyond(array, 0, MAX_TOKENS)
    return np.where(wrong, 0, without_nulls(array).to_numpy()).astype(np.int64)


def _block_sums(blocks: _Elements, columns: _Columns) -> Iterator[Fault]:
    if "prompt_tokens" not in columns:
        return
    prompts = columns["prompt_tokens"]
    sums, prompt = blocks.sums(_known(blocks.child("tokens"))), _known(prompts)
    given = ~nulls(columns["blocks"]) & ~nulls(prompts)
    yield Fault(
        given & (sums > prompt),  # what follows the last marker may be in no block
        "prompt_tokens",
        lambda row: f"at least {sums[row]}, the sum of its blocks' tokens",
    )


def _boundary_faults(boundaries: _Elements, columns: _Columns) -> Iterator[Fault]:
    yield boundaries.fault(nulls(boundaries.flat), "no nulls inside")
    names, tokens = boundaries.child("name"), boundaries.child("tokens")
    wrong = nulls(names) | not_among(names, BOUNDARY_NAMES)
    yield boundaries.fault(wrong, "one of " + ", ".join(BOUNDARY_NAMES), "name")
    yield from _numbers(boundaries, ("tokens", "hash"))
    position = boundaries.child("position")
    yield boundaries.fault(beyond(position, 0), "null or >= 0", "position")
    values = _known(tokens)
    held = boundaries.lengths > 0
    last = boundaries.ends[held] - 1
    before = np.concatenate(([0], values[:-1]))
    before[boundaries.starts[held]] = 0
    # content blocks may have no tokens; runs of token blocks end with `end` and stand apart
    apart = np.zeros(len(held), dtype=bool)
    apart[held] = ~not_among(names.take(pa.array(last)), ("end",)) & ~nulls(names)[last]
    least = before + np.repeat(apart, boundaries.lengths)
    descends = values < least
    fault = boundaries.fault(descends, "", "tokens")

    def more(row: int) -> str:
        start, end = int(boundaries.starts[row]), int(boundaries.ends[row])
        index = start + int(np.argmax(descends[start:end]))
        return f"at least {least[index]} (ascending" + (", each once)" if apart[row] else ")")

    yield fault._replace(accepted=more)
    if "prompt_tokens" in columns:
        prompts = columns["prompt_tokens"]
        prompt = _known(prompts)
        far = np.zeros(len(values), dtype=bool)
        owners = np.flatnonzero(held)
        far[last] = (values[last] > prompt[owners]) & ~nulls(prompts)[owners]
        yield boundaries.fault(far, "", "tokens")._replace(
            accepted=lambda row: f"at most {prompt[row]}, the prompt_tokens"
        )


def _one_each(boundaries: _Elements, blocks: _Elements, columns: _Columns) -> Iterator[Fault]:
    both = ~nulls(columns["boundaries"]) & ~nulls(columns["blocks"])
    uneven = both & (boundaries.lengths != blocks.lengths)
    yield Fault(
        uneven,
        "boundaries",
        lambda row: f"{blocks.lengths[row]}, one for each content block",
        lambda row: ("the number of boundaries", int(boundaries.lengths[row])),
    )
    fits = both & ~uneven
    ours = np.repeat(fits, boundaries.lengths)
    theirs = np.repeat(fits, blocks.lengths)
    sizes = _known(blocks.child("tokens"))
    running = np.cumsum(sizes) - np.repeat(
        np.concatenate(([0], np.cumsum(sizes)))[blocks.starts], blocks.lengths
    )
    wrong = np.zeros(len(ours), dtype=bool)
    wrong[ours] = _known(boundaries.child("tokens"))[ours] != running[theirs]
    yield boundaries.fault(wrong, "the tokens of the content blocks up to there", "tokens")
