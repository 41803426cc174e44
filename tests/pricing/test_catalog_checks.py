"""A price list that contradicts itself is refused, the shipped ones and a person's own alike."""

from importlib import resources
from pathlib import Path

import pytest

from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog import load_catalog
from cachecast_pricing.catalog_file import cards_of, read_provider_file
from cachecast_pricing.money import CURRENCIES

MODEL = """
[[models]]
model = "claude-opus-5"
prices = { input = "4", cache_read = "0.4", output = "20" }
source = ["our contract"]
checked = "2026-10-01"
"""
RATES = f'provider = "anthropic"\n{MODEL}'
PEAK = """
[peak]
factor = "2"
weekdays = ["mon"]
hours = [["01:00", "04:00"]]
"""
LONG = """
[[models.long_context]]
operator = ">"
counts = "prompt"
moves = "request"
factor = "2"
"""
REF = "anthropic/claude-opus-5"
PLAIN = "expected a plain decimal number, as 0.25"


def refused(folder: Path, text: str) -> str:
    """What is said about a rates file, without its name."""
    path = folder / "rates.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(BadInput) as caught:
        load_catalog(path)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value).removeprefix(f"{path}: ")


def dated(start: str, end: str) -> str:
    """The model's table, for a period."""
    period = f"valid_from = {start}T00:00:00Z\nvalid_to = {end}T00:00:00Z\nchecked"
    return MODEL.replace("checked", period)


def long_context(*thresholds: tuple[str, int]) -> str:
    """Tables of long-context prices."""
    return "".join(
        LONG.replace('">"', f'"{operator}"') + f"threshold = {tokens}\n"
        for operator, tokens in thresholds
    )


BOTH = f"[[models]] 1 and [[models]] 2 both state USD prices of {REF}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RATES + MODEL, f"{BOTH} for all dates"),
        (RATES + MODEL.replace("claude-opus-5", "Claude-Opus-5-20261101"), f"{BOTH} for all dates"),
        (RATES + dated("2026-10-01", "2026-11-01"), f"{BOTH} from 2026-10-01 until 2026-11-01"),
        ('provider = "anthropic"\n' + dated("2026-10-01", "2026-12-01")
         + dated("2026-11-01", "2027-01-01"), f"{BOTH} from 2026-11-01 until 2026-12-01"),
        ('provider = "anthropic"\ncurrency = "CNY"\n'
         + MODEL.replace("checked", 'cny = { input = "1" }\nchecked'),
         f"`prices` and `cny` of [[models]] 1 both state CNY prices of {REF} for all dates"),
    ],
)  # fmt: skip
def test_two_prices_of_one_model_at_one_time_are_refused_with_both_tables(
    tmp_path: Path, text: str, message: str
) -> None:
    assert refused(tmp_path, text) == message


def test_two_periods_that_meet_do_not_overlap(tmp_path: Path) -> None:
    path = tmp_path / "rates.toml"
    both = dated("2026-10-01", "2026-11-01") + dated("2026-11-01", "2026-12-01")
    path.write_text(f'provider = "anthropic"\n{both}', "utf-8")

    load_catalog(path)


