"""What every API's prompt becomes: parts in rendered order, each with what its hashes are of."""

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from cachecast_datasets.checks import shown
from cachecast_datasets.content import ContentHashes, hashes_of
from cachecast_datasets.hashing import content_hash

MARKER_KEYS = ("cache_control", "prompt_cache_breakpoint")
MEDIA = ("image", "document")
REMEMBERED = 100_000  # contents whose hashes are at hand

_PLAIN_WORD = re.compile(r"[a-z0-9_.\-]{1,24}")
# inside a setting these hold one of few words, never a person's text
_ENUMERATED = ("type", "ttl", "mode", "effort", "display", "role")
# what SDKs add to a text that they send back, and what is never rendered
_EMPTY_EXTRAS = ("citations", "annotations", "logprobs")
_TEXT_TYPES = ("text", "input_text", "output_text")


class Part(NamedTuple):
    """One content block before its tokens are known.

    `value` is what the hashes are of, its marker taken away; `text` is what tokens are counted of.
    """

    section: str
    role: str | None
    kind: str
    message: int
    value: Any
    text: str
    marker: str | None = None
    name: str | None = None


@dataclass(slots=True)
class Rendered:
    """A request body, read: the prompt's parts and the settings beside it.

    `incomplete` says why the prompt's text is not in the request (history on the server); then
    `parts` mean nothing. `ends` are indexes after which the provider was asked to store,
    ascending, each with its lifetime. `notes` name what was not understood.
    """

    parts: list[Part] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    cache_mode: str | None = None
    incomplete: str | None = None
    ends: list[tuple[int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class PartHasher:
    """Hashes of parts, each content masked once: a log repeats its prefixes with every turn."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, ContentHashes] = OrderedDict()

    def hashes(self, part: Part) -> ContentHashes:
        """The hashes of a part."""
        raw = _raw_hash(part.value)
        found = self._known.get(raw)
        if found is None:
            found = self._known[raw] = hashes_of_part(part)
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(raw)
        return found


def _raw_hash(value: Any) -> int:
    if isinstance(value, str):
        return content_hash(value.encode(errors="surrogatepass"))
    return content_hash(msgspec.json.encode(value))


def hashes_of_part(part: Part) -> ContentHashes:
    """Raw, key-sorted and masked hash of a part.

    A plain string and the one-text-block array of the same text are canonically equal, but not
    raw: one public measurement saw a model tell them apart (anthropics/claude-code#93490).
    Pictures and documents are not masked: nobody writes the date into base64.
    """
    value = part.value
    if isinstance(value, dict) and value.keys() == {"type", "text"}:
        text = hashes_of(value["text"])
        return text._replace(raw=hashes_of({"type": "text", "text": value["text"]}).raw)
    if part.kind in MEDIA:
        kept = content_hash(msgspec.json.encode(value))
        ordered = content_hash(msgspec.json.encode(value, order="deterministic"))
        return ContentHashes(kept, ordered, ordered)
    return hashes_of(value)


def plain_text(block: Any) -> str | None:
    """The text of a document that comes as plain text, not as a file of base64."""
    source = block.get("source") if isinstance(block, Mapping) else None
    if isinstance(source, Mapping) and source.get("type") == "text":
        data = source.get("data")
        return data if isinstance(data, str) else None
    return None


def opaque(part: Part) -> bool:
    """Whether the bytes of the part do not tell its tokens: a picture, or a file in base64."""
    return part.kind in MEDIA and plain_text(part.value) is None


def text_value(block: Mapping[str, Any], text: str) -> Any:
    """What a text block is hashed as: type and text alone, unless it says something more."""
    more = {
        key: value
        for key, value in block.items()
        if key not in ("type", "text", *MARKER_KEYS)
        and value is not None
        and not (key in _EMPTY_EXTRAS and value == [])
    }
    return {"type": "text", "text": text, **more}


def without_markers(block: Mapping[str, Any]) -> dict[str, Any]:
    """The block without its marker, and without those of the blocks directly inside it.

    Only where a marker can stand: a tool's schema may have a property of that name.
    """
    kept = {key: value for key, value in block.items() if key not in MARKER_KEYS}
    for name in ("content", "output"):
        inner = kept.get(name)
        if isinstance(inner, list):
            kept[name] = [without_markers(b) if isinstance(b, dict) else b for b in inner]
    return kept


def objects(value: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, object) for each item of a list of objects; ValueError for anything else."""
    if value is None:
        return
    if not isinstance(value, list):
        raise ValueError(f"{where} is {shown(value)}, expected an array of objects")
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise ValueError(f"{where}[{index}] is {shown(item)}, expected an object")
        yield f"{where}[{index}]", item


def text_of(value: Any, where: str) -> str:
    """A string, or ValueError."""
    if not isinstance(value, str):
        raise ValueError(f"{where} is {shown(value)}, expected a string")
    return value


def inner_text(value: Any) -> str:
    """All text inside a block's content, for counting tokens."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        if value.get("type") in _TEXT_TYPES and isinstance(value.get("text"), str):
            return str(value["text"])
        return as_json(value)
    if isinstance(value, list):
        return "\n".join(inner_text(item) for item in value)
    return "" if value is None else str(value)


def as_json(value: Any) -> str:
    """Compact JSON, keys in their own order."""
    return msgspec.json.encode(value).decode()


def setting_text(value: Any) -> str:
    """A setting as the log keeps it: one spelling, and no text of a person.

    Words like `auto` stay; names and schemas become hashes, which is enough to tell a change.
    """
    if isinstance(value, str):
        return value if _PLAIN_WORD.fullmatch(value) else veiled(value)
    return msgspec.json.encode(_veiled_inside(value), order="sorted").decode()


def veiled(value: Any) -> str:
    """A hash in place of what a person wrote."""
    return f"#{hashes_of(value).canonical:016x}"


def _veiled_inside(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _veiled_inside(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_veiled_inside(inner) for inner in value]
    if isinstance(value, str) and not (key in _ENUMERATED and _PLAIN_WORD.fullmatch(value)):
        return veiled(value)
    return value


def put(settings: dict[str, str], name: str, value: Any) -> None:
    """Keep a setting that was given; null is like leaving it out."""
    if value is not None:
        settings[name] = setting_text(value)


def at_path(body: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, None if it is not there."""
    value: Any = body
    for name in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value
