"""A batch of a log that knows only token blocks, as plain lists: for the columnar path."""

from copy import copy
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cachecast_datasets.decode import repeated_strings, requests_of, scalars
from cachecast_datasets.request import Boundaries, Request

_SCALARS = (
    "first_token_s", "end_s", "account", "hash_scope", "provider", "model", "platform",
    "prompt_tokens", "output_tokens", "session_id", "agent_id", "tools_tokens", "system_tokens",
    "token_block_size",
)  # fmt: skip
# Where any row has one of these, the batch needs whole requests.
_MUST_BE_ABSENT = (
    "blocks", "settings", "speed", "cache_mode", "status", "service_tier", "is_batch", "region",
    "observed",
)  # fmt: skip
COLUMNS: tuple[str, ...] = (*_SCALARS, *_MUST_BE_ABSENT, "boundaries")
BLOCKS = "token_blocks"  # beside COLUMNS, where rules look at single blocks


class TurnColumns:
    """Parallel lists, one item a request; boundaries as flat lists from `starts` to `ends`.

    `blocks` are the ids of all token blocks where they were read, those of a row from one of
    `block_offsets` to the next; rows in `blockless` have null.
    """

    __slots__ = (
        *_SCALARS, "arrival_us", "block_offsets", "blockless", "blocks", "ends", "hashes", "ids",
        "names", "positions", "rows", "starts", "tokens",
    )  # fmt: skip

    rows: int
    ids: pa.StringArray
    arrival_us: list[int]
    first_token_s: list[float | None]
    end_s: list[float | None]
    account: list[str | None]
    hash_scope: list[str | None]
    provider: list[str | None]
    model: list[str | None]
    platform: list[str | None]
    prompt_tokens: list[int]
    output_tokens: list[int | None]
    session_id: list[str | None]
    agent_id: list[str | None]
    tools_tokens: list[int | None]
    system_tokens: list[int | None]
    token_block_size: list[int | None]
    starts: list[int]
    ends: list[int]
    tokens: list[int]
    hashes: list[int]
    names: list[str]
    positions: list[int | None]
    blocks: npt.NDArray[np.uint64] | None
    block_offsets: list[int]
    blockless: frozenset[int]

    def token_blocks(self, row: int) -> npt.NDArray[np.uint64] | None:
        """The ids of the row's token blocks; None if it has none, or they were not read."""
        if self.blocks is None or row in self.blockless:
            return None
        return self.blocks[self.block_offsets[row] : self.block_offsets[row + 1]]

    def with_blocks(self, column: pa.ListArray) -> "TurnColumns":
        """The same rows with their token blocks, which `column` holds."""
        made = copy(self)
        made.blocks = column.values.to_numpy()
        made.block_offsets = column.offsets.to_numpy().tolist()
        made.blockless = frozenset(np.flatnonzero(column.is_null()).tolist())
        return made

    def without_blocks(self) -> "TurnColumns":
        """The same rows without their token blocks, which are most of what they take."""
        made = copy(self)
        made.blocks, made.block_offsets = None, []
        return made

    def request_id(self, row: int) -> str:
        """The id of the row: few are asked for."""
        return str(self.ids[row].as_py())

    def request(self, row: int) -> Request:
        """The row as a Request."""
        span = slice(self.starts[row], self.ends[row])
        made = Request(request_id=self.request_id(row), arrival_us=self.arrival_us[row])
        for name in _SCALARS:
            setattr(made, name, getattr(self, name)[row])
        made.boundaries = Boundaries(
            self.tokens[span], self.hashes[span], self.names[span], self.positions[span]
        )
        made.token_blocks = self.token_blocks(row)
        return made


def turn_columns(batch: pa.RecordBatch) -> TurnColumns | list[Request]:
    """The batch (with COLUMNS, maybe BLOCKS) as lists; as Requests if one of its rows needs a
    whole one."""
    present: dict[str, Any] = {
        name: column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
        if column.null_count < len(column)
    }
    boundaries, prompts = present.get("boundaries"), present.get("prompt_tokens")
    if any(name in present for name in _MUST_BE_ABSENT) or boundaries is None or prompts is None:
        return list(requests_of(batch))
    if boundaries.null_count or prompts.null_count:
        return list(requests_of(batch))
    made = TurnColumns()
    made.rows, made.blocks = batch.num_rows, None
    made.ids = present["request_id"]
    made.arrival_us = scalars(present["arrival"])
    for name in _SCALARS:
        column = present.get(name)
        values = [None] * batch.num_rows if column is None else scalars(column)
        setattr(made, name, values)
    offsets = boundaries.offsets.to_numpy().tolist()
    made.starts, made.ends = offsets[:-1], offsets[1:]
    struct = boundaries.values
    made.tokens = scalars(struct.field("tokens"))
    made.hashes = scalars(struct.field("hash"))
    made.names = repeated_strings(struct.field("name"))
    positions = struct.field("position")
    unknown = positions.null_count == len(positions)
    made.positions = list(repeat(None, len(positions))) if unknown else scalars(positions)
    return made.with_blocks(batch.column(BLOCKS)) if BLOCKS in batch.schema.names else made
