"""What the page Proof shows, out of `compare --json` and the `run.json` of its runs."""

from pathlib import Path
from typing import Any

from cachecast.dashboard import wording
from cachecast.dashboard.tile import Tile
from cachecast.results.reader import read_info
from cachecast_datasets.errors import BadInput

Row = dict[str, Any]
_MOST_RUNS = 200
_MOST_POINTS = 4_000
_METRICS = (("TTFT", "ttft"), ("ITL", "itl"), ("E2E", "e2e"))


def runs_in(folder: Path, command: str) -> list[str]:
    """Names of the runs of `simulate` or `replay` in a folder, in order; of the first 200."""
    found = []
    for file in sorted(folder.glob("*/run.json"))[:_MOST_RUNS]:
        try:
            info = read_info(file.parent)
        except BadInput:
            continue
        if info.get("command") == command:
            found.append(file.parent.name)
    return found


def tiles(found: Row) -> list[Tile]:
    """Requests whose hits differ, hit tokens of both, TTFT's error, the noise floor."""
    hits, ttft = found["hit_tokens"], found["ttft"]
    again = hits["floor_mismatched_requests"]
    floor = None if ttft is None else ttft["noise_floor_pct"]
    return [
        Tile(
            "Requests whose hits differ",
            f"{wording.tokens(hits['mismatched_requests'])} of {wording.tokens(found['requests'])}",
            "two replays: unknown (none given)" if again is None
            else f"two replays differ in {wording.tokens(again)}",
        ),
        Tile(
            "Hit tokens predicted", wording.tokens(hits["predicted"]),
            f"measured {wording.tokens(hits['measured'])}",
        ),
        Tile(
            "TTFT, mean error", _percent(None if ttft is None else ttft["mean_abs_pct"]),
            f"p90 {_percent(None if ttft is None else ttft['p90_abs_pct'])}, "
            f"bias {_percent(None if ttft is None else ttft['bias_pct'], sign=True)}",
        ),
        Tile(
            "Noise floor of TTFT", _percent(floor), "what two replays of the engine differ by",
        ),
    ]  # fmt: skip


def errors(found: Row) -> list[Row]:
    """The error table, one row a metric, as `compare` prints it."""
    forced = found["teacher_forced"] or {}
    rows = [(label, found[name]) for label, name in _METRICS]
    rows += [
        ("TTFT, measured schedule", forced.get("ttft")),
        ("ITL, measured schedule", forced.get("itl")),
    ]
    return [
        {
            "of": label, "mean": _percent(part["mean_abs_pct"]),
            "p50": _percent(part["p50_abs_pct"]), "p90": _percent(part["p90_abs_pct"]),
            "p99": _percent(part["p99_abs_pct"]), "bias": _percent(part["bias_pct"], sign=True),
            "rank corr.": _correlation(part["rank_correlation"]),
            "noise floor": _percent(part["noise_floor_pct"]),
        }
        for label, part in rows
        if part is not None
    ]  # fmt: skip


def differing(found: Row) -> list[Row]:
    """What differs, in how many requests or steps, and which; nothing where all agrees."""
    rows = [
        ("hit tokens", found["hit_tokens"]), ("readmission hits", found["readmissions"]),
        ("preemptions", found["preemptions"]),
    ]  # fmt: skip
    result = [
        {
            "what": what, "requests": part["mismatched_requests"],
            "which": ", ".join(part["mismatched_ids"]),
        }
        for what, part in rows
        if part["mismatched_requests"]
    ]  # fmt: skip
    steps = found["steps"]
    if steps["mismatched"]:
        first = f"the first is step {steps['first_mismatched']}"
        result.append({"what": "steps", "requests": steps["mismatched"], "which": first})
    return result


def made_by(predicted: Row, measured: Row) -> list[tuple[str, str]]:
    """Engine, machine, clock and versions; a run that does not say one of them leaves it out."""
    latency = predicted.get("latency") or {}
    named = [("kind", latency.get("kind")), ("file", latency.get("file"))]
    rows = [
        ("Engine", measured.get("engine")), ("Model", measured.get("model")),
        ("Machine", measured.get("machine")), ("Device", measured.get("device")),
        ("Threads", measured.get("threads")), ("torch", measured.get("torch")),
        ("Clock", _clock(measured)),
        ("Prediction", ", ".join(f"{name} {value}" for name, value in named if value)),
        ("Measured with", _versions(measured)), ("Predicted with", _versions(predicted)),
    ]  # fmt: skip
    return [(name, str(value)) for name, value in rows if value not in (None, "")]


def shown(points: list[Row]) -> list[Row]:
    """Few enough points for a browser, spread evenly over the log."""
    step = -(-len(points) // _MOST_POINTS) or 1
    return points[::step]


def _clock(measured: Row) -> str:
    words = [str(measured.get("clock") or "unknown")]
    if measured.get("normalised"):
        words.append("each step scaled by a probe")
    if measured.get("partial"):
        words.append("interrupted: a part of the log")
    return ", ".join(words)


def _versions(info: Row) -> str:
    return ", ".join(f"{name} {text}" for name, text in (info.get("versions") or {}).items())


def _percent(value: float | None, sign: bool = False) -> str:
    if value is None:
        return "unknown"
    return f"{value:+.1f} %" if sign else f"{value:.1f} %"


def _correlation(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
