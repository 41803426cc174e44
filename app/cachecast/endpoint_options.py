"""The options of `cachecast replay --endpoint`, and which options go with which engine."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import click
from click.core import ParameterSource

from cachecast_datasets.errors import BadInput

Command = Callable[..., Any]

_OF_ENGINE = ("fleet_path", "overrides", "clock", "normalise", "device", "threads")


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """What was asked of a server; as the options say."""

    endpoint: str
    model: str | None
    prompts: Literal["auto", "ids", "text", "chat"]
    vocabulary: int
    loop: Literal["open", "closed"]
    concurrency: int | None
    retries: int
    timeout_s: float
    warm_up: int
    reset_cache: str | None
    api_key_env: str | None
    allow_remote: bool


_OPTIONS = (
    click.option("--endpoint", metavar="URL", help="An OpenAI-compatible server's API, as "
        "http://127.0.0.1:8000/v1, instead of --engine."),
    click.option("--model", metavar="NAME", help="Its model; default: the only one it has."),
    click.option("--prompts", type=click.Choice(["auto", "ids", "text", "chat"]), default="auto",
        show_default=True, help="Token ids, text or one chat message; auto: what it takes."),
    click.option("--vocabulary", type=click.IntRange(2), default=1000, show_default=True,
        metavar="N", help="Made-up token ids are below N."),
    click.option("--loop", type=click.Choice(["open", "closed"]), default="open",
        show_default=True, help="Requests come at the log's times, or after the answer before."),
    click.option("--concurrency", type=click.IntRange(1), metavar="N",
        help="At most N requests in flight; 1: one after the other."),
    click.option("--retries", type=click.IntRange(0), default=2, show_default=True,
        help="Of a request that gave no token; counted."),
    click.option("--timeout", "timeout_s", type=click.FloatRange(0, min_open=True), default=600.0,
        show_default=True, metavar="S", help="How long the server may say nothing."),
    click.option("--warm-up", type=click.IntRange(0), default=0, show_default=True, metavar="N",
        help="Requests of random tokens before the log's, not measured."),
    click.option("--reset-cache", metavar="PATH",
        help="POST to this path first, after the warm-up; vLLM: /reset_prefix_cache."),
    click.option("--api-key-env", metavar="NAME", help="The environment variable with the key."),
    click.option("--allow-remote", is_flag=True,
        help="Send the log's prompts to a server that is not this machine."),
)  # fmt: skip


def endpoint_options(command: Command) -> Command:
    """The command with the options of EndpointOptions."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def chosen(context: click.Context, spec: str | None, options: dict[str, Any]) -> (
    EndpointOptions | None
):  # fmt: skip
    """The endpoint's options, None for `--engine`. BadInput for both, none or a mixture."""
    endpoint = options["endpoint"]
    if (spec is None) == (endpoint is None):
        raise BadInput("expected either --engine torch:DIR or --endpoint URL")
    if endpoint is not None:
        _refuse(context, _OF_ENGINE, "--engine", "a server has limits and a clock of its own")
        return EndpointOptions(**options)
    _refuse(context, tuple(options), "--endpoint", "the engine runs here")
    return None


def _refuse(context: click.Context, names: tuple[str, ...], other: str, why: str) -> None:
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in names and context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise BadInput(f"{parameter.opts[0]} goes with {other}: {why}")


def key_of(name: str | None) -> str | None:
    """The key in that environment variable. BadInput if it is not set; the key is never shown."""
    if name is None:
        return None
    key = os.environ.get(name)
    if not key:
        raise BadInput(f"--api-key-env {name}: that environment variable is not set")
    return key
