"""`cachecast`: one group, one module per command, loaded only when it is called.

Exit codes: 0 done, 1 a finding (only where a command says so), 2 bad input, 3 inconclusive.
"""

import contextlib
import errno
import gc
import importlib
import io
import os
import re
import signal
import sys

import click

from cachecast.output import ReaderLeft
from cachecast_datasets.errors import BadInput, LogError
from cachecast_datasets.shown import shown

# name on the command line -> module in cachecast.commands (which has a `command`)
COMMANDS: dict[str, str] = {
    "bill": "bill",
    "calibrate": "calibrate",
    "compare": "compare",
    "curve": "curve",
    "dashboard": "dashboard",
    "demo": "demo",
    "explain": "explain",
    "generate": "generate",
    "import": "import_",
    "lint": "lint",
    "models": "models",
    "optimize": "optimize",
    "price": "price",
    "replay": "replay",
    "simulate": "simulate",
    "sql": "sql",
    "whatif": "whatif",
    "why": "why",
}


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        command = importlib.import_module(f"cachecast.commands.{module}").command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cachecast", message="%(prog)s %(version)s")
def cli() -> None:
    """What did the prompt cache do to your bill, and why did requests miss?

    \b
    Point it at a request log:  cachecast bill LOG --as claude-opus-5 --as gpt-6-sol
    No log at hand?             cachecast demo
    """


def main() -> None:
    """Run the command line; bad input ends in one sentence on stderr and exit code 2."""
    if sys.stdout is None:  # closed by whoever called us
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):  # one output whatever the locale; JSON is UTF-8
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, _interrupt)
    gc.set_threshold(_OBJECTS_BEFORE_A_COLLECTION)
    try:
        status = _run(sys.argv[1:])
        sys.stdout.flush()
    except BadInput as problem:
        hint = _SKIP if isinstance(problem, LogError) and problem.skippable else ""
        _say(f"cachecast: {problem}{hint}")
        status = 2
    except click.ClickException as problem:
        context = getattr(problem, "ctx", None)
        where = "cachecast" if context is None else context.command_path
        _say(f"{where}: {problem.format_message()} See {where} --help.")
        status = 2
    except (click.Abort, KeyboardInterrupt):
        _say("cachecast: interrupted, nothing was written")
        status = 130
    except ReaderLeft as gone:
        _drop_output()
        status = int(gone.args[0])
    except OSError as problem:
        if problem.errno not in _OUTPUT_IS_LOST:
            raise
        _drop_output()
        status = 0  # the reader of our output went away (`| head`): that is not an error
        if problem.errno != errno.EPIPE:
            _say(f"cachecast: the output cannot be written: {problem.strerror}")
            status = 2
    gc.freeze()  # the process ends anyway: to free a log's objects one by one costs a twentieth
    sys.exit(status)


_SKIP = "; --skip-bad leaves out what is bad and counts it"
# Python's 700 make a dozen collections of the imports alone, which find nothing
_OBJECTS_BEFORE_A_COLLECTION = 100_000
_SURROGATE = re.compile("[\ud800-\udfff]")
_OUTPUT_IS_LOST = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def _drop_output() -> None:
    """What is left in the buffer would fail again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(sentence: str) -> None:
    """The sentence on stderr; the exit code stands even where nobody can read it."""
    with contextlib.suppress(OSError):
        click.echo(sentence, err=True)


def _run(arguments: list[str]) -> int:
    """The exit code of the command; click's own `main` would turn a lost pipe into an error."""
    for number, argument in enumerate(arguments, start=1):
        if not argument.isprintable() and _SURROGATE.search(argument):
            text = f"argument {number} is {shown(argument)}, expected valid UTF-8"
            raise BadInput(f"{text}: rename the file, or correct the text")
    if not arguments:
        arguments = ["--help"]
    try:
        with cli.make_context("cachecast", arguments) as context:
            try:
                status = cli.invoke(context)
            except LogError as problem:
                problem.skippable = problem.skippable and _can_skip(context)
                raise
    except click.exceptions.Exit as ended:
        return int(ended.exit_code)
    return status if isinstance(status, int) else 0


def _can_skip(context: click.Context) -> bool:
    """Whether the command that was called has --skip-bad."""
    called = cli.get_command(context, context.invoked_subcommand or "")
    return called is not None and any("--skip-bad" in option.opts for option in called.params)


def _interrupt(number: int, frame: object) -> None:
    """A polite kill ends like Ctrl-C: with nothing half-written."""
    raise KeyboardInterrupt
