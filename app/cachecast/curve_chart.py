"""Curves as a chart file: a Vega-Lite document, or a picture made from it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from cachecast.curve_job import Answer
from cachecast.curve_report import capacity_rows, ttl_rows
from cachecast_datasets.errors import BadInput

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_WIDTH, _HEIGHT = 420, 280
ENDINGS = (".svg", ".png", ".html", ".json")

Row = dict[str, Any]

# a grid of whole powers of ten, written out; and of the times that people say
_POWERS: Row = {"values": [10.0**e for e in range(-3, 16)], "format": ",~f"}
_LIVES: Row = {
    "values": [0.1, 1, 10, 60, 600, 3_600, 14_400, 86_400, 604_800, 2_419_200],
    "labelExpr": "datum.value < 60 ? datum.value + ' s' : datum.value < 3600 ? datum.value / 60 "
    "+ ' min' : datum.value < 86400 ? datum.value / 3600 + ' h' : datum.value / 86400 + ' d'",
}


def check_chart(path: Path, force: bool) -> None:
    """BadInput, before any work, if the chart could not be written in the end."""
    if path.suffix not in ENDINGS:
        raise BadInput(f"--chart {path}: expected a name that ends in {', '.join(ENDINGS)}")
    if path.exists() and not force:
        raise BadInput(f"--chart {path}: the file is there already; --force replaces it")
    if not path.absolute().parent.is_dir():
        raise BadInput(f"--chart {path}: there is no folder {path.parent}")
    if path.suffix != ".json":
        _renderer(path)


def write_chart(path: Path, answer: Answer) -> None:
    """Draw both curves into `path`; its ending says how."""
    document = spec(answer)
    if path.suffix == ".json":
        data = msgspec.json.format(msgspec.json.encode(document), indent=1)
    else:
        made = _renderer(path)(document)
        data = made.encode() if isinstance(made, str) else made
    try:
        path.write_bytes(data)
    except OSError as problem:
        raise BadInput(f"--chart {path}: cannot be written: {problem.strerror}") from problem


def _renderer(path: Path) -> Callable[[Row], str | bytes]:
    try:
        import vl_convert  # 80 MB with a JavaScript engine: only who wants pictures has it
    except ImportError:
        raise BadInput(
            f"--chart {path}: pictures need vl-convert-python; pip install 'cachecast[dashboard]' "
            "brings it, or name a .json file for the chart as a Vega-Lite document"
        ) from None
    match path.suffix:
        case ".svg":
            return lambda document: vl_convert.vegalite_to_svg(document)
        case ".png":
            return lambda document: vl_convert.vegalite_to_png(document, scale=2)
        case _:
            return lambda document: vl_convert.vegalite_to_html(document, bundle=True)


def spec(answer: Answer) -> Row:
    """The two curves side by side, hit ratio over a logarithmic axis, as Vega-Lite 6."""
    in_gib = answer.question.bytes_per_token is not None
    capacity = (
        f"cache capacity (GiB, {answer.question.bytes_per_token:,} bytes a token)"
        if in_gib
        else f"cache capacity (blocks of {answer.curves.block_tokens} tokens)"
    )
    since = "last use" if answer.question.refresh else "write"
    return {
        "$schema": _SCHEMA,
        "title": f"hit ratio of {answer.curves.requests:,} requests",
        "hconcat": [
            _panel(answer, capacity_rows(answer), "gib" if in_gib else "blocks", capacity, _POWERS),
            _panel(answer, ttl_rows(answer), "ttl_s", f"lifetime since the {since}", _LIVES),
        ],
        "resolve": {"scale": {"color": "shared"}},
    }


def _panel(answer: Answer, rows: list[Row], field: str, title: str, axis: Row) -> Row:
    x = {
        "field": field, "type": "quantitative", "title": title,
        "scale": {"type": "log", "nice": False}, "axis": axis,
    }  # fmt: skip
    layers = [_lines(x), _ideal(answer)]
    if answer.curves.sample is not None:
        layers.insert(0, _bands(x))
    return {
        "width": _WIDTH, "height": _HEIGHT, "layer": layers,
        "data": {"values": [point for row in rows if row[field] for point in _points(row, field)]},
    }  # fmt: skip


def _points(row: Row, field: str) -> list[Row]:
    """A row of the report as one point each for tokens and blocks."""
    found = []
    for name in ("token", "block"):
        ratio, interval = row[f"{name}_hit_ratio"], row[f"{name}_hit_ratio_interval"]
        if ratio is not None:
            low, high = interval or (None, None)
            point = {field: row[field], "of": f"{name}s", "hit_ratio": ratio}
            found.append(point if interval is None else point | {"low": low, "high": high})
    return found


def _y(field: str) -> Row:
    return {
        "field": field, "type": "quantitative", "title": "hit ratio (%)",
        "scale": {"domain": [0, 1]}, "axis": {"format": ".0%"},
    }  # fmt: skip


def _lines(x: Row) -> Row:
    color = {"field": "of", "type": "nominal", "title": "share of"}
    return {"mark": {"type": "line"}, "encoding": {"x": x, "y": _y("hit_ratio"), "color": color}}


def _bands(x: Row) -> Row:
    color = {"field": "of", "type": "nominal", "title": "share of"}
    band = {"x": x, "y": _y("low"), "y2": {"field": "high"}, "color": color}
    return {"mark": {"type": "area", "opacity": 0.25}, "encoding": band}


def _ideal(answer: Answer) -> Row:
    """What a cache that forgets nothing would hit."""
    ideal = answer.curves.ideal
    values = [
        {"of": name, "ideal": ratio}
        for name, ratio in (("tokens", ideal.tokens), ("blocks", ideal.blocks))
        if ratio is not None
    ]
    return {
        "data": {"values": values},
        "mark": {"type": "rule", "strokeDash": [4, 4]},
        "encoding": {"y": _y("ideal"), "color": {"field": "of", "type": "nominal"}},
    }
