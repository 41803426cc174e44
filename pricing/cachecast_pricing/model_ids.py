"""Names of models: one canonical id each, and which spellings of it are accepted.

Accepted around a canonical id: dots written as dashes, a date, `-latest`, `[1m]`, `-v1:0`, a
`provider/` or region prefix. Anything else that follows a known id makes an unknown model: an
id is matched whole, never by its beginning (claude-opus-5-5 is not claude-opus-5).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cachecast_datasets.errors import BadInput


class UnknownModel(BadInput):
    """A name that is no model of the catalogue; the message lists close names."""


@dataclass(frozen=True, slots=True, order=True)
class ModelRef:
    """One model of the catalogue, by its canonical names."""

    provider: str
    model: str


# Names of places that serve a maker's model at the maker's own price: they say nothing about whose
# model it is. (Bedrock, Groq and Fireworks are providers: they have price lists of their own.)
PLATFORMS = frozenset({
    "azure", "azure_openai", "azure-openai", "openrouter", "vertex", "vertex_ai", "vertex-ai",
    "google-vertex", "litellm", "models", "first-party",
})  # fmt: skip

_DATE = r"20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
_DASHED_DATE = r"20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_SUFFIX = re.compile(rf"(?:\[1m\]|-latest|[-@]{_DATE}|[-@]{_DASHED_DATE}|-v1|-v\d+:\d+)$")
_REGION = re.compile(r"^(?P<region>global|us|eu|apac|ap|jp|au|ca|sa|us-gov)\.")
_REGION_FOLDER = re.compile(r"^[a-z]{2}(?:-[a-z]+)+-\d/")
_ARN = re.compile(r"^arn:aws[^/]*/")


@dataclass(frozen=True, slots=True)
class Spelling:
    """One reading of a name: what is left of it, and the provider that its prefix names."""

    key: str
    provider: str | None


def key_of(name: str) -> str:
    """The form in which names are compared: lower case, dots as dashes."""
    return name.strip().lower().replace(".", "-")


def is_regional(name: str) -> bool:
    """Whether the id names a region of its own (`eu.…`), which costs more than `global.`."""
    found = _REGION.match(_ARN.sub("", name.strip().lower()))
    return found is not None and found["region"] != "global"


def names_region(region: str | None) -> bool:
    """Whether a request was kept in a region, which costs more; `global` and silence are none."""
    return region not in (None, "", "global", "not_available")


def spellings(name: str, provider_of: dict[str, str]) -> Iterator[Spelling]:
    """Every accepted reading of `name`, the least shortened first.

    `provider_of` maps each name of a provider to its canonical one; a prefix that is neither a
    provider, a platform nor a region is not removed.
    """
    for text, provider in without_prefixes(name.strip().lower(), provider_of):
        yield from (Spelling(key_of(rest), provider) for rest in _without_suffixes(text))


def without_prefixes(text: str, provider_of: dict[str, str]) -> Iterator[tuple[str, str | None]]:
    """`text`, then what is left of it as one prefix after the other is taken away.

    Beside each stands the outermost provider that was taken away, if any.
    """
    provider: str | None = None
    while True:
        yield text, provider
        place = next((p for p in (_ARN, _REGION_FOLDER, _REGION) if p.match(text)), None)
        head, slash, tail = text.partition("/")
        maker, dot, model = text.partition(".")
        if place is not None:
            text = place.sub("", text)
        elif slash and head in PLATFORMS:
            text = tail
        elif slash and head in provider_of:
            text, provider = tail, provider or provider_of[head]
        elif dot and maker in provider_of:
            text, provider = model, provider or provider_of[maker]
        else:
            return


def _without_suffixes(text: str) -> Iterator[str]:
    """The text and what is left of it as one suffix after the other is taken away."""
    yield text
    while found := _SUFFIX.search(text):
        version, colon, _ = found.group().partition(":")
        text = text[: found.start()]
        if not text:
            return
        if colon:
            yield text + version  # the catalogue's own id may end in the version (nova-pro-v1)
        yield text
