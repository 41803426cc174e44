"""Negotiated prices: the same TOML shape, laid over the catalogue, read as strictly."""

from pathlib import Path

import pytest
from priced import CATALOG, at

from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog import Catalog, load_catalog
from cachecast_pricing.money import per_mtok_string


def negotiated(folder: Path, text: str) -> Catalog:
    path = folder / "rates.toml"
    path.write_text(text, "utf-8")
    return load_catalog(path)


RATES = """
provider = "anthropic"
[[models]]
model = "claude-opus-5"
valid_from = 2026-10-01T00:00:00Z
prices = { input = "4", cache_read = "0.4", cache_write_5m = "5", output = "20" }
source = ["our contract"]
checked = "2026-10-01"
"""


def test_negotiated_prices_lie_over_the_catalogue_on_the_days_of_their_validity(
    tmp_path: Path,
) -> None:
    catalog = negotiated(tmp_path, RATES)
    ref = catalog.resolve("claude-opus-5")

    ours = catalog.card(ref, at("2026-10-01")).card
    assert per_mtok_string(ours.prices(0).fresh) == "4"
    assert ours.sources == ("our contract",)
    assert per_mtok_string(catalog.card(ref, at("2026-09-30")).card.prices(0).fresh) == "5"
    assert catalog.newest == CATALOG.newest
    assert catalog.resolve("gpt-6-sol").provider == "openai"


MODEL = "[[models]] 1 (claude-opus-5)"
REF = "anthropic/claude-opus-5"
TIME = "2026-10-01T00:00:00Z"
TOP = "provider (required), models (required), names, host, currency, sources, tiers, peak"
FIELDS = (
    "model (required), source (required), checked (required), prices (required), provider, "
    "aliases, valid_from, valid_to, long_context, tiers, peak, regional, cny, notes"
)
CLASSES = (
    "input, cache_read, cache_write_5m, cache_write_30m, cache_write_1h, cache_write_12h, "
    "output, storage"
)
TIER = "factor (required), without, note"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('provider = "anthropic"\n', "",
         "top of the file: the field `provider` is missing; accepted: " + TOP),
        ('provider = "anthropic"', 'vendor = "anthropic"',
         'top of the file: unknown field `vendor` ("anthropic"); accepted: ' + TOP),
        ("[[models]]", "[[model]]",
         "top of the file: unknown field `model` (a list); accepted: " + TOP),
        ("[[models]]", "[models]",
         "top of the file: `models` is a table, expected a list in [ ], or tables in [[ ]]"),
        ('source = ["our contract"]\n', "",
         f"{MODEL}: the field `source` is missing; accepted: {FIELDS}"),
        ('input = "4"', 'inptu = "4"',
         f'{MODEL}, prices: unknown field `inptu` ("4"); accepted: {CLASSES}'),
        ('input = "4"', "input = 4.0",
         f"{MODEL}, prices: `input` is 4.0, expected text in quotes"),
        ('input = "4"', 'input = "4.0000001"',
         f"{REF}: prices.input: price per MTok is 4.0000001, expected at most 6 decimals"),
        ('input = "4"', 'input = "-4"',
         f"{REF}: prices.input: price per MTok is -4, expected >= 0"),
        ("2026-10-01T00:00:00Z", '"soon"',
         f'{MODEL}: `valid_from` is "soon": Invalid RFC3339 encoded datetime'),
        ("2026-10-01T00:00:00Z", "2026-10-01",
         f"{MODEL}: `valid_from` is 2026-10-01, expected a time with its zone, as {TIME}"),
        ("2026-10-01T00:00:00Z", "2026-10-01T00:00:00",
         f"{REF}: the time 2026-10-01 00:00:00 has no time zone, write {TIME}"),
        ('checked = "2026-10-01"', 'checked = "last week"',
         f"{REF}: checked is 'last week', expected YYYY, YYYY-MM or YYYY-MM-DD"),
        ("checked =", 'tiers = { turbo = "2" }\nchecked =',
         f"{REF}: service tier 'turbo', known: standard, batch, flex, priority, fast"),
        ("checked =", "tiers = { batch = 0.5 }\nchecked =",
         f'{MODEL}, tiers: `batch` is 0.5, expected a factor in quotes, as "0.5", or a table'),
        ("checked =", 'tiers = { batch = { fctor = "2" } }\nchecked =',
         f'{MODEL}, tiers, batch: unknown field `fctor` ("2"); accepted: {TIER}'),
        ("checked =", 'tiers = { batch = "x" }\nchecked =',
         f"{REF}: tiers.batch is 'x', expected a plain decimal number, as 0.25"),
    ],
)  # fmt: skip
def test_a_rates_file_that_breaks_the_shape_is_refused_with_place_value_and_what_is_accepted(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(BadInput) as caught:
        negotiated(tmp_path, RATES.replace(old, new))
    assert str(caught.value) == f"{tmp_path / 'rates.toml'}: {message}"


def test_a_closed_list_is_named_and_the_second_model_is_the_one_at_fault(tmp_path: Path) -> None:
    second = """[[models]]
model = "claude-sonnet-5"
prices = { input = "2" }
source = ["our contract"]
checked = "2026-10-01"
long_context = [{ threshold = 1, operator = "=>", counts = "prompt", moves = "request" }]
"""
    with pytest.raises(BadInput) as caught:
        negotiated(tmp_path, RATES + second)
    assert str(caught.value).endswith(
        '[[models]] 2 (claude-sonnet-5), [[long_context]] 1: `operator` is "=>": '
        "Invalid enum value '=>'; accepted: >, >="
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("checked =", 'tiers = { batch = "0.3333333" }\nchecked ='), "is not a whole number"),
        (("[[models]]", "[[models"), "not TOML"),
    ],
)
def test_an_inexact_product_and_what_is_no_toml_are_refused_with_the_files_name(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        negotiated(tmp_path, RATES.replace(*change))
    assert "rates.toml" in str(caught.value)


def test_a_missing_rates_file_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"gone\.toml: No such file"):
        load_catalog(tmp_path / "gone.toml")
