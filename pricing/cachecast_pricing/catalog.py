"""The rate-card catalogue: which model a name means, and its prices on a day."""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from importlib import resources
from pathlib import Path

from cachecast_datasets.errors import BadInput
from cachecast_datasets.small_file import read_small
from cachecast_pricing.catalog_checks import moment
from cachecast_pricing.catalog_file import ProviderFile, cards_of, first_day, read_provider_file
from cachecast_pricing.catalog_overlay import laid_over
from cachecast_pricing.model_ids import (
    PLATFORMS,
    ModelRef,
    UnknownModel,
    key_of,
    spellings,
    without_prefixes,
)  # fmt: skip
from cachecast_pricing.rates import RateCard


@dataclass(frozen=True, slots=True)
class DatedCard:
    """A rate card for a day, with what should be said about that date."""

    card: RateCard
    notes: tuple[str, ...]


class Catalog:
    """All rate cards; `newest` is the latest day on which one of them was read. `notes` say what
    negotiated prices add: models and providers that are not in the shipped files."""

    newest: date
    notes: tuple[str, ...]

    def __init__(
        self, files: Sequence[tuple[ProviderFile, str]], newest: date | None = None,
        notes: tuple[str, ...] = (),
    ):  # fmt: skip
        self.notes = notes
        self._cards: dict[ModelRef, list[RateCard]] = defaultdict(list)
        self._index: dict[str, list[ModelRef]] = defaultdict(list)
        self._found: dict[tuple[str, str | None], ModelRef | None] = {}
        self._hosts = frozenset(file.provider for file, _ in files if file.host)
        self._provider_of: dict[str, str] = {}
        for file, _ in files:
            self._provider_of |= dict.fromkeys((file.provider, *file.names), file.provider)
            own = (table.provider for table in file.models if table.provider)
            self._provider_of |= {name: name for name in own if name not in self._provider_of}
        for file, place in files:
            for card in cards_of(file, place):
                self._cards[ModelRef(card.provider, card.model)].append(card)
        # negotiated prices stand first and are entered last: a name that is taken is their fault
        for file, place in reversed(files):
            for table in file.models:
                ref = ModelRef(table.provider or file.provider, table.model)
                try:
                    self._enter(ref, (table.model, *table.aliases))
                except BadInput as error:
                    raise BadInput(f"{place}: {ref.provider}/{ref.model}: {error}") from None
        self.newest = newest or max(
            first_day(card.checked) for cards in self._cards.values() for card in cards
        )

    @property
    def providers(self) -> tuple[str, ...]:
        """Canonical provider names, sorted."""
        return tuple(sorted({ref.provider for ref in self._cards}))

    @property
    def provider_names(self) -> Mapping[str, str]:
        """Every name of a provider -> its canonical one."""
        return self._provider_of

    def is_host(self, provider: str) -> bool:
        """Whether a provider serves other makers' models."""
        return provider in self._hosts

    def provider(self, name: str) -> str:
        """The canonical name of a provider; BadInput lists the known ones."""
        known = self._provider_of.get(name.strip().lower())
        if known is None:
            raise BadInput(f"unknown provider {name!r}; known: {', '.join(self.providers)}")
        return known

    def resolve(self, name: str, provider: str | None = None) -> ModelRef:
        """The model that a person named; UnknownModel lists close names.

        A name that several providers list is its maker's; another provider's has to be asked for.
        """
        wanted = None
        if provider is not None and provider.strip().lower() not in PLATFORMS:
            wanted = self.provider(provider)
        found = self._look_up(name, wanted)
        if found is None:
            raise UnknownModel(self._unknown(name, wanted))
        return found

    def find(self, name: str | None, provider: str | None = None) -> ModelRef | None:
        """The model that a log names, or None where the catalogue has no such model."""
        if not name or not name.strip():
            return None
        key = (name, provider)
        if key not in self._found:
            self._found[key] = self._find(name, provider)
        return self._found[key]

    def _find(self, name: str, provider: str | None) -> ModelRef | None:
        wanted = None
        if provider and provider.strip().lower() not in PLATFORMS:
            wanted = self._provider_of.get(provider.strip().lower())
            if wanted is None:
                return None
        return self._look_up(name, wanted)

    def also_listed(self, ref: ModelRef) -> tuple[ModelRef, ...]:
        """The same model at other providers."""
        keys = [key_of(ref.model), *_bare_keys(ref.model, self._provider_of)]
        others = {other for key in keys for other in self._index.get(key, ())}
        return tuple(sorted(others - {ref}))

    def card(self, ref: ModelRef, on: datetime, currency: str | None = None) -> DatedCard:
        """The card of a moment (with a time zone), in the card's first currency by default.

        Raises BadInput where the moment lies outside the validity that the sources state, and for
        a currency that the model has no price in.
        """
        cards = self._cards_of(ref)
        currencies = list(dict.fromkeys(card.currency for card in cards))
        wanted = _first_currency(cards, on) if currency is None else currency
        if wanted not in currencies:
            raise BadInput(
                f"no {wanted or repr(wanted)} price for {ref.provider}/{ref.model}; "
                f"it has: {', '.join(currencies)}"
            )
        for card in cards:
            if card.currency == wanted and card.valid_on(on):
                return DatedCard(card, _notes(card, on))
        raise BadInput(
            f"no price for {ref.provider}/{ref.model} on {moment(on)}: its validity is stated "
            + " and ".join(_validity(card) for card in cards if card.currency == wanted)
        )

    def cards_between(
        self, ref: ModelRef, start: datetime, end: datetime, currency: str | None = None
    ) -> list[RateCard]:
        """The cards that are valid at some moment of [start, end)."""
        cards = self._cards_of(ref)
        wanted = _first_currency(cards, start) if currency is None else currency
        return [
            card for card in cards
            if card.currency == wanted
            and (card.valid_to is None or card.valid_to > start)
            and (card.valid_from is None or card.valid_from < end)
        ]  # fmt: skip

    def rows(self) -> list[RateCard]:
        """Every card of the catalogue, by provider, in the order of its file."""
        by_provider = sorted(self._cards.items(), key=lambda item: item[0].provider)
        return [card for _, cards in by_provider for card in cards]

    def _cards_of(self, ref: ModelRef) -> list[RateCard]:
        if ref not in self._cards:
            raise UnknownModel(f"unknown model {ref.model!r} at {ref.provider}")
        return self._cards[ref]

    def _enter(self, ref: ModelRef, names: Iterable[str]) -> None:
        """Make a model known under its names; a host's also without the maker's prefix.

        BadInput for a name that a model of the same provider has, or that of another maker.
        """
        host = ref.provider in self._hosts
        for name in names:
            keys = [key_of(name)]
            for other in self._index[keys[0]]:
                makers = not host and other.provider not in self._hosts
                if other != ref and (makers or other.provider == ref.provider):
                    raise BadInput(
                        f"the name {name!r} belongs to {other.provider}/{other.model}; to price "
                        f'that model write provider = "{other.provider}", '
                        "for a host of it host = true"
                    )
            if ref.provider in self._hosts:
                keys += _bare_keys(name, self._provider_of)
            for key in keys:
                if ref not in self._index[key]:
                    self._index[key].append(ref)

    def _look_up(self, name: str, wanted: str | None) -> ModelRef | None:
        for spelling in spellings(name, self._provider_of):
            refs = self._index.get(spelling.key, [])
            provider = wanted or spelling.provider
            # `--provider moonshot openai/kimi-k3` contradicts itself, a host may serve any maker
            if wanted and spelling.provider not in (None, wanted) and wanted not in self._hosts:
                continue
            refs = [ref for ref in refs if provider in (None, ref.provider)]
            exact = [ref for ref in refs if key_of(ref.model) == spelling.key]
            makers = [ref for ref in refs if ref.provider not in self._hosts]
            for choice in (makers, exact, refs):
                if len(choice) == 1:
                    return choice[0]
        return None

    def names_of(self, ref: ModelRef) -> frozenset[str]:
        """The keys of a model's id and of its aliases."""
        return frozenset(key for key, refs in self._index.items() if ref in refs)

    def close_names(self, name: str, provider: str | None = None) -> list[str]:
        """Up to five models (of a provider) whose ids are like a name, else contain it."""
        by_key = {key_of(ref.model): ref for ref in self._cards if provider in (None, ref.provider)}
        keys = list(dict.fromkeys(s.key for s in spellings(name, self._provider_of)))
        close = dict.fromkeys(
            by_key[match].model
            for key in reversed(keys)
            for match in difflib.get_close_matches(key[:100], by_key, n=5, cutoff=0.6)
        )
        within = (r.model for k, r in by_key.items() if any(p in k for p in keys if len(p) > 2))
        return list(close or within)[:5]

    def _unknown(self, name: str, wanted: str | None) -> str:
        """The sentence for a name that is not in the catalogue."""
        elsewhere = self._look_up(name, None) if wanted else None
        if elsewhere:
            return f"{wanted} lists no price for {name!r}; {elsewhere.provider} does"
        close = self.close_names(name, wanted)
        where = f" at {wanted}" if wanted else ""
        if close:
            return f"unknown model {name!r}{where}; close names: {', '.join(close)}"
        return f"unknown model {name!r}{where}; `cachecast models` lists all that have a price"


