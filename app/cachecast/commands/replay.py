"""`cachecast replay`: the same requests through a real engine."""

import math
from pathlib import Path
from typing import Any

import click

from cachecast.endpoint_options import chosen, endpoint_options
from cachecast.replay_output import ReplayOutput
from cachecast_datasets.errors import BadInput


@click.command("replay")
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="LOG...")
@click.option("--engine", "spec", metavar="torch:DIR", help="A model's folder.")
@click.option(
    "--fleet", "fleet_path", type=click.Path(path_type=Path), metavar="FILE",
    help="The engine's limits (its [engine] table; [latency] is ignored).",
)  # fmt: skip
@click.option("--set", "overrides", multiple=True, metavar="TABLE.FIELD=VALUE")
@click.option("--clock", type=click.Choice(["virtual", "real"]), default="virtual",
    show_default=True, help="Time that only steps move, or the wall's.")  # fmt: skip
@click.option("--speed-up", type=click.FloatRange(min=0.001), default=1.0,
    help="Real clock: arrivals come so much faster.")  # fmt: skip
@click.option("--normalise", is_flag=True, help="Scale each step by a probe beside it.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True)
@endpoint_options
@click.option("-o", "--out", type=click.Path(path_type=Path), metavar="RUN", help="Keep the run.")
@click.option("--chart", type=click.Path(path_type=Path), metavar="FILE.svg|png|html|json",
    help="TTFT over prompt size, cold and warm.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace an existing run or chart.")
@click.option("--per-request", is_flag=True, help="One line per request.")
@click.option("--json", "as_json", is_flag=True, help="The machine-readable contract.")
def command(
    logs: tuple[Path, ...],
    spec: str | None,
    fleet_path: Path | None,
    overrides: tuple[str, ...],
    clock: str,
    speed_up: float,
    normalise: bool,
    device: str,
    threads: int,
    out: Path | None,
    chart: Path | None,
    force: bool,
    per_request: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run LOG through a real engine with a KV cache, and time it.

    Either a torch engine of our own (--engine, --fleet) or any OpenAI-compatible server
    (--endpoint). Hash-only logs get fixed random tokens that share what the log shares. Ctrl-C ends
    the replay and keeps what was measured so far.

    \b
    Examples:  cachecast replay LOG --engine torch:model --fleet fleet.toml --set fleet.servers=1
               cachecast replay LOG --endpoint http://127.0.0.1:8000/v1 -o measured
    """
    if not math.isfinite(speed_up):
        raise BadInput(f"--speed-up {speed_up}: expected a finite number")
    wanted = ReplayOutput(out, force, chart, per_request, as_json)
    wanted.check()
    asked = chosen(click.get_current_context(), spec, options)
    if asked is not None:
        from cachecast.commands.replay_endpoint import replay_endpoint

        replay_endpoint(logs, asked, speed_up, wanted)
        return
    if spec is None or fleet_path is None:
        raise BadInput("--engine needs --fleet FILE, which states the engine's limits")
    if clock == "virtual" and speed_up != 1.0:
        raise BadInput("--speed-up goes with --clock real; a virtual clock skips idle time anyway")
    from cachecast.commands.replay_engine import EngineOptions, replay_engine

    engine = EngineOptions(spec, fleet_path, overrides, clock, speed_up, normalise, device, threads)
    replay_engine(logs, engine, wanted)
