"""The shipped catalogue of hardware and model shapes, and models from a `config.json`."""

import json
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from cachecast_datasets.errors import BadInput
from cachecast_sim.latency.fields import nearest
from cachecast_sim.latency.files import LatencyFiles, NoFiles
from cachecast_sim.latency.hardware import Hardware
from cachecast_sim.latency.hf_config import shape_of_config
from cachecast_sim.latency.shape import ModelShape

_TERA, _GIGA, _MIB = 10**12, 10**9, 2**20


class HardwareTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[[hardware]]`; rates are decimal strings in the units of data sheets."""

    name: str
    bf16_tflops: str
    fp16_tflops: str
    memory_mib: int
    memory_gb_per_s: str
    interconnect: str
    interconnect_gb_per_s: str
    source: str
    checked: str
    fp8_tflops: str | None = None


class ModelTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[[models]]`; `config` has the fields of the repository's `config.json`."""

    name: str
    repository: str
    checked: str
    config: dict[str, Any]


@cache
def hardware_catalog() -> Mapping[str, Hardware]:
    """All GPUs by name, in the order of the file."""
    return {
        table.name: _hardware(table)
        for table in msgspec.convert(_tables("hardware"), list[HardwareTable])
    }


@cache
def model_tables() -> Mapping[str, ModelTable]:
    """All models as their file states them, by name."""
    return {table.name: table for table in msgspec.convert(_tables("models"), list[ModelTable])}


@cache
def model_catalog() -> Mapping[str, ModelShape]:
    """All model shapes by name, in the order of the file."""
    return {name: shape_of_config(t.config, name) for name, t in model_tables().items()}


def hardware_named(name: str) -> Hardware:
    """The GPU of that name (`h100-sxm`, also `H100_SXM`); BadInput lists the known ones."""
    found = hardware_catalog().get(_key(name))
    if found is None:
        raise BadInput(f"unknown hardware {name!r}{nearest(_key(name), hardware_catalog())}")
    return found


def model_shape(name: str, files: LatencyFiles | None = None) -> ModelShape:
    """The shape of a model in the catalogue, of its repository's name, or of a config file.

    A name that ends in `.json` is read through `files` as a HF-style `config.json`. BadInput for an
    unknown name (the known ones are listed) and for a file that is no such config.
    """
    if name.endswith(".json"):
        return _from_file(name, files or NoFiles())
    by_repository = {_key(t.repository.partition("/")[2]): n for n, t in model_tables().items()}
    key = _key(name.rpartition("/")[2])
    found = model_catalog().get(by_repository.get(key, key))
    if found is None:
        raise BadInput(
            f"unknown model {name!r}{nearest(key, model_catalog())}, or a path to its config.json"
        )
    return found


def _from_file(path: str, files: LatencyFiles) -> ModelShape:
    try:
        config = json.loads(files.text(path))
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}: not JSON: {error}") from None
    if not isinstance(config, dict):
        raise BadInput(f"{path}: expected a JSON object, as config.json of a model")
    return shape_of_config(config, path)


def _hardware(table: HardwareTable) -> Hardware:
    fp8 = table.fp8_tflops
    return Hardware(
        name=table.name,
        bf16_flops_per_s=Decimal(table.bf16_tflops) * _TERA,
        fp16_flops_per_s=Decimal(table.fp16_tflops) * _TERA,
        fp8_flops_per_s=None if fp8 is None else Decimal(fp8) * _TERA,
        memory_bytes=table.memory_mib * _MIB,
        memory_bytes_per_s=Decimal(table.memory_gb_per_s) * _GIGA,
        interconnect=table.interconnect,
        interconnect_bytes_per_s=Decimal(table.interconnect_gb_per_s) * _GIGA,
        source=table.source,
        checked=table.checked,
    )


def _tables(name: str) -> list[dict[str, Any]]:
    text = (files("cachecast_sim.latency") / "catalog" / f"{name}.toml").read_text("utf-8")
    tables: list[dict[str, Any]] = tomllib.loads(text)[name]
    return tables


def _key(name: str) -> str:
    return name.strip().lower().replace("_", "-").replace(" ", "-")
