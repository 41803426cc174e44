"""Rate cards: what one model costs per token class, by prompt size, service tier and hour."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from fractions import Fraction

from cachecast_datasets.errors import BadInput
from cachecast_pricing.money import times

PRICED: tuple[str, ...] = (
    "fresh", "cache_read", "cache_write_5m", "cache_write_30m", "cache_write_1h",
    "cache_write_12h", "output", "storage",
)  # fmt: skip
STANDARD = "standard"
SERVICE_TIERS: tuple[str, ...] = (STANDARD, "batch", "flex", "priority", "fast")


@dataclass(frozen=True, slots=True)
class ClassPrices:
    """Integer picounits for one token of each class; None means no price, never free.

    `storage` is for one token kept for one hour in an explicit cache.
    """

    fresh: int | None = None
    cache_read: int | None = None
    cache_write_5m: int | None = None
    cache_write_30m: int | None = None
    cache_write_1h: int | None = None
    cache_write_12h: int | None = None
    output: int | None = None
    storage: int | None = None
    currency: str = "USD"

    @property
    def write_prices(self) -> tuple[int, ...]:
        """The write prices that exist, shortest lifetime first."""
        writes = (
            self.cache_write_5m, self.cache_write_30m, self.cache_write_1h, self.cache_write_12h,
        )  # fmt: skip
        return tuple(price for price in writes if price is not None)

    def scaled(self, factor: Fraction, what: str) -> "ClassPrices":
        """Every price times `factor`; what has no price keeps none. BadInput if inexact."""
        if factor == 1:
            return self
        scaled: dict[str, int | None] = {}
        for name in PRICED:
            price: int | None = getattr(self, name)
            scaled[name] = None if price is None else times(price, factor, f"{what} {name}")
        return ClassPrices(**scaled, currency=self.currency)


@dataclass(frozen=True, slots=True)
class Threshold:
    """Where a long-context price starts: the whole prompt is `operator` than `tokens`."""

    tokens: int
    operator: str  # ">" or ">="

    @property
    def first_tokens(self) -> int:
        """The smallest prompt on the expensive side."""
        return self.tokens if self.operator == ">=" else self.tokens + 1


@dataclass(frozen=True, slots=True)
class PriceBand:
    """Standard prices of every prompt beyond a threshold (None: from the first token on)."""

    threshold: Threshold | None
    prices: ClassPrices
    note: str | None = None

    @property
    def first_tokens(self) -> int:
        """The smallest prompt that pays these prices."""
        return 0 if self.threshold is None else self.threshold.first_tokens


@dataclass(frozen=True, slots=True)
class ServiceTier:
    """A service tier as a factor on every standard price; `without` are classes it lacks."""

    factor: Fraction
    without: frozenset[str] = frozenset()
    note: str | None = None


@dataclass(frozen=True, slots=True)
class PeakHours:
    """Hours of the week, in UTC, in which every price is multiplied by `factor`.

    Windows are minutes of the day, half-open: [start, end).
    """

    factor: Fraction
    weekdays: frozenset[int]  # 0 = Monday
    windows: tuple[tuple[int, int], ...]
    holidays: frozenset[date]

    def contains(self, at: datetime) -> bool:
        """Whether `at` (with a time zone) lies in a peak hour."""
        moment = at.astimezone(UTC)
        if moment.weekday() not in self.weekdays or moment.date() in self.holidays:
            return False
        minute = moment.hour * 60 + moment.minute
        return any(start <= minute < end for start, end in self.windows)


@dataclass(frozen=True, slots=True)
class DatedNote:
    """A remark that belongs to prices asked for in [since, until)."""

    text: str
    since: datetime | None = None
    until: datetime | None = None

    def applies(self, on: datetime) -> bool:
        """Whether the remark concerns this moment."""
        return (self.since is None or on >= self.since) and (self.until is None or on < self.until)


@dataclass(frozen=True, slots=True)
class RateCard:
    """The prices of one model in one validity period and currency.

    `valid_from` is inclusive, `valid_to` exclusive, None means that the source states no limit.
    `checked` is when the price was read, as precise as the source says (2026, 2026-10, …).
    """

    provider: str
    model: str
    currency: str
    valid_from: datetime | None
    valid_to: datetime | None
    bands: tuple[PriceBand, ...]
    tiers: Mapping[str, ServiceTier]
    peak: PeakHours | None = None
    regional_factor: Fraction | None = None
    sources: tuple[str, ...] = ()
    checked: str = ""
    notes: tuple[DatedNote, ...] = ()
    _expanded: dict[tuple[str, bool, bool], tuple[tuple[int, ClassPrices], ...]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @property
    def service_tiers(self) -> tuple[str, ...]:
        """The service tiers that this model has prices for."""
        return tuple(name for name in SERVICE_TIERS if name in self.tiers)

    @property
    def has_peak(self) -> bool:
        """Whether the price depends on the hour."""
        return self.peak is not None

    def thresholds(self) -> tuple[Threshold, ...]:
        """Long-context thresholds, ascending."""
        found = (band.threshold for band in self.bands if band.threshold is not None)
        return tuple(sorted(found, key=lambda threshold: threshold.tokens))

    def band_of(self, prompt_tokens: int) -> PriceBand:
        """The band that a prompt of this size falls in."""
        return max(
            (band for band in self.bands if prompt_tokens >= band.first_tokens),
            key=lambda band: band.first_tokens,
        )

    def is_peak(self, at: datetime) -> bool:
        """Whether `at` lies in the provider's peak hours; False for a model without them."""
        return self.peak is not None and self.peak.contains(at)

    def valid_on(self, on: datetime) -> bool:
        """Whether the stated validity contains this moment."""
        return (self.valid_from is None or on >= self.valid_from) and (
            self.valid_to is None or on < self.valid_to
        )

    def prices(
        self, prompt_tokens: int, *, tier: str = STANDARD, peak: bool = False,
        regional: bool = False,
    ) -> ClassPrices:  # fmt: skip
        """The prices that a request of this prompt size pays for all of its tokens.

        Raises BadInput for a service tier that the model has no price for.
        """
        key = (tier, peak, regional)
        bands = self._expanded.get(key)
        if bands is None:
            bands = self._expanded[key] = self._expand(tier, peak, regional)
        for first_tokens, prices in bands:
            if prompt_tokens >= first_tokens:
                return prices
        raise AssertionError(f"{self.model}: no band for {prompt_tokens} tokens")

    def check_exact(self) -> None:
        """Raise BadInput if a tier, peak or regional product is not a whole number of picounits."""
        for tier in self.tiers:
            for peak in {False, self.has_peak}:
                for regional in {False, self.regional_factor is not None}:
                    self.prices(0, tier=tier, peak=peak, regional=regional)

    def _expand(self, tier: str, peak: bool, regional: bool) -> tuple[tuple[int, ClassPrices], ...]:
        """Bands in descending order with every factor applied."""
        service = self.tiers.get(tier)
        if service is None:
            raise BadInput(
                f"no {tier} price for {self.provider}/{self.model}; "
                f"it has: {', '.join(self.service_tiers)}"
            )
        factor = service.factor
        if peak and self.peak is not None:
            factor *= self.peak.factor
        if regional and self.regional_factor is not None:
            factor *= self.regional_factor
        what = f"{self.provider}/{self.model} {tier}"
        expanded = []
        for band in sorted(self.bands, key=lambda band: -band.first_tokens):
            prices = band.prices.scaled(factor, what)
            if service.without:
                kept = {n: getattr(prices, n) for n in PRICED if n not in service.without}
                prices = ClassPrices(**kept, currency=prices.currency)
            expanded.append((band.first_tokens, prices))
        return tuple(expanded)
