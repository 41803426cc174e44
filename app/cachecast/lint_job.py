"""The `lint` job: rendered requests from files of any format, and what breaks cost a month."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

from cachecast_datasets.errors import BadInput, LogError
from cachecast_datasets.importing import open_or_import
from cachecast_datasets.kept_texts import kept_texts
from cachecast_datasets.request import Request
from cachecast_pricing.catalog import Catalog
from cachecast_pricing.model_ids import ModelRef
from cachecast_sim.why.differences import Side
from cachecast_sim.why.stability import Break, breaks

_BODY_KEYS = ("messages", "input")
_NO_BODY_KEYS = ("request", "response", "req", "res")
_MOST_BODY_BYTES = 1 << 28


@dataclass(slots=True)
class Lint:
    """The breaks of some requests; money in picounits, a month's worth where a price is known."""

    requests: int
    model: ModelRef | None
    currency: str | None
    requests_per_month: int
    breaks: list[tuple[Break, int | None]] = field(default_factory=list)

    @property
    def per_month(self) -> int | None:
        """What the breaks cost a month, each at its share of the requests; None: no price."""
        costs = [cost for _, cost in self.breaks]
        if None in costs or self.model is None:
            return None
        share = max(1, self.requests - 1)
        return sum(cost or 0 for cost in costs) * self.requests_per_month // share


def lint(
    files: Sequence[Path], catalog: Catalog, model: str | None, requests_per_month: int, tmp: Path
) -> Lint:
    """The breaks between consecutive requests of the files, in their order.

    BadInput for a file that holds no prompts, and for fewer than two requests in all.
    """
    sides = [side for number, file in enumerate(files) for side in _sides(file, number, tmp)]
    if len(sides) < 2:
        raise BadInput(
            f"lint compares requests, and {files[0]} holds {len(sides)}; expected two or more"
        )
    ref = catalog.resolve(model) if model is not None else _own_model(sides, catalog)
    found = Lint(len(sides), ref, None, requests_per_month)
    premium = None
    if ref is not None:
        on = datetime.combine(catalog.newest, time(), tzinfo=UTC)
        card = catalog.card(ref, on).card
        prices = card.prices(0)
        found.currency = card.currency
        dearer = prices.cache_write_5m if prices.cache_write_5m is not None else prices.fresh
        if dearer is not None and prices.cache_read is not None:
            premium = dearer - prices.cache_read
    for broken in breaks(sides):
        found.breaks.append((broken, None if premium is None else broken.lost_tokens * premium))
    return found


def _own_model(sides: Sequence[Side], catalog: Catalog) -> ModelRef | None:
    names = {(side.request.model, side.request.provider) for side in sides}
    found = {catalog.find(model, provider) for model, provider in names}
    return found.pop() if len(found) == 1 else None


def _sides(file: Path, number: int, tmp: Path) -> list[Side]:
    folder = tmp / str(number)
    folder.mkdir()
    trace = open_or_import([_as_log(file, folder)], tmp_dir=folder, keep_text=True)
    texts = kept_texts(trace.path)
    found = []
    for request in trace.requests():
        if request.blocks is None:
            raise BadInput(
                f"{file}: request {request.request_id} has no content blocks; lint needs rendered "
                "prompts (docs/log-formats.md says which formats carry them)"
            )
        known = None if texts is None else texts.of(request.request_id)
        found.append(Side(_named(request, file, trace.rows), known))
    if texts is not None:
        texts.close()
    return found


def _named(request: Request, file: Path, rows: int) -> Request:
    """One request of a file is called like the file."""
    request.request_id = file.name if rows == 1 else f"{file.name}:{request.request_id}"
    return request


def _as_log(file: Path, folder: Path) -> Path:
    """A file that is one request's body, as a log of that request; any other file as it is."""
    body = _body(file)
    if body is None:
        return file
    log = folder / "request.jsonl"
    row = {"id": file.name, "start_time": "1970-01-01T00:00:00Z", "request": body, "response": None}
    log.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return log


def _body(file: Path) -> dict[str, Any] | None:
    try:
        if not file.is_file() or file.stat().st_size > _MOST_BODY_BYTES:
            return None
        value = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        return None
    except OSError as problem:
        raise LogError(f"{file}: cannot be read: {problem.strerror or problem}") from problem
    if not isinstance(value, dict) or any(key in value for key in _NO_BODY_KEYS):
        return None
    return value if any(isinstance(value.get(key), list | str) for key in _BODY_KEYS) else None
