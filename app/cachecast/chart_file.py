"""Charts as files: a Vega-Lite document, or a picture made from it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from cachecast.whole_file import write_whole
from cachecast_datasets.errors import BadInput

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
ENDINGS = (".svg", ".png", ".html", ".json")

Document = dict[str, Any]


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


def write_chart(path: Path, document: Document) -> None:
    """Draw the Vega-Lite document into `path`; its ending says how."""
    if path.suffix == ".json":
        data = msgspec.json.format(msgspec.json.encode(document), indent=1)
    else:
        made = _renderer(path)(document)
        data = made.encode() if isinstance(made, str) else made
    try:
        write_whole(path, data)
    except OSError as problem:
        raise BadInput(f"--chart {path}: cannot be written: {problem.strerror}") from None


def _renderer(path: Path) -> Callable[[Document], str | bytes]:
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