def _bare_keys(model: str, provider_of: dict[str, str]) -> list[str]:
    """The keys of a host's model id without the maker's prefix (anthropic.x, openai/x)."""
    return [key_of(text) for text, maker in without_prefixes(model, provider_of) if maker]


def _notes(card: RateCard, on: datetime) -> tuple[str, ...]:
    """What has to be said about this card on this day."""
    notes = [note.text for note in card.notes if note.applies(on)]
    if card.valid_from is None and on.date() < first_day(card.checked):
        notes.append(
            f"the price was read on {card.checked}; "
            f"whether it held on {on.date()} already is not stated"
        )
    return tuple(notes)


def _first_currency(cards: Sequence[RateCard], on: datetime) -> str:
    """The currency of the first card of that moment; of the first of all where none holds then."""
    return next((card for card in cards if card.valid_on(on)), cards[0]).currency


def _validity(card: RateCard) -> str:
    """ "from … to before …", as far as stated."""
    parts = []
    if card.valid_from is not None:
        parts.append(f"from {moment(card.valid_from)}")
    if card.valid_to is not None:
        parts.append(f"until before {moment(card.valid_to)}")
    return " ".join(parts)


@cache
def _shipped_files() -> list[tuple[ProviderFile, str]]:
    folder = resources.files("cachecast_pricing") / "catalog"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    texts = ((folder / name).read_text("utf-8") for name in names)
    return [(read_provider_file(text, name), name) for text, name in zip(texts, names, strict=True)]


@cache
def _shipped() -> Catalog:
    return Catalog(_shipped_files())


def load_catalog(overrides: Path | None = None) -> Catalog:
    """The shipped catalogue, with negotiated prices of the same TOML shape laid over it.

    An override's card comes first on the days of its validity; on other days, and for all other
    models, the shipped prices hold. Raises BadInput if the file cannot be read or is no such TOML.
    """
    if overrides is None:
        return _shipped()
    try:
        text = read_small(overrides).decode()
    except UnicodeDecodeError:
        raise BadInput(f"{overrides}: not UTF-8 text, expected TOML") from None
    except (OSError, BadInput) as error:
        raise BadInput(f"{overrides}: {getattr(error, 'strerror', error)}") from None
    place = str(overrides)
    own, notes = laid_over(read_provider_file(text, place), _shipped(), place)
    return Catalog([(own, place), *_shipped_files()], _shipped().newest, notes)
