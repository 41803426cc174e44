"""One provider's TOML file -> rate cards; strict, so that a typo never becomes a price.

The shape (see any file in `catalog/`): `provider`, `sources`, file-wide `tiers`, and one
`[[models]]` table for each model and validity period. Prices are strings per million tokens.
"""

import re
import tomllib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Literal

import msgspec

from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog_checks import check_cards, check_period, check_thresholds
from cachecast_pricing.catalog_faults import sentence
from cachecast_pricing.money import CURRENCIES, decimal_of, picounits_per_token
from cachecast_pricing.peak_hours import peak_hours
from cachecast_pricing.rates import (
    PRICED,
    SERVICE_TIERS,
    STANDARD,
    ClassPrices,
    DatedNote,
    PeakHours,
    PriceBand,
    RateCard,
    ServiceTier,
    Threshold,
)  # fmt: skip

_LARGEST_FACTOR = 100
_CHECKED = re.compile(r"20[0-9]{2}(-[0-9]{2}(-[0-9]{2})?)?(/[0-9]{2})?")  # "2026-10/11" is shipped


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table in which every key must be known."""


class PriceTable(Strict, frozen=True):
    """Prices per million tokens; `storage` per million tokens and hour."""

    input: str | None = None
    cache_read: str | None = None
    cache_write_5m: str | None = None
    cache_write_30m: str | None = None
    cache_write_1h: str | None = None
    cache_write_12h: str | None = None
    output: str | None = None
    storage: str | None = None


class BandTable(Strict, frozen=True):
    """A long-context price; always counts the whole prompt and always moves the whole request."""

    threshold: int
    operator: Literal[">", ">="]
    counts: Literal["prompt"]
    moves: Literal["request"]
    prices: PriceTable | None = None
    factor: str | None = None
    note: str | None = None


class TierTable(Strict, frozen=True):
    """A service tier that lists fewer classes than the standard one, or needs a remark."""

    factor: str
    without: list[str] = []
    note: str | None = None


class PeakTable(Strict, frozen=True):
    """Peak hours in UTC; `holidays` are days without them (empty: none is known to us)."""

    factor: str
    weekdays: list[str]
    hours: list[tuple[str, str]]
    holidays: list[date] = []


class NoteTable(Strict, frozen=True):
    """A remark, optionally only for dates in [since, until)."""

    text: str
    since: datetime | None = None
    until: datetime | None = None


class ModelTable(Strict, frozen=True):
    """One model in one validity period."""

    model: str
    source: list[str]
    checked: str
    prices: PriceTable
    provider: str | None = None
    aliases: list[str] = []
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    long_context: list[BandTable] = []
    tiers: dict[str, str | TierTable] | None = None
    peak: bool = False
    regional: str | None = None
    cny: PriceTable | None = None
    notes: list[NoteTable] = []


class ProviderFile(Strict, frozen=True):
    """A whole file. `host` marks a provider that serves other makers' models."""

    provider: str
    models: list[ModelTable]
    names: list[str] = []
    host: bool = False
    currency: str = "USD"
    sources: dict[str, str] = {}
    tiers: dict[str, str | TierTable] = {}
    peak: PeakTable | None = None


def read_provider_file(text: str, place: str) -> ProviderFile:
    """The parsed file; BadInput names the file, the table and field, and what is accepted."""
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise BadInput(f"{place}: not TOML: nested too deep") from None
    except ValueError as error:  # TOMLDecodeError, and an integer of 5,000 digits
        raise BadInput(f"{place}: not TOML: {error}") from None
    try:
        return msgspec.convert(data, ProviderFile)
    except msgspec.ValidationError as error:
        raise BadInput(f"{place}: {sentence(error, data, ProviderFile)}") from None


def cards_of(file: ProviderFile, place: str) -> list[RateCard]:
    """One card for each model, validity period and currency.

    BadInput for a price, factor, moment, threshold or name that is none, for inexact products, and
    for two cards that hold at the same time.
    """
    try:
        peak = None if file.peak is None else _peak(file.peak)
        _check_top(file)
    except BadInput as error:
        raise BadInput(f"{place}: {error}") from None
    cards: list[RateCard] = []
    tables: list[int] = []
    for number, table in enumerate(file.models):
        where = f"{place}: {table.provider or file.provider}/{table.model}"
        try:
            _check_names(table)
            cards += [_card(file, table, table.prices, file.currency, peak)]
            if table.cny is not None:
                cards += [_card(file, table, table.cny, "CNY", peak)]
        except BadInput as error:
            raise BadInput(f"{where}: {error}") from None
        tables += [number] * (len(cards) - len(tables))
    check_cards(cards, tables, place)
    return cards


def _check_top(file: ProviderFile) -> None:
    if not file.provider.strip():
        raise BadInput("`provider` is empty, expected the name of a price list, as anthropic")
    if file.currency not in CURRENCIES:
        raise BadInput(f"`currency` is {file.currency!r}, expected an ISO 4217 code, as USD")
    if not file.models:
        raise BadInput("`models` is empty, expected one [[models]] table for each price")


