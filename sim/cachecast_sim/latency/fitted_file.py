"""The file of fitted coefficients that a calibration writes and `fitted` reads."""

import json
import math
import tomllib
from collections.abc import Iterable

import msgspec

from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog_faults import sentence

FORMAT, VERSION = "cachecast.latency", 1
RANGES = ("new_tokens", "prefill_requests", "decode_requests", "prefill_pairs", "decode_context")


class Coefficients(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds per unit, none negative. `new_token` has one slope for each of `knots`.

    `held_token` is 0 in files from before it was measured.
    """

    constant: float
    knots: list[int]
    new_token: list[float]
    prefill_request: float
    decode_request: float
    prefill_pair: float
    decode_context_token: float
    held_token: float = 0.0


class ValidRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Least and most of each count among the calibrated steps that had any of it."""

    new_tokens: tuple[int, int]
    prefill_requests: tuple[int, int]
    decode_requests: tuple[int, int]
    prefill_pairs: tuple[int, int]
    decode_context: tuple[int, int]


class HeldOutError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Relative error of a step on steps that were not fitted, in per cent."""

    steps: int
    mean_pct: float
    p90_pct: float


class FittedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file. `normalised`: durations were divided by the machine's drift.

    `round_levels_pct`: by how much the steps of each round took longer than the mean of all.
    """

    format: str
    version: int
    engine: str
    machine: str
    model: str
    created: str
    normalised: bool
    steps: int
    coefficients_s: Coefficients
    valid: ValidRange
    held_out: HeldOutError | None = None
    round_levels_pct: list[float] = []


def read_fitted(text: str, place: str) -> FittedFile:
    """The parsed file; BadInput names the file, the field and what is accepted."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{place}: not TOML: {error}") from None
    if (data.get("format"), data.get("version")) != (FORMAT, VERSION):
        raise BadInput(
            f"{place}: format {data.get('format')!r} version {data.get('version')!r}, expected "
            f'"{FORMAT}" version {VERSION}, as `cachecast calibrate` writes it'
        )
    try:
        file = msgspec.convert(data, FittedFile)
    except msgspec.ValidationError as error:
        raise BadInput(f"{place}: {sentence(error, data, FittedFile)}") from None
    _check(file, place)
    return file


def _check(file: FittedFile, place: str) -> None:
    found = file.coefficients_s
    for name, value in _numbers(found):
        if not (math.isfinite(value) and 0 <= value <= 86400):
            raise BadInput(f"{place}: coefficients_s.{name} is {value}, expected 0 to 86400")
    rising = all(a < b for a, b in zip(found.knots, found.knots[1:], strict=False))
    if not found.knots or found.knots[0] < 1 or not rising:
        raise BadInput(
            f"{place}: coefficients_s.knots is {found.knots}, expected rising numbers from 1"
        )
    if len(found.new_token) != len(found.knots):
        raise BadInput(
            f"{place}: coefficients_s.new_token has {len(found.new_token)} slopes, expected one "
            f"for each of the {len(found.knots)} knots"
        )
    for name in RANGES:
        low, high = getattr(file.valid, name)
        if not 0 <= low <= high:
            raise BadInput(f"{place}: valid.{name} is [{low}, {high}], expected 0 <= low <= high")


def _numbers(found: Coefficients) -> Iterable[tuple[str, float]]:
    for name in Coefficients.__struct_fields__:
        value = getattr(found, name)
        if name == "new_token":
            yield from ((f"new_token[{i}]", slope) for i, slope in enumerate(value))
        elif name != "knots":
            yield name, value


def fitted_toml(file: FittedFile) -> str:
    """The file's text; `read_fitted` of it gives an equal file."""
    top = {name: getattr(file, name) for name in FittedFile.__struct_fields__[:8]}
    tables = {"coefficients_s": file.coefficients_s, "valid": file.valid}
    if file.held_out is not None:
        tables["held_out"] = file.held_out
    if file.round_levels_pct:
        top["round_levels_pct"] = file.round_levels_pct
    lines = [f"{name} = {_value(value)}" for name, value in top.items()]
    for title, table in tables.items():
        lines += ["", f"[{title}]"]
        lines += [f"{n} = {_value(getattr(table, n))}" for n in table.__struct_fields__]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    """TOML shares JSON's strings, lists, numbers and booleans, as far as they occur here."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
