"""Keys, cookies and passwords never reach a file: what counts as one, and taking it out.

Used by everything that writes rows of a log: the import, and `Trace.batches` for files of others.
"""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# A name is secret if it holds one of these, its letters and digits run together …
_PARTS = (
    "authorization", "authtoken", "accesstoken", "apikey", "accesskey", "privatekey", "signingkey",
    "subscriptionkey", "accountkey", "clientkey", "secret", "password", "passwd", "passphrase",
    "credential", "cookie", "bearer",
)  # fmt: skip
# … or one of these words, or ends with the word `token` (one token, not a count of tokens).
_WORDS = frozenset(["auth", "jwt", "pwd", "pat", "sas", "csrf", "xsrf"])
_NOT_BEFORE_TOKEN = frozenset(
    ["per", "first", "last", "next", "each", "stop", "eos", "bos", "pad", "unk", "end", "start"]
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_VALUE = re.compile(
    r"(?:bearer|basic)\s+\S+|(?:[spr]k|gh[po]|xox[bp])[-_][\w-]{16,}|AKIA\w{16}", re.IGNORECASE
)
_USERINFO = re.compile(r"//[^/?#\s]*@")
_PARAMETER = re.compile(r"([?&])([^=&#\s]+)=[^&#\s]*")
# a cheap look at a whole text: nothing of this in it, nothing to take out
_WORDS_OF_SECRETS = (
    r"(?i)auth|key|secret|passw|pwd|phrase|credential|cookie|bearer|basic|token\W|jwt|pat\W|sas\W"
    r"|srf|\\u00|[spr]k[-_]|gh[po]_|xox|akia"
)
_SUSPECT = _WORDS_OF_SECRETS + "|@"
LEFT_OUT = "[left out]"


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Whether what stands under this name is a secret, whatever its case and punctuation."""
    joined = re.sub(r"[^a-z0-9]", "", name.lower())
    if any(part in joined for part in _PARTS):
        return True
    words = [word.lower() for word in _WORD.findall(name)]
    if _WORDS.intersection(words):
        return True
    return words[-1:] == ["token"] and not _NOT_BEFORE_TOKEN.intersection(words[-2:-1])


def clean_text(text: str) -> str:
    """`text` without user names and passwords of URLs, secret parameters and bare credentials."""
    if _VALUE.fullmatch(text.strip()):
        return LEFT_OUT
    if "@" in text:
        text = _USERINFO.sub("//", text)
    if "?" in text:
        text = _PARAMETER.sub(_parameter, text)
    return text


def clean_host(host: str) -> str:
    """A host or URL without what stands before `@`, and without secret parameters."""
    return clean_text(host if "//" in host else host.rpartition("@")[2])


def clean_json(text: str) -> str:
    """JSON text without secret keys, however deep; what is no JSON is cleaned as a text."""
    try:
        value = json.loads(text)
        kept = _clean(value)
    except (ValueError, RecursionError):
        return LEFT_OUT if re.search(_WORDS_OF_SECRETS, text) else clean_text(text)
    return text if kept == value else json.dumps(kept, ensure_ascii=False)


def clean_value(text: str) -> str:
    """The value of a setting: JSON if it looks so, else a text."""
    return clean_json(text) if text[:1] in "{[" and text else clean_text(text)


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _clean(inner) for key, inner in value.items() if not is_secret(key)}
    if isinstance(value, list):
        return [_clean(inner) for inner in value]
    return clean_text(value) if isinstance(value, str) else value


def _parameter(match: re.Match[str]) -> str:
    return match[1] + match[2] + "=" if is_secret(match[2]) else match[0]


def cleaned(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch of the request log (any of its columns) without secrets; the same one if clean."""
    for name, clean in _COLUMNS.items():
        index = batch.schema.get_field_index(name)
        if index < 0 or batch.column(index).null_count == batch.num_rows:
            continue
        column = clean(batch.column(index))
        if column is not batch.column(index):
            batch = batch.set_column(index, batch.schema.field(index), column)
    return batch


def _settings(array: pa.MapArray) -> pa.Array:
    keys = pc.unique(array.keys).to_pylist()
    values = pc.unique(array.items).to_pylist()
    new = {value: value if value is None else clean_value(value) for value in values}
    if not any(map(is_secret, keys)) and all(old == value for old, value in new.items()):
        return array
    rows = [
        None if row is None else [(key, new[value]) for key, value in row if not is_secret(key)]
        for row in array.to_pylist()
    ]
    return pa.array([row or None for row in rows], array.type)


def _texts(clean: Callable[[str], str]) -> Callable[[pa.Array], pa.Array]:
    def column(array: pa.Array) -> pa.Array:
        suspects = pc.fill_null(pc.match_substring_regex(array, _SUSPECT), False)
        if not pc.any(suspects).as_py():
            return array
        values = array.to_pylist()
        return pa.array([value if value is None else clean(value) for value in values], array.type)

    return column


def _observed(array: pa.StructArray) -> pa.Array:
    names = [field.name for field in array.type]
    children = [array.field(name) for name in names]
    new = [
        _OBSERVED[name](child) if name in _OBSERVED and child.null_count < len(child) else child
        for name, child in zip(names, children, strict=True)
    ]
    if all(one is other for one, other in zip(new, children, strict=True)):
        return array
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(new, fields=list(array.type), mask=mask)


_OBSERVED = {"raw_json": _texts(clean_json), "iterations": _texts(clean_json)}
_COLUMNS: dict[str, Callable[[Any], Any]] = {
    "settings": _settings,
    "platform": _texts(clean_host),
    "observed": _observed,
}
