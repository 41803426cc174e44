"""One request of a log, as every reader hands it on and every rule reads it.

Absent is None, and None is unknown, never zero. Times are integer microseconds from the log's own
zero; `arrival_us` is when the request was sent. Tokens are ints. Hashes are unsigned 64-bit ints.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Section = Literal["tools", "system", "developer", "user", "assistant", "tool"]
Marker = Literal["5m", "1h", "30m", "12h", "breakpoint"]
Status = Literal["ok", "error", "aborted", "rejected"]

SECTIONS: tuple[str, ...] = ("tools", "system", "developer", "user", "assistant", "tool")
MARKERS: tuple[str, ...] = ("5m", "1h", "30m", "12h", "breakpoint")
STATUSES: tuple[str, ...] = ("ok", "error", "aborted", "rejected")
KINDS: tuple[str, ...] = (
    "text", "tool_definition", "tool_use", "tool_result", "thinking", "image", "document",
    "server_tool_result",
)  # fmt: skip
CACHE_MODES: tuple[str, ...] = ("auto", "auto:5m", "auto:1h", "implicit", "explicit", "none")
COST_KINDS: tuple[str, ...] = ("invoice", "provider", "estimate")
BOUNDARY_NAMES: tuple[str, ...] = (*SECTIONS, "turn", "shared", "end")


class ContentBlock(NamedTuple):
    """One tool definition, system text or message part of a rendered prompt.

    `hash` is of the raw content alone (not chained), `canonical_hash` of its key-sorted form,
    `masked_hash` with dates, times, ids and numbers masked; the last two are None if unknown.
    `message` is the index of the message that the block stands in (0-based over the prompt).
    """

    section: str
    role: str | None
    kind: str
    message: int
    tokens: int
    hash: int
    canonical_hash: int | None = None
    masked_hash: int | None = None
    marker: str | None = None
    label: str | None = None


class Boundaries(NamedTuple):
    """The few prompt positions that rules look at, ascending, as parallel lists.

    `tokens[i]` is the prefix length, `hashes[i]` the chained hash of everything up to there,
    `names[i]` what ends there, `positions[i]` how many content blocks the prefix holds (None where
    the source cannot say, which switches look-back off). Names: on logs with content blocks there
    is exactly one boundary per content block, named after its section; on logs that know only
    token blocks they are `tools`, `system`, `turn` (the end of an earlier request of the session),
    `shared` (the longest run shared with any earlier request) and `end`.
    """

    tokens: list[int]
    hashes: list[int]
    names: list[str]
    positions: list[int | None]


class Observed(NamedTuple):
    """What the source itself reported for a request: disjoint token classes, None = unknown."""

    fresh: int | None = None
    cache_read: int | None = None
    cache_write_5m: int | None = None
    cache_write_30m: int | None = None
    cache_write_1h: int | None = None
    cache_write_12h: int | None = None
    cache_write_unknown: int | None = None
    output: int | None = None
    output_reasoning: int | None = None
    iterations: str | None = None
    raw_json: str | None = None
    cost: Decimal | None = None
    currency: str | None = None
    cost_kind: str | None = None
    diagnosis: str | None = None


@dataclass(slots=True)
class Request:
    """One request. Only `request_id` and `arrival_us` are always known.

    Not frozen for speed of construction only: nobody changes a Request after a reader made it,
    except the import step, which fills in `boundaries`. Build it by keyword; only the Parquet
    decoder goes by position (`map(Request, *columns)`, twice as fast).

    A request that never started (a sketch's `"ttft": null`) has status `aborted` and
    `first_token_s` None; any other status with `first_token_s` None means that the time is unknown.
    """

    request_id: str
    arrival_us: int
    arrival_uncertainty_s: float | None = None
    first_token_s: float | None = None
    end_s: float | None = None
    think_time_s: float | None = None
    account: str | None = None
    session_id: str | None = None
    parent_request_id: str | None = None
    agent_id: str | None = None
    is_sidechain: bool | None = None
    provider: str | None = None
    platform: str | None = None
    region: str | None = None
    model: str | None = None
    model_served: str | None = None
    service_tier: str | None = None
    speed: str | None = None
    is_batch: bool | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    cache_mode: str | None = None
    blocks: Sequence[ContentBlock] | None = None
    boundaries: Boundaries | None = None
    token_block_size: int | None = None
    token_blocks: npt.NDArray[np.uint64] | None = None
    hash_scope: str | None = None
    token_ids: npt.NDArray[np.int32] | None = None
    output_token_ids: npt.NDArray[np.int32] | None = None
    answer_hash: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    tools_tokens: int | None = None
    system_tokens: int | None = None
    input_types: list[str] | None = None
    output_types: list[str] | None = None
    observed: Observed | None = None
    status: str | None = None
    attempt: int | None = None
    retry_of: str | None = None
    response_id: str | None = None
    source_line: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Every field by name, for tests and messages."""
        return {name: getattr(self, name) for name in self.__slots__}
