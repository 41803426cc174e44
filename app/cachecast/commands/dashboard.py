"""`cachecast dashboard`: the answers in a browser."""

import importlib.util
from pathlib import Path

import click

from cachecast.dashboard.ahead import working_ahead
from cachecast.dashboard.arguments import Arguments
from cachecast.dashboard.catalogue import OWN_MODELS
from cachecast.dashboard.folder import DEFAULT, path_typed
from cachecast_datasets.errors import BadInput

_NEEDED = ("streamlit", "altair")


@click.command("dashboard", short_help="Bills, misses and what-ifs in a browser.")
@click.argument("source", required=False, type=click.Path(path_type=Path), metavar="[RUN|LOG]")
@click.option(
    "--as", "scenario", default=OWN_MODELS, show_default=True, metavar="MODEL[,key=value]",
    help="Rules and prices to begin with, as in `bill`.",
)  # fmt: skip
@click.option("--port", type=click.IntRange(1, 65_535), default=8501, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@click.option(
    "--folder", type=click.Path(path_type=Path), default=DEFAULT, show_default=True,
    help="Where dropped logs, runs and answers are kept.",
)  # fmt: skip
def command(
    source: Path | None, scenario: str, port: int, host: str, no_browser: bool, folder: Path
) -> None:
    """Show RUN (a folder that `bill -o` wrote) or LOG in a browser; without either, pick one there.

    It listens on this machine only, sends nothing anywhere, and needs the extra `dashboard`.
    docs/dashboard.md says what is on each page.

    \b
    Example:
      cachecast dashboard log.jsonl --as claude-opus-5
    """
    for name in _NEEDED:
        if importlib.util.find_spec(name) is None:
            raise BadInput(
                f"the dashboard needs {name}, which is not installed: "
                "pip install 'cachecast[dashboard]'"
            )
    place = path_typed(str(folder)).resolve()
    arguments = Arguments(source and source.resolve(), scenario, place)
    with working_ahead(arguments) as ahead:
        from cachecast.dashboard.launching import launch

        launch(arguments, host, port, not no_browser, ahead)
