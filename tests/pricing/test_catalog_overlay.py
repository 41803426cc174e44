"""Negotiated prices: whose model each table means, what is new, and what cannot be meant."""

from pathlib import Path

import pytest
from priced import at

from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog import Catalog, load_catalog
from cachecast_pricing.money import per_mtok_string
from cachecast_pricing.quote import quote

RATES = """
provider = "anthropic"
[[models]]
model = "claude-opus-5"
prices = { input = "4", output = "20" }
source = ["our contract"]
checked = "2026-10-01"
"""
KNOWN = (
    "alibaba, anthropic, bedrock, deepseek, fireworks, google, groq, minimax, mistral, moonshot, "
    "openai, xai, zai"
)
CLOSE = (
    "close names: claude-opus-5, claude-opus-5.5, claude-opus-4.5, claude-opus-4.8, claude-opus-4.7"
)


def loaded(folder: Path, *changes: tuple[str, str]) -> Catalog:
    text = RATES
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "rates.toml"
    path.write_text(text, "utf-8")
    return load_catalog(path)


def said(folder: Path, catalog: Catalog) -> list[str]:
    """The notes without the name of the file."""
    return [note.removeprefix(f"{folder / 'rates.toml'}: ") for note in catalog.notes]


@pytest.mark.parametrize("name", ["Claude-Opus-5", "anthropic/claude-opus-5", " claude-opus-5 "])
def test_another_spelling_of_a_known_model_is_that_model(tmp_path: Path, name: str) -> None:
    catalog = loaded(tmp_path, ('"claude-opus-5"', f'"{name}"'))
    ref = catalog.resolve("claude-opus-5")

    assert ref.model == "claude-opus-5"
    assert per_mtok_string(catalog.card(ref, at("2026-11-01")).card.prices(0).fresh) == "4"


def test_a_model_that_the_catalogue_does_not_know_is_new_and_named_in_the_notes(
    tmp_path: Path,
) -> None:
    catalog = loaded(tmp_path, ("claude-opus-5", "claude-opos-5"))
    note = f"anthropic/claude-opos-5 is not in the catalogue, taken as a new model; {CLOSE}"

    assert said(tmp_path, catalog) == [note]
    usual = quote(catalog, "claude-opus-5", {"input_tokens": 1_000_000, "output_tokens": 0})
    assert any(note in word for word in usual.notes)


def test_a_dated_id_is_read_as_its_model_and_that_is_said(tmp_path: Path) -> None:
    catalog = loaded(tmp_path, ("claude-opus-5", "claude-opus-5-20261101"))

    assert said(tmp_path, catalog) == ["claude-opus-5-20261101 is read as anthropic/claude-opus-5"]


def test_a_new_provider_and_its_model_are_named_in_the_notes(tmp_path: Path) -> None:
    catalog = loaded(tmp_path, ('"anthropic"', '"Acme"'), ("claude-opus-5", "rocket-1"))

    assert said(tmp_path, catalog) == [
        f"acme is a new provider; known: {KNOWN}",
        "acme/rocket-1 is not in the catalogue, taken as a new model",
    ]
    assert catalog.resolve("rocket-1").provider == "acme"


def test_another_name_of_a_provider_is_that_provider(tmp_path: Path) -> None:
    catalog = loaded(tmp_path, ('"anthropic"', '"Claude"'))

    assert catalog.notes == ()
    assert catalog.providers == load_catalog().providers


def test_a_new_host_may_serve_a_maker_s_model_and_is_asked_for(tmp_path: Path) -> None:
    catalog = loaded(tmp_path, ('"anthropic"', '"acme"\nhost = true'))

    assert catalog.resolve("claude-opus-5").provider == "anthropic"
    assert catalog.resolve("claude-opus-5", "acme").provider == "acme"


def test_a_price_in_another_currency_leaves_the_other_days_as_they_are(tmp_path: Path) -> None:
    catalog = loaded(
        tmp_path,
        ('"anthropic"', '"anthropic"\ncurrency = "EUR"'),
        ("checked", "valid_from = 2026-12-01T00:00:00Z\nchecked"),
    )
    ref = catalog.resolve("claude-opus-5")

    assert catalog.card(ref, at("2026-11-30")).card.currency == "USD"
    assert catalog.card(ref, at("2026-12-01")).card.currency == "EUR"


TABLE = "[[models]] 1 (claude-opus-5): "


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"claude-opus-5"\nprices = { input = "4", output = "20" }',
         '"claude-opos-5"\nprices = { input = "4" }',
         "[[models]] 1 (claude-opos-5): anthropic has no such model in the catalogue; "
         f"{CLOSE}; a new model needs the prices input and output, here is no output"),
        ('"claude-opus-5"', '" "', "[[models]] 1 ( ): `model` is empty, expected a name"),
        ('"claude-opus-5"', '"eu.claude-opus-5"',
         "[[models]] 1 (eu.claude-opus-5): the id names a region; write claude-opus-5, and the "
         "regional factor as `regional`"),
        ("checked", 'aliases = ["gpt-6-sol"]\nchecked',
         f"{TABLE}`aliases`: 'gpt-6-sol' is a name of openai/gpt-6-sol"),
        ("checked", 'aliases = ["gpt-6-sol-20261101"]\nchecked',
         f"{TABLE}`aliases`: 'gpt-6-sol-20261101' is a name of openai/gpt-6-sol"),
        ("checked", 'aliases = ["claude-opus-4-8"]\nchecked',
         f"{TABLE}`aliases`: 'claude-opus-4-8' is a name of anthropic/claude-opus-4.8"),
        ("checked", 'aliases = [""]\nchecked',
         "anthropic/claude-opus-5: `aliases` has an empty name"),
        ('"anthropic"', '""',
         "`provider` is empty, expected the name of a price list, as anthropic"),
        ('"anthropic"', '"anthropc"',
         f"unknown provider 'anthropc', did you mean anthropic? Known: {KNOWN}"),
        ('"anthropic"', '"acme"',
         "acme/claude-opus-5: the name 'claude-opus-5' belongs to anthropic/claude-opus-5; to "
         'price that model write provider = "anthropic", for a host of it host = true'),
        ("checked", 'provider = "openai"\nchecked',
         "openai/claude-opus-5: the name 'claude-opus-5' belongs to anthropic/claude-opus-5; to "
         'price that model write provider = "anthropic", for a host of it host = true'),
        ('"anthropic"', '"azure"',
         "azure serves models at their makers' prices: name the maker as `provider`, as openai"),
        ('"anthropic"', '"anthropic"\nnames = ["openai"]',
         "`names`: 'openai' is a name of openai, not of anthropic"),
        ('"anthropic"', '"anthropic"\nhost = true',
         "host = true, but anthropic makes its models itself"),
    ],
)  # fmt: skip
def test_a_name_that_means_something_else_or_nothing_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(BadInput) as caught:
        loaded(tmp_path, (old, new))
    assert str(caught.value) == f"{tmp_path / 'rates.toml'}: {message}"


def test_two_new_models_cannot_share_an_alias(tmp_path: Path) -> None:
    table = RATES.partition('"anthropic"\n')[2]
    with pytest.raises(BadInput) as caught:
        loaded(
            tmp_path,
            ("claude-opus-5", "rocket-1"),
            ("checked", 'aliases = ["rocket"]\nchecked'),
            ('"2026-10-01"\n', '"2026-10-01"\n' + table.replace("claude-opus-5", "rocket")),
        )
    assert str(caught.value).endswith(
        "anthropic/rocket: the name 'rocket' belongs to anthropic/rocket-1; to price that model "
        'write provider = "anthropic", for a host of it host = true'
    )
