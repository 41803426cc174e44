"""Requests without a word of text: what names or quotes something becomes a salted hash.

Equal ids, contents and prefixes stay equal, so caches behave as before and the usage of every
request is the same. Token counts, durations and the order of requests stay as they are: they are
what a shared case is about.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cachecast_datasets.errors import BadInput
from cachecast_datasets.kept_words import KEPT, SETTING_NAMES, SETTING_VALUES
from cachecast_datasets.request import Boundaries, ContentBlock, Request
from cachecast_datasets.request_log import EVIDENCE, LogMeta
from cachecast_datasets.sources import READERS

LEAST_SALT_BYTES = 16
OTHER = "other"  # stands for a word that no list knows

_IDS = (
    "request_id", "account", "session_id", "agent_id", "parent_request_id", "retry_of",
    "response_id", "hash_scope",
)  # fmt: skip
_WORDS = ("provider", "platform", "region", "service_tier", "speed", "cache_mode")
# fine-tuned models and Amazon's resource names carry an organisation or account behind the model
_PRIVATE_MODEL = re.compile(r"^(ft:[A-Za-z0-9.-]+):.*|^arn:.*", re.DOTALL)


class Anonymiser:
    """Replaces what a request says by salted hashes, in place.

    `salt` are the bytes of the salt file: BadInput if there are fewer than LEAST_SALT_BYTES. Who
    has the salt can check guesses; who has not learns equality, sizes and times only.
    """

    def __init__(self, salt: bytes) -> None:
        if len(salt) < LEAST_SALT_BYTES:
            raise BadInput(f"the salt has {len(salt)} bytes, expected at least {LEAST_SALT_BYTES}")
        key = hashlib.blake2b(salt, person=b"cachecast.salt").digest()
        self.salt_id = _keyed(key, b"salt id")(b"").hex()
        text_hash, content = _keyed(key, b"names"), _keyed(key, b"content")
        self._name = lru_cache(1 << 16)(
            lambda text: text_hash(text.encode(errors="surrogatepass")).hex()
        )
        self._number = lru_cache(1 << 18)(
            lambda value: int.from_bytes(content(value.to_bytes(8, "little")), "little")
        )
        self._numbers = content

    def requests(self, requests: Sequence[Request]) -> None:
        """Anonymise these requests; their token blocks are hashed together, each block once."""
        arrays = [r.token_blocks for r in requests if r.token_blocks is not None]
        if arrays:
            hashed = self._salted(np.concatenate(arrays))
            starts = np.cumsum([0, *(len(array) for array in arrays)]).tolist()
            spans = pairwise(starts)
        for request in requests:
            if request.token_blocks is not None:
                start, end = next(spans)
                request.token_blocks = hashed[start:end]
            self._request(request)

    def meta(self, meta: LogMeta) -> LogMeta:
        """What the anonymised log says about itself: times count from its first arrival."""
        weaker = {"text": "blocks", "tokens": "token_blocks"}
        evidence = weaker.get(meta.evidence, meta.evidence)
        formats = set(meta.source_format.split("+"))
        return replace(
            meta,
            source_format=meta.source_format if formats <= READERS.keys() else OTHER,
            evidence=evidence if evidence in EVIDENCE else "counts",
            time_origin="relative",
            tokenizer=None,
            salt_id=self.salt_id,
            text_seen=False,
        )

    def _salted(self, values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Each value hashed on its own: chains stay chains, since equal stays equal."""
        distinct, places = np.unique(values, return_inverse=True)
        packed = distinct.astype("<u8").tobytes()
        digests = b"".join(self._numbers(packed[at : at + 8]) for at in range(0, len(packed), 8))
        return np.frombuffer(digests, dtype="<u8").astype(np.uint64)[places]

    def _request(self, request: Request) -> None:
        for name in _IDS:
            value = getattr(request, name)
            if value is not None:
                setattr(request, name, self._name(value))
        for name in _WORDS:
            value = getattr(request, name)
            if value is not None and not _kept(name, value):
                setattr(request, name, self._name(value))
        request.model = self._model(request.model)
        request.model_served = self._model(request.model_served)
        request.settings = dict(self._setting(*item) for item in request.settings.items())
        request.token_ids = request.output_token_ids = None
        if request.answer_hash is not None:
            request.answer_hash = self._number(request.answer_hash)
        if request.blocks is not None:
            request.blocks = [self._block(block) for block in request.blocks]
        if request.boundaries is not None:
            request.boundaries = self._boundaries(request.boundaries)
        request.input_types = _kinds(request.input_types)
        request.output_types = _kinds(request.output_types)
        if request.observed is not None:
            seen = request.observed
            request.observed = seen._replace(
                iterations=None,
                raw_json=None,
                diagnosis=None,
                currency=_kept_or_none("currency", seen.currency),
                cost_kind=_kept_or_none("cost_kind", seen.cost_kind),
            )

    def _block(self, block: ContentBlock) -> ContentBlock:
        return block._replace(
            role=_kept_or_none("role", block.role),
            kind=_kept_or("kind", block.kind),
            hash=self._number(block.hash),
            canonical_hash=_maybe(self._number, block.canonical_hash),
            masked_hash=_maybe(self._number, block.masked_hash),
            label=None,
        )

    def _boundaries(self, found: Boundaries) -> Boundaries:
        hashes = [self._number(value) for value in found.hashes]
        names = [_kept_or("boundary", name) for name in found.names]
        return found._replace(hashes=hashes, names=names)

    def _model(self, model: str | None) -> str | None:
        private = None if model is None else _PRIVATE_MODEL.match(model)
        if model is None or private is None:
            return model
        return f"{private[1] or 'arn'}:{self._name(model)}"

    def _setting(self, key: str, value: str) -> tuple[str, str]:
        word = _word(value)
        return (
            key if key in SETTING_NAMES else self._name(key),
            word if word in SETTING_VALUES else self._name(word),
        )


