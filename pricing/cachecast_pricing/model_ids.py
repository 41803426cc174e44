"""Names of models: one canonical id each, and which spellings of it are accepted."""

from dataclasses import dataclass

from cachecast_datasets.errors import BadInput


class UnknownModel(BadInput):
    """A name that is no model of the catalogue; the message lists close names."""


@dataclass(frozen=True, slots=True, order=True)
class ModelRef:
    """One model of the catalogue, by its canonical names."""

    provider: str
    model: str
