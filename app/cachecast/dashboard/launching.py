"""Starting Streamlit in this process, quiet, on this machine only, with the first answers warm."""

import contextlib
import sys
import threading
import webbrowser
from importlib import import_module
from pathlib import Path

import click

from cachecast.dashboard import kernels
from cachecast.dashboard.ahead import Ahead
from cachecast.dashboard.arguments import Arguments
from cachecast.dashboard.opened import check
from cachecast.dashboard.serving import listening, serve
from cachecast.dashboard.theme import STREAMLIT_THEME
from cachecast_datasets.errors import BadInput

_SCRIPT = Path(__file__).parent / "script" / "cachecast_dashboard.py"
_LARGEST_UPLOAD_MB = 500  # an upload is held in memory; larger logs are opened by path
# Beside a simulation each of the browser's many requests would wait 5 ms for its turn.
_SWITCH_S = 0.0005


def launch(arguments: Arguments, host: str, port: int, browser: bool, ahead: Ahead | None) -> None:
    """Serve until it is interrupted.

    BadInput before anything can be seen if the port is taken, or the input is none, which `ahead`
    looks at meanwhile.
    """
    from streamlit.web import bootstrap

    bootstrap.load_config_options(_options(host, port))
    if ahead is None or not ahead.accepted:
        check(arguments.source, arguments.scenario)
    at = listening(host, port)
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    click.echo(f"cachecast dashboard at {url} (Ctrl-C ends it)", err=True)
    sys.setswitchinterval(_SWITCH_S)

    def started() -> None:
        threading.Thread(target=_warm, args=(arguments,), daemon=True, name="warm").start()
        threading.Thread(
            target=_prepare_fleets, args=(arguments, ahead), daemon=True, name="fleets"
        ).start()
        if browser:
            webbrowser.open(url)

    serve(_SCRIPT, arguments.as_list(), at, started)


def _options(host: str, port: int) -> dict[str, object]:
    options: dict[str, object] = {
        "server.address": host,
        "server.port": port,
        "server.headless": True,  # no question about an e-mail address; we open the browser
        "server.showEmailPrompt": False,
        "server.fileWatcherType": "none",
        "server.maxUploadSize": _LARGEST_UPLOAD_MB,
        "server.enableStaticServing": False,
        "browser.gatherUsageStats": False,
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
        "client.showErrorLinks": False,
        "runner.magicEnabled": False,
        "runner.postScriptGC": False,  # beside a simulation's objects: 0.1 s for each progress bar
        "logger.hideWelcomeMessage": True,
        "logger.level": "error",
        **STREAMLIT_THEME,
    }
    # Streamlit's flags have underscores for dots
    return {name.replace(".", "_"): value for name, value in options.items()}


def _warm(arguments: Arguments) -> None:
    """Import what the first page needs and ask what it asks, while the browser loads."""
    import_module("cachecast.dashboard.frame")
    import_module("cachecast.dashboard.pages.overview")
    if arguments.source is None:
        return
    from cachecast.dashboard.answers import answers_in
    from cachecast.dashboard.opened import label_of, opened
    from cachecast.dashboard.questions.bill import BILL

    answers = answers_in(arguments.folder)
    work = answers.open(arguments.source, label_of(arguments.source))
    work.wait()
    if work.answer is not None and "log" in work.answer:
        answers.ask(BILL, opened(work.answer), arguments.scenario)


def _prepare_fleets(arguments: Arguments, ahead: Ahead | None) -> None:
    """Once the first answers are there: load what serves fleets, and read the log for them."""
    kernels.prepare(None if ahead is None else ahead.wait)
    if arguments.source is None:
        return
    from cachecast.dashboard.answers import answers_in
    from cachecast.dashboard.opened import label_of, opened
    from cachecast.dashboard.questions.fleet import fleet_jobs

    work = answers_in(arguments.folder).open(arguments.source, label_of(arguments.source))
    work.wait()
    if work.answer is not None and "log" in work.answer:
        about = opened(work.answer)
        with contextlib.suppress(BadInput):  # said when a fleet is asked for
            fleet_jobs(about.key, about.trace()).read_ahead()
