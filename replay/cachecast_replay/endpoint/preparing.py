"""Before a replay: is the server up, what does it take, and in which state is its cache?"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from cachecast_datasets.errors import BadInput
from cachecast_replay.endpoint.address import Address
from cachecast_replay.endpoint.client import Client
from cachecast_replay.endpoint.dialect import Dialect, Prompts, dialects
from cachecast_replay.endpoint.reading import Reading
from cachecast_replay.endpoint.retrying import RequestFailed, RetryPolicy

_KEY_STATUS = (401, 403)
_NOT_FOUND = 404
_BUSY_STATUS = (408, 425, 429, 502, 503, 504)
_BUSY_RETRIES = 3
_PROBE_OUTPUT = 2  # tokens: enough to see whether a length is forced
_RESET_TRIES, _RESET_WAIT_S = 10, 0.2


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


class _Reset(msgspec.Struct):
    success: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    """The dialect that a server takes, and why it does not take the ones that were tried first."""

    dialect: Dialect
    refused: tuple[tuple[Dialect, str], ...]


async def check_model(client: Client, address: Address, model: str | None) -> str:
    """The model's name: the one asked for, else the only one that the server has.

    BadInput for a server that is down, refuses the key or has no such model, and where /models is
    not found because the URL lacks its /v1. Else a server without /models is believed to have what
    was asked for.
    """
    try:
        names = _names(await client.get(address.base + "/models"))
    except RequestFailed as failed:
        if failed.status in (None, *_KEY_STATUS):
            raise BadInput(f"{address.base} {failed}{_about_key(address, failed)}") from None
        if failed.status == _NOT_FOUND and not address.base.endswith("/v1"):
            raise BadInput(
                f"{address.base} has no /models, expected a URL that ends in /v1"
            ) from None
        names = None
    if model is None:
        # a name goes into the run: not one that repeats the key, or that no line can show
        if names is not None and len(names) == 1 and address.safe(names[0]) == names[0]:
            return names[0]
        known = f"; it has: {_shown(names, address)}" if names else ""
        raise BadInput(f"{address.base}: which model? Name it with --model{known}")
    if names and model not in names:
        raise BadInput(f"{address.base} has no model {model!r}; it has: {_shown(names, address)}")
    return model


def _names(body: bytes) -> list[str] | None:
    try:
        return [model.id for model in msgspec.json.decode(body, type=_Models).data]
    except msgspec.DecodeError:
        return None


def _shown(names: Sequence[str], address: Address) -> str:
    return ", ".join(address.safe(name) for name in names[:10]) + (" …" if len(names) > 10 else "")


def _about_key(address: Address, failed: RequestFailed) -> str:
    if failed.status in _KEY_STATUS and address.key is None:
        return ", expected --api-key-env with the name of the variable that holds it"
    return ""


async def find_dialect(
    client: Client, address: Address, model: str, shapes: Sequence[Prompts], probe: Sequence[int]
) -> Found:
    """The first dialect in which the server answers the `probe`, a short prompt of its own.

    BadInput if there is none, with what the server said to the first of them.
    """
    refused: list[tuple[Dialect, str]] = []
    for dialect in dialects(shapes):
        failed = await _try(client, dialect, model, probe)
        if failed is None:
            return Found(dialect, tuple(refused))
        if failed.status is None or failed.status in (*_KEY_STATUS, *_BUSY_STATUS):
            raise BadInput(f"{address.base} {failed}{_about_key(address, failed)}")
        refused.append((dialect, str(failed)))
    tried, words = refused[0]
    hint = "; --prompts auto tries text too" if tuple(shapes) == ("ids",) else ""
    raise BadInput(f"{address.base} takes no {tried.in_words()}: it {words}{hint}")


async def _try(
    client: Client, dialect: Dialect, model: str, probe: Sequence[int]
) -> RequestFailed | None:
    """What is wrong with a request in this dialect; a busy server is asked again."""
    body = dialect.body(model, probe, _PROBE_OUTPUT)
    policy, done = RetryPolicy(_BUSY_RETRIES), 0
    while True:
        try:
            await client.stream(dialect.path, body, Reading(_PROBE_OUTPUT), time.monotonic_ns)
            return None
        except RequestFailed as failed:
            wait_s = policy.wait_s(done, failed) if failed.status in _BUSY_STATUS else None
            if wait_s is None:
                return failed
            await asyncio.sleep(wait_s)
            done += 1


async def reset_cache(client: Client, address: Address, path: str) -> None:
    """Empty the server's cache through a path of its own, as vLLM's /reset_prefix_cache.

    BadInput if the server refuses, or says `{"success": false}` for two seconds: blocks of
    requests that have just ended may be held a moment longer.
    """
    url = f"{address.server}/{path.removeprefix('/')}"
    for _ in range(_RESET_TRIES):
        try:
            answer = await client.post(url)
        except RequestFailed as failed:
            raise BadInput(
                f"--reset-cache {path}: {address.server} {failed}; vLLM has it where "
                "VLLM_SERVER_DEV_MODE=1 was set"
            ) from None
        if _succeeded(answer):
            return
        await asyncio.sleep(_RESET_WAIT_S)
    raise BadInput(f"--reset-cache {path}: {address.server} could not, is it serving others?")


def _succeeded(answer: bytes) -> bool:
    try:
        return msgspec.json.decode(answer, type=_Reset).success
    except msgspec.DecodeError:
        return True  # no word of failure: the status was a success