@pytest.mark.parametrize(("start", "end"), [("2026-10-02", "2026-10-01"), ("2026-10-01",) * 2])
def test_a_period_that_ends_before_it_starts_is_refused(
    tmp_path: Path, start: str, end: str
) -> None:
    said = refused(tmp_path, 'provider = "anthropic"\n' + dated(start, end))

    assert said == (
        f"{REF}: valid_from {start} is not before valid_to {end}, so it holds on no day"
    )


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ([(">", 0)], "threshold > 0, expected > 0"),
        ([(">=", -5)], "threshold >= -5, expected > 0"),
        ([(">", 200_000), (">", 200_000)], "threshold > 200000 stands there twice"),
        ([(">", 200_000), (">=", 200_001)], "threshold >= 200001 stands there twice"),
    ],
)
def test_a_long_context_threshold_that_is_no_size_or_stands_there_twice_is_refused(
    tmp_path: Path, thresholds: list[tuple[str, int]], message: str
) -> None:
    said = refused(tmp_path, RATES + long_context(*thresholds))

    assert said == f"{REF}: long_context: {message}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"01:00", "04:00"', '"04:00", "01:00"',
         "peak.hours: '04:00' to '01:00', expected a start before the end; hours across midnight "
         "are two pairs, the first one to 24:00"),
        ('"mon"', '"Monday"',
         "peak.weekdays: 'Monday', accepted: mon, tue, wed, thu, fri, sat, sun"),
        ('"mon"', "", "peak needs at least one weekday and one pair of hours"),
        ('"01:00"', '"1:00"', "peak.hours: '1:00', expected a time as 09:00 (UTC, up to 24:00)"),
        ('"04:00"', '"24:30"', "peak.hours: '24:30', expected a time as 09:00 (UTC, up to 24:00)"),
        ('"2"', '"0"', "peak.factor is 0, expected > 0 and at most 100"),
    ],
)  # fmt: skip
def test_peak_hours_that_are_none_are_refused_in_a_sentence(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = RATES.replace("\n\n", f"\n{PEAK.replace(old, new)}\n", 1)

    assert refused(tmp_path, text) == message


@pytest.mark.parametrize("currency", ["usd", "", "XYZ", "US$"])
def test_a_currency_that_is_no_iso_code_is_refused(tmp_path: Path, currency: str) -> None:
    text = f'currency = "{currency}"\n{RATES}'

    assert refused(tmp_path, text) == (
        f"`currency` is {currency!r}, expected an ISO 4217 code, as USD"
    )
    assert {"USD", "CNY", "EUR"} <= CURRENCIES


@pytest.mark.parametrize(
    ("price", "message"),
    [
        ("4e3", f"'4e3', {PLAIN}"),
        ("4_0", f"'4_0', {PLAIN}"),
        ("٤", f"'٤', {PLAIN}"),
        (" 4 ", f"' 4 ', {PLAIN}"),
        ("+4", f"'+4', {PLAIN}"),
        (".5", f"'.5', {PLAIN}"),
        ("", f"'', {PLAIN}"),
        ("NaN", f"'NaN', {PLAIN}"),
        ("1e999999", f"'1e999999', {PLAIN}"),
        ("9" * 90, f"'{'9' * 57}...', {PLAIN}"),
        ("4.0000000", "4.0000000, expected at most 6 decimals"),
        ("-4", "-4, expected >= 0"),
        ("1000001", "1000001, expected at most 1000000"),
    ],
)
def test_a_price_that_is_no_plain_decimal_is_refused(
    tmp_path: Path, price: str, message: str
) -> None:
    said = refused(tmp_path, RATES.replace('input = "4"', f'input = "{price}"'))

    assert said == f"{REF}: prices.input: price per MTok is {message}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("checked =", 'tiers = { standard = "2" }\nchecked =',
         f"{REF}: tiers.standard: the standard prices are `prices` themselves"),
        ("checked =", 'regional = "1e1"\nchecked =', f"{REF}: regional is '1e1', {PLAIN}"),
        ("2026-10-01", "2026-1-1",
         f"{REF}: checked is '2026-1-1', expected YYYY, YYYY-MM or YYYY-MM-DD"),
        ('provider = "anthropic"', 'provider = "anthropic"\nmodels = []#',
         "`models` is empty, expected one [[models]] table for each price"),
    ],
)  # fmt: skip
def test_what_would_change_a_price_without_a_word_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = RATES.replace(old, new)
    if "models = []" in new:
        text = text.partition("[[models]]")[0]

    assert refused(tmp_path, text) == message


SHIPPED = sorted(
    entry.name
    for entry in (resources.files("cachecast_pricing") / "catalog").iterdir()
    if entry.name.endswith(".toml")
)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_file_passes_the_strict_checks(name: str) -> None:
    text = (resources.files("cachecast_pricing") / "catalog" / name).read_text("utf-8")
    file = read_provider_file(text, name)

    assert cards_of(file, name)
    with pytest.raises(BadInput, match=rf"^{name}: \[\[models\]\] 1 and "):  # the checks are on
        cards_of(read_provider_file(twice(text), name), name)


def twice(text: str) -> str:
    """The file with its first model stated a second time."""
    first, *others = text.split("[[models]]")[1:2], text.split("[[models]]")[2:]
    head = text.split("[[models]]")[0]
    return "[[models]]".join([head, *first, *first, *others[0]])
