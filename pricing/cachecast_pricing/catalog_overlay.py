"""Negotiated prices beside the shipped ones: whose model each table means, and what is new."""

import difflib
from typing import TYPE_CHECKING

import msgspec

from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog_file import ModelTable, ProviderFile
from cachecast_pricing.model_ids import PLATFORMS, is_regional, key_of

if TYPE_CHECKING:
    from cachecast_pricing.catalog import Catalog


def laid_over(
    file: ProviderFile, shipped: "Catalog", place: str
) -> tuple[ProviderFile, tuple[str, ...]]:
    """The file with the catalogue's own names of providers and models, and notes about new ones.

    BadInput for a new model without its full prices, and for a provider or a name of one that
    means something else.
    """
    notes: list[str] = []
    try:
        provider = _provider(file.provider, shipped, notes)
        for name in file.names:
            if shipped.provider_names.get(name.strip().lower(), provider) != provider:
                owner = shipped.provider_names[name.strip().lower()]
                raise BadInput(f"`names`: {name!r} is a name of {owner}, not of {provider}")
        if file.host and provider in shipped.providers and not shipped.is_host(provider):
            raise BadInput(f"host = true, but {provider} makes its models itself")
    except BadInput as error:
        raise BadInput(f"{place}: {error}") from None
    tables = []
    for number, table in enumerate(file.models):
        try:
            own = None if table.provider is None else _provider(table.provider, shipped, notes)
            tables.append(_table(table, own, own or provider, shipped, file.host, notes))
        except BadInput as error:
            raise BadInput(f"{place}: [[models]] {number + 1} ({table.model}): {error}") from None
    names = [name.strip().lower() for name in file.names]
    settled = msgspec.structs.replace(file, provider=provider, names=names, models=tables)
    return settled, tuple(f"{place}: {note}" for note in dict.fromkeys(notes))


def _provider(name: str, shipped: "Catalog", notes: list[str]) -> str:
    """The canonical name of a provider; a new one is noted."""
    key = name.strip().lower()
    if not key:
        raise BadInput("`provider` is empty, expected the name of a price list, as anthropic")
    known = shipped.provider_names.get(key)
    if known is not None:
        return known
    if key in PLATFORMS:
        raise BadInput(
            f"{key} serves models at their makers' prices: name the maker as `provider`, as openai"
        )
    close = difflib.get_close_matches(key[:100], shipped.provider_names, n=1, cutoff=0.8)
    if close:
        meant = shipped.provider_names[close[0]]
        raise BadInput(
            f"unknown provider {name!r}, did you mean {meant}? "
            f"Known: {', '.join(shipped.providers)}"
        )
    notes.append(f"{key} is a new provider; known: {', '.join(shipped.providers)}")
    return key


def _table(
    table: ModelTable, own: str | None, provider: str, shipped: "Catalog", host: bool,
    notes: list[str],
) -> ModelTable:  # fmt: skip
    """The table under the catalogue's id of its model; a new model is noted."""
    name = table.model.strip()
    if not name:
        raise BadInput("`model` is empty, expected a name")
    known = shipped.find(name, provider) if provider in shipped.providers else None
    hosted = host or shipped.is_host(provider)
    for alias in table.aliases:
        # a host may call a model as its maker does
        other = None if hosted else shipped.find(alias)
        if other is not None and other != known:
            raise BadInput(f"`aliases`: {alias!r} is a name of {other.provider}/{other.model}")
    if known is None:
        missing = [f for f in ("input", "output") if getattr(table.prices, f) is None]
        close = shipped.close_names(name, provider if provider in shipped.providers else None)
        alike = f"; close names: {', '.join(close)}" if close else ""
        if missing:
            raise BadInput(
                f"{provider} has no such model in the catalogue{alike}; a new model needs the "
                f"prices input and output, here is no {' and no '.join(missing)}"
            )
        notes.append(f"{provider}/{name} is not in the catalogue, taken as a new model{alike}")
        return msgspec.structs.replace(table, provider=own, model=name)
    if is_regional(name) and not is_regional(known.model):
        raise BadInput(
            f"the id names a region; write {known.model}, and the regional factor as `regional`"
        )
    aliases = table.aliases
    if key_of(name) != key_of(known.model):
        if key_of(name) not in shipped.names_of(known):
            notes.append(f"{name} is read as {known.provider}/{known.model}")
        aliases = [*aliases, name]
    return msgspec.structs.replace(table, provider=own, model=known.model, aliases=aliases)
