"""The latency models by name, and the one that a `[latency]` table asks for."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module

from cachecast_datasets.errors import BadInput
from cachecast_sim.latency.fields import nearest, text
from cachecast_sim.latency.files import LatencyFiles, NoFiles
from cachecast_sim.latency.model import LatencyModel


@dataclass(frozen=True, slots=True)
class LatencyKind:
    """The fields of a kind with what they mean, and what makes a model of a table."""

    fields: Mapping[str, str]
    build: Callable[[Mapping[str, object], LatencyFiles], LatencyModel]


_NAMES = ("linear", "fixed", "roofline", "fitted", "recorded")


class _Kinds(Mapping[str, LatencyKind]):
    """The kinds by name. A kind's module is imported when it is asked for: the roofline brings a
    catalogue of hardware and models along. Module X has FIELDS and makes models with `X_model`."""

    def __getitem__(self, name: str) -> LatencyKind:
        if name not in _NAMES:
            raise KeyError(name)
        module = import_module(f"cachecast_sim.latency.{name}")
        return LatencyKind(module.FIELDS, getattr(module, f"{name}_model"))

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


LATENCY_MODELS: Mapping[str, LatencyKind] = _Kinds()


def latency_of(table: Mapping[str, object], files: LatencyFiles | None = None) -> LatencyModel:
    """A new model (one for each server) as the `[latency]` table of a fleet file says.

    Fields of other kinds are ignored, so that `--set latency.kind=…` works; one that no kind has is
    BadInput, as are an unknown kind, a missing field and a bad value. `files` reads what the table
    points to.
    """
    check_latency_fields(table)
    if table.get("kind") in (None, ""):
        raise BadInput(f"latency.kind is missing; known: {', '.join(LATENCY_MODELS)}")
    name = text(table, "latency", "kind")
    kind = LATENCY_MODELS.get(name)
    if kind is None:
        raise BadInput(f"latency.kind is {name!r}{nearest(name, LATENCY_MODELS)}")
    return kind.build(table, files or NoFiles())


def check_latency_fields(table: Mapping[str, object]) -> None:
    """BadInput for a field that no kind of latency model has."""
    own = LATENCY_MODELS.get(str(table.get("kind")))
    if own is not None and table.keys() <= {"kind", *own.fields}:
        return
    known = ["kind", *dict.fromkeys(f for kind in LATENCY_MODELS.values() for f in kind.fields)]
    for name in table:
        if name not in known:
            raise BadInput(f"latency.{name}: unknown field{nearest(name, known)}")
