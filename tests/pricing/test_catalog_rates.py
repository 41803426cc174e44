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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('input = "4"', 'inptu = "4"'), "unknown field `inptu`"),
        (('input = "4"', "input = 4.0"), "Expected `str"),
        (('input = "4"', 'input = "4.0000001"'), "at most 6 decimals"),
        (('input = "4"', 'input = "-4"'), "expected >= 0"),
        (("2026-10-01T00:00:00Z", '"soon"'), "Invalid RFC3339"),
        (("2026-10-01T00:00:00Z", "2026-10-01T00:00:00"), "has no time zone"),
        (('checked = "2026-10-01"', 'checked = "last week"'), "expected YYYY"),
        (('checked = "2026-10-01"', 'tiers = { batch = "0.3333333" }\nchecked = "2026"'), "whole"),
        (
            ('checked = "2026-10-01"', 'tiers = { turbo = "2" }\nchecked = "2026"'),
            "known: standard",
        ),
        (("[[models]]", "[[models"), "not TOML"),
    ],
)
def test_a_rates_file_that_breaks_the_shape_is_refused_with_its_name(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        negotiated(tmp_path, RATES.replace(*change))
    assert "rates.toml" in str(caught.value)


def test_a_missing_rates_file_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"gone\.toml: No such file"):
        load_catalog(tmp_path / "gone.toml")
