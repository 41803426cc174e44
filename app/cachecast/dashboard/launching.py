"""Starting Streamlit in this process, quiet, on this machine only, with the first answers warm."""

import contextlib
import socket
import sys
import threading
import webbrowser
from importlib import import_module
from pathlib import Path

from cachecast.dashboard.arguments import Arguments
from cachecast.dashboard.theme import STREAMLIT_THEME
from cachecast_datasets.errors import BadInput

_SCRIPT = Path(__file__).parent / "script" / "cachecast_dashboard.py"
_LARGEST_UPLOAD_MB = 500  # an upload is held in memory; larger logs are opened by path
_HEAD_START_S = 0.2  # for the server: the browser then loads its own part for over a second
# Beside a simulation each of the browser's many requests would wait 5 ms for its turn.
_SWITCH_S = 0.0005


def launch(arguments: Arguments, host: str, port: int, browser: bool) -> None:
    """Serve until it is interrupted. BadInput if the port is taken."""
    _check_free(host, port)
    from streamlit.web import bootstrap

    for function, words in ((_warm, (arguments,)), (_import_first_page, ())):
        timer = threading.Timer(_HEAD_START_S, function, words)
        timer.daemon = True
        timer.start()
    sys.setswitchinterval(_SWITCH_S)
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    if browser:
        threading.Timer(0.8, webbrowser.open, [url]).start()
    options = _options(host, port)
    bootstrap.load_config_options(options)
    with contextlib.suppress(KeyboardInterrupt):  # the way to end it
        bootstrap.run(str(_SCRIPT), False, arguments.as_list(), options)


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
        "logger.hideWelcomeMessage": True,
        "logger.level": "error",
        **STREAMLIT_THEME,
    }
    # Streamlit's flags have underscores for dots
    return {name.replace(".", "_"): value for name, value in options.items()}


def _check_free(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as problem:
            raise BadInput(
                f"--host {host} --port {port}: cannot be listened on ({problem.strerror}); "
                "name another with --port N"
            ) from None


def _warm(arguments: Arguments) -> None:
    """Open the log and ask what the first page asks, while the browser loads."""
    from cachecast.dashboard.answers import answers_in
    from cachecast.dashboard.opened import opened
    from cachecast.dashboard.questions.bill import BILL

    if arguments.source is None:
        return
    answers = answers_in(arguments.folder)
    work = answers.open(arguments.source, arguments.source.name or str(arguments.source))
    work.wait()
    if work.answer is not None and "log" in work.answer:
        answers.ask(BILL, opened(work.answer), arguments.scenario).wait()
    import_module("cachecast.dashboard.charts.classes")  # drawn after the numbers


def _import_first_page() -> None:
    """What the first page needs next, while the browser loads its own part."""
    import_module("cachecast.dashboard.frame")
    import_module("cachecast.dashboard.pages.overview")
