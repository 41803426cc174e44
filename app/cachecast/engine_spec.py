"""`--engine torch:DIR` and the fleet file's limits: one real engine, opened."""

from pathlib import Path
from typing import Any

from cachecast_datasets.errors import BadInput
from cachecast_replay.engine.opening import open_engine
from cachecast_sim.fleet.config import FleetConfig
from cachecast_sim.fleet.kv_size import kv_size
from cachecast_sim.latency.files import LatencyFiles

_KINDS = ("torch",)


def engine_folder(spec: str) -> Path:
    """The folder of `torch:DIR`. BadInput for another kind, or no such folder."""
    kind, colon, folder = spec.partition(":")
    if not colon or kind not in _KINDS:
        raise BadInput(f"--engine {spec}: expected torch:DIR, a folder with a config.json")
    path = Path(folder)
    if not path.is_dir():
        raise BadInput(
            f"--engine {spec}: there is no folder {path}, expected one with a model's config.json "
            "(docs/replay.md shows one)"
        )
    if not (path / "config.json").is_file():
        raise BadInput(
            f"--engine {spec}: {path} has no config.json, expected that of a Llama-shaped model "
            "(docs/replay.md shows one)"
        )
    return path


def engine_of(
    folder: Path, config: FleetConfig, files: LatencyFiles, device: str, threads: int
) -> Any:
    """The engine with the limits of the fleet file's [engine]. BadInput for a fleet of several
    servers, or one of another engine's rules."""
    if config.fleet.engine != "vllm" or config.servers != 1 or config.tiers:
        raise BadInput(
            "a replay runs one engine with vLLM's rules, expected fleet.servers = 1, "
            'fleet.engine = "vllm" and no tiers'
        )
    if config.engine.ttl_s is not None:
        raise BadInput("engine.ttl_s is set, which a real engine does not have; remove it")
    engine = config.engine
    return open_engine(
        folder,
        blocks=kv_size(config, files).blocks,
        block_tokens=engine.block_tokens,
        max_batch_tokens=engine.max_batch_tokens,
        max_seqs=1 if engine.admission == "sequential" else engine.max_seqs,
        device=device,
        threads=threads,
    )