def _keyed(key: bytes, purpose: bytes) -> Callable[[bytes], bytes]:
    """A 64-bit BLAKE2b under `key`, of its own for each purpose; `key` has at most 64 bytes."""
    base = hashlib.blake2b(key=key, digest_size=8, person=purpose)

    def digest(data: bytes) -> bytes:
        hasher = base.copy()
        hasher.update(data)
        return hasher.digest()

    return digest


def _maybe(function: Callable[[int], int], value: int | None) -> int | None:
    return None if value is None else function(value)


def _word(value: str) -> str:
    """A setting in the one spelling that the rules compare: `{"type": "auto"}` is `auto`."""
    if not value.startswith("{"):
        return value
    try:
        parsed = json.loads(value)
        if list(parsed) == ["type"]:
            return str(parsed["type"])
        return json.dumps(parsed, sort_keys=True)
    except (ValueError, RecursionError):
        return value


def _kept(name: str, value: str) -> bool:
    if name == "platform":
        return value.removeprefix("openrouter:") in KEPT["platform"] | KEPT["provider"]
    return value in KEPT[name]


def _kept_or(name: str, value: str) -> str:
    return value if value in KEPT[name] else OTHER


def _kept_or_none(name: str, value: str | None) -> str | None:
    return value if value is not None and value in KEPT[name] else None


def _kinds(values: list[str] | None) -> list[str] | None:
    return None if values is None else [_kept_or("kind", value) for value in values]


def from_first_arrival(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches with times that count from the first arrival: no wall clock is left."""
    first: int | None = None
    for batch in batches:
        index = batch.schema.get_field_index("arrival")
        times = batch.column(index).view(pa.int64())
        if first is None and len(times):
            first = times[0].as_py()
        shifted = pa.array(times.to_numpy() - (first or 0)).view(batch.schema.field(index).type)
        yield batch.set_column(index, batch.schema.field(index), shifted)
