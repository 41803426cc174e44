"""The form of a fleet in the address of the page: its fields that differ from the first fleet's.

Only what the form offers: names of the catalogues and numbers, never a file.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from cachecast.dashboard.fleet_text import CHOICES, LIMITS, FleetForm

_WHOLE = ("tensor_parallel", "servers", "block_tokens", "blocks", "max_batch_tokens", "max_seqs")
_LONGEST = 16  # of a price or a currency


def to_address(form: FleetForm) -> list[str]:
    """Values of `fleet=`: `name~value`."""
    first = FleetForm()
    return [
        f"{field.name}~{getattr(form, field.name)}"
        for field in fields(form)
        if getattr(form, field.name) != getattr(first, field.name)
    ]


def from_address(values: Sequence[str]) -> tuple[FleetForm, list[str]]:
    """The values read back, and those that the form cannot hold."""
    form, unread = FleetForm(), []
    for value in values:
        name, _, text = value.partition("~")
        try:
            form = replace(form, **{name: _value(name, text)})
        except ValueError:
            unread.append(value)
    return form, unread


def _value(name: str, text: str) -> Any:
    """ValueError for what the form cannot hold."""
    if name in CHOICES and text in CHOICES[name]:
        return text
    if name in LIMITS:
        number = int(text) if name in _WHOLE else float(text)
        least, most = LIMITS[name]
        if least <= number <= most:
            return number
    elif name in ("gpu_hour", "currency") and len(text) <= _LONGEST:
        return text
    raise ValueError(name)