def _check_names(table: ModelTable) -> None:
    for name, value in (("model", table.model), ("provider", table.provider)):
        if value is not None and not value.strip():
            raise BadInput(f"`{name}` is empty, expected a name")
    if not all(alias.strip() for alias in table.aliases):
        raise BadInput("`aliases` has an empty name")
    for note in table.notes:
        if note.since is not None and note.until is not None:
            check_period(_utc(note.since), _utc(note.until), "notes: since", "until")


def _card(
    file: ProviderFile, table: ModelTable, prices: PriceTable, currency: str,
    peak: PeakHours | None,
) -> RateCard:  # fmt: skip
    named = "prices" if prices is table.prices else "cny"
    bands = [PriceBand(None, _prices(prices, currency, named))]
    bands += [_band(band, prices, currency) for band in table.long_context]
    tiers = {STANDARD: ServiceTier(Fraction(1))}
    for name, spec in (file.tiers if table.tiers is None else table.tiers).items():
        if name not in SERVICE_TIERS:
            raise BadInput(f"service tier {name!r}, known: {', '.join(SERVICE_TIERS)}")
        if name == STANDARD:
            raise BadInput("tiers.standard: the standard prices are `prices` themselves")
        tiers[name] = _tier(spec, f"tiers.{name}")
    if table.cny is not None and table.long_context:
        raise BadInput("cny prices beside long_context ones: state both in currencies of their own")
    if table.peak and file.peak is None:
        raise BadInput("peak = true, but the file states no peak hours")
    card = RateCard(
        provider=table.provider or file.provider,
        model=table.model,
        currency=currency,
        valid_from=_utc(table.valid_from),
        valid_to=_utc(table.valid_to),
        bands=tuple(bands),
        tiers=tiers,
        peak=peak if table.peak else None,
        regional_factor=None if table.regional is None else _factor(table.regional, "regional"),
        sources=tuple(_source(file.sources, key) for key in table.source),
        checked=table.checked,
        notes=tuple(DatedNote(n.text, _utc(n.since), _utc(n.until)) for n in table.notes),
    )
    check_period(card.valid_from, card.valid_to, "valid_from", "valid_to")
    check_thresholds(card)
    first_day(card.checked)
    card.check_exact()
    return card


def _prices(table: PriceTable, currency: str, named: str) -> ClassPrices:
    """The table in picounits per token; BadInput names the price that is none."""
    found: dict[str, int] = {}
    for name in PriceTable.__struct_fields__:
        price: str | None = getattr(table, name)
        if price is not None:
            try:
                found["fresh" if name == "input" else name] = picounits_per_token(price)
            except BadInput as error:
                raise BadInput(f"{named}.{name}: {error}") from None
    return ClassPrices(**found, currency=currency)


def _band(band: BandTable, base: PriceTable, currency: str) -> PriceBand:
    """A long-context band from its own prices, or from a factor on the base prices."""
    threshold = Threshold(band.threshold, band.operator)
    if band.prices is not None and band.factor is None:
        return PriceBand(
            threshold, _prices(band.prices, currency, "long_context.prices"), band.note
        )
    if band.factor is not None and band.prices is None:
        factor = _factor(band.factor, "long_context.factor")
        prices = _prices(base, currency, "prices").scaled(factor, "long context")
        return PriceBand(threshold, prices, band.note)
    raise BadInput("a long_context table needs either prices or a factor")


def _tier(spec: str | TierTable, named: str) -> ServiceTier:
    if isinstance(spec, str):
        return ServiceTier(_factor(spec, named))
    unknown = set(spec.without) - set(PRICED)
    if unknown:
        raise BadInput(f"{named}.without: {sorted(unknown)}, known: {', '.join(PRICED)}")
    return ServiceTier(_factor(spec.factor, named), frozenset(spec.without), spec.note)


def _peak(table: PeakTable) -> PeakHours:
    factor = _factor(table.factor, "peak.factor")
    return peak_hours(factor, table.weekdays, table.hours, table.holidays)


def _factor(text: str, named: str) -> Fraction:
    value = Fraction(decimal_of(text, named))
    if not 0 < value <= _LARGEST_FACTOR:
        raise BadInput(f"{named} is {text}, expected > 0 and at most {_LARGEST_FACTOR}")
    return value


def _utc(moment: datetime | None) -> datetime | None:
    if moment is not None and moment.tzinfo is None:
        raise BadInput(f"the time {moment} has no time zone, write {moment.isoformat()}Z")
    return None if moment is None else moment.astimezone(UTC)


def _source(sources: Mapping[str, str], key: str) -> str:
    """The full text of a source; a key that the file does not define is its own text."""
    return sources.get(key, key)


def first_day(checked: str) -> date:
    """The earliest day that a reading date can mean: "2026-11" and "2026-11/12" -> 2026-11-01."""
    parts = checked.partition("/")[0].split("-")
    try:
        if not _CHECKED.fullmatch(checked):
            raise ValueError
        year, month, day = (int(part) for part in [*parts, "1", "1"][:3])
        return date(year, month, day)
    except ValueError:
        raise BadInput(f"checked is {checked!r}, expected YYYY, YYYY-MM or YYYY-MM-DD") from None
