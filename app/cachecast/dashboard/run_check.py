"""Whether a run that somebody opens says what the pages show: another version may have written it.

Its `run.json` is checked where a page reads it, so that SQL still answers of the rest.
"""

from types import NoneType
from typing import Any

from cachecast.dashboard.theme import CHARGES
from cachecast_datasets.errors import BadInput

Row = dict[str, Any]
_NUMBER = (int, float)
_TEXT, _DICT, _RATIO = (str, NoneType), (dict, NoneType), (int, float, NoneType)  # null: unknown
_BILL: dict[str, Any] = {
    "name": str, "requests": int, "unpriced_requests": int, "prompt_tokens": int, "charge": _DICT,
    "without_cache": _TEXT, "net_saving": _TEXT, "token_hit_ratio": _RATIO,
    "spend_hit_ratio": _RATIO, "usage": dict, "misses": list, "assumptions": list,
}  # fmt: skip
_USAGE: dict[str, Any] = {"fresh": int, "cache_read": int, "output": int}
_CHARGE: dict[str, Any] = {
    "total": str, "currency": str, "interval": _DICT, **dict.fromkeys(CHARGES, str),
}  # fmt: skip
_MISS: dict[str, Any] = {
    "reason": str, "avoidable": bool, "tokens": int, "requests": int, "cost": _TEXT,
}  # fmt: skip
_FLEET: dict[str, Any] = {
    "requests": int, "completed": int, "rejected": int, "skipped": int, "prompt_tokens": int,
    "hit_tokens": int, "token_hit_ratio": _RATIO, "ttft_s": _DICT, "itl_s": _DICT,
    "makespan_s": _NUMBER, "servers": int, "gpu_hours": _NUMBER, "cost": _DICT, "misses": list,
}  # fmt: skip
_SPREAD: dict[str, Any] = dict.fromkeys(("mean", "p50", "p90", "p99"), _NUMBER)
_LIST = (list, NoneType)
_COST: dict[str, Any] = {"total": str, "currency": str}
_FLEET_MISS: dict[str, Any] = {"reason": str, "requests": int, "tokens": int}


def bills_of_run(info: Row) -> list[Row]:
    """The scenarios of a `run.json` that have a whole bill, in their order. BadInput for one that
    lacks what a bill has."""
    scenarios = info.get("scenarios") or ()
    if not isinstance(scenarios, list | tuple):
        raise _other("scenarios")
    found = [bill for bill in scenarios if isinstance(bill, dict) and "charge" in bill]
    for bill in found:
        _has(bill, _BILL, "scenarios")
        _has(bill["usage"], _USAGE | dict.fromkeys(bill["usage"], int), "scenarios.usage")
        if bill["charge"] is not None:
            _has(bill["charge"], _CHARGE, "scenarios.charge")
            if bill["charge"]["interval"] is not None:
                _has(bill["charge"]["interval"], {"low": str, "high": str}, "scenarios.interval")
            _has(bill, {"without_cache": str, "net_saving": str}, "scenarios")
        for miss in bill["misses"]:
            _has(miss, _MISS, "scenarios.misses")
    return found


def check_fleet(info: Row) -> None:
    """BadInput unless the `run.json` of `simulate` has what the page Own servers shows."""
    _has(info, {"fleet": dict, "assumptions": list}, "")
    fleet = info["fleet"]
    _has(fleet, _FLEET, "fleet")
    for name in ("ttft_s", "itl_s"):
        if fleet[name] is not None:
            _has(fleet[name], _SPREAD, f"fleet.{name}")
    if fleet["cost"] is not None:
        _has(fleet["cost"], _COST, "fleet.cost")
    for miss in fleet["misses"]:
        _has(miss, _FLEET_MISS, "fleet.misses")
    found = info.get("distributions")
    if found is not None:
        _has(found, {"shares": list, "ttft_s": _LIST, "itl_s": _LIST}, "distributions")


def _has(row: Any, fields: dict[str, Any], where: str) -> None:
    if not isinstance(row, dict):
        raise _other(where)
    for name, kind in fields.items():
        if name not in row or not isinstance(row[name], kind):
            raise _other(f"{where}.{name}".lstrip("."))


def _other(field: str) -> BadInput:
    return BadInput(
        f"run.json has not the {field} that this page shows: another version of cachecast wrote "
        "it. Run the command again, or ask the run in SQL."
    )
