"""Objects of another API and misspelt fields: refused, since both would be priced as nothing."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from cachecast_datasets.errors import BadInput
from cachecast_pricing.counts import UsageError, shown, shown_names
from cachecast_pricing.usage_reading import CountFields, UsageReading

_WRAPPERS = ("usageMetadata", "usage_metadata")  # Gemini's, which its reader accepts
_ALIKE = 0.85  # input_token and input_tokens are; output_tokens_details and output_tokens are not


def require_counts(
    api: str, raw: Mapping[str, Any], known: Mapping[str, CountFields],
    read: Callable[[Mapping[str, Any]], UsageReading],
) -> UsageReading:  # fmt: skip
    """What `read` makes of `raw`, if that states an input under `api`.

    UsageError names the fields that are there instead, and the APIs that they fit or the field that
    was meant. An output may be missing (an embedding has none), a misspelt one may not.
    """
    fields, counts = known[api], _counts(raw)
    if not counts.keys() & fields.all:
        raise UsageError(_sentence(api, "input or output tokens", raw, counts, known))
    reading = read(raw)
    if not counts.keys() & {*fields.input, *fields.beside}:
        raise UsageError(_sentence(api, "input tokens", raw, counts, known))
    if not counts.keys() & set(fields.output):
        other = frozenset().union(*(some.all for some in known.values()))
        strange = [name for name, value in counts.items() if name not in other and _number(value)]
        meant = nearest(strange, fields.output)
        if meant:
            found = shown_names(strange)
            raise UsageError(
                f"usage has no output tokens of the API {api}, but {found}; did you mean {meant}?"
            )
    return reading


def nearest(names: Iterable[str], known: Iterable[str]) -> str:
    """The known fields that the names are misspellings of: "input_tokens, output_tokens"."""
    by_key = {name.lower(): name for name in known}
    meant = []
    for name in sorted(names):
        match = difflib.get_close_matches(name[:60].lower(), by_key, n=1, cutoff=_ALIKE)
        meant += [by_key[key] for key in match if by_key[key] != name]
    return ", ".join(dict.fromkeys(meant))


def _sentence(
    api: str, missing: str, raw: Mapping[str, Any], counts: Mapping[str, Any],
    known: Mapping[str, CountFields],
) -> str:  # fmt: skip
    fields = known[api]
    start = f"usage has no {missing} of the API {api} ({' or '.join(fields.input)})"
    start = f"{start}, only {shown_names(counts or raw)}"
    fitting = [
        name for name, other in known.items()
        if name != api and counts.keys() & set(other.input)
        and (counts.keys() & set(other.output) or not counts.keys() & set(fields.output))
    ]  # fmt: skip
    if fitting:
        return f"{start}; these fit: {', '.join(fitting)}"
    meant = nearest(counts, (*fields.input, *fields.output))
    return f"{start}; did you mean {meant}?" if meant else start


def _counts(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the object and of the one inside it that Gemini's reader accepts."""
    inner: Mapping[str, Any] = next(
        (raw[name] for name in _WRAPPERS if isinstance(raw.get(name), Mapping)), {}
    )
    for name in [*raw, *inner]:
        if not isinstance(name, str):
            raise BadInput(f"a field of the usage is named {shown(name)}, expected text")
    return {**raw, **inner}


def _number(value: object) -> bool:
    return value is None or (
        isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    )
