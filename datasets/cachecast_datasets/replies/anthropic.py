"""Anthropic Messages responses: additive usage, iterations summed, streams by event type.

Source: anthropic-sdk-python types @009b0353, 2026-08; the conventions are those of
`cachecast_pricing.apis.anthropic`, which this package may not import.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from cachecast_datasets.json_depth import decoded_text
from cachecast_datasets.prompts import anthropic as prompts
from cachecast_datasets.replies.counts import count, has, inner, optional
from cachecast_datasets.replies.reply import Reply, compact, error_kind, prompt_total, word
from cachecast_datasets.request import Observed

_M5, _H1 = "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"
_CREATED = "cache_creation_input_tokens"


def reply_of(message: Mapping[str, Any]) -> Reply:
    """A whole response object, or an error body."""
    failed = error_kind(message)
    if failed is not None:
        return Reply(status=failed, response_id=word(message.get("request_id")))
    made = Reply(
        response_id=word(message.get("id")),
        model=word(message.get("model")),
        status="ok",
        started=True,
    )
    content = message.get("content")
    if isinstance(content, list) and content:
        body = {"messages": [{"role": "assistant", "content": content}]}
        answer = prompts.rendered(body)
        made.answer, made.notes = answer.parts, answer.notes
    usage = message.get("usage")
    if isinstance(usage, Mapping):
        _take(made, usage, message)
    return made


def merged(events: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], str]:
    """(the message that a stream's events build up, how it ended: ok, aborted, error).

    Usage is never added: message_delta repeats cumulative counts, and the last value of each field
    that is not null wins, so that the lifetimes of message_start stay. The output count of a
    stream without a message_delta (broken off, or damaged there) is a placeholder and left out.
    """
    message: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    ended, counted = "aborted", False
    for event in events:
        kind = event.get("type")
        if kind == "message_start" and isinstance(event.get("message"), dict):
            message = dict(event["message"])
            usage = _not_null(message.get("usage"))
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            blocks[_index(event)] = dict(event["content_block"])
        elif kind == "content_block_delta" and isinstance(event.get("delta"), dict):
            _grow(blocks.setdefault(_index(event), {"type": "text", "text": ""}), event["delta"])
        elif kind == "message_delta":
            delta = event.get("delta")
            message |= delta if isinstance(delta, dict) else {}
            usage |= _not_null(event.get("usage"))
            counted = counted or has(usage, "output_tokens")
            if isinstance(delta, dict) and delta.get("stop_reason"):
                ended = "ok"
        elif kind == "message_stop":
            ended = "ok"
        elif kind == "error":
            ended = "error" if not message else "aborted"
    if not message:
        return {}, ended
    if not counted:
        usage["output_tokens"] = None
    if usage:
        message["usage"] = usage
    message["content"] = [_whole(blocks[index]) for index in sorted(blocks)]
    return message, ended


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0


def _not_null(usage: Any) -> dict[str, Any]:
    if not isinstance(usage, Mapping):
        return {}
    return {name: value for name, value in usage.items() if value is not None}


_GROWN = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


def _grow(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    kind = delta.get("type")
    name = _GROWN.get(kind) if isinstance(kind, str) else None
    if name is not None and isinstance(delta.get(name), str):
        block[name] = str(block.get(name) or "") + delta[name]
    elif kind == "input_json_delta" and isinstance(delta.get("partial_json"), str):
        block["_json"] = block.get("_json", "") + delta["partial_json"]


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    """A tool's input arrives as pieces of JSON text."""
    text = block.pop("_json", "")
    if text:
        try:
            block["input"] = decoded_text(text)
        except ValueError:
            block["input"] = text
    return block


def _take(made: Reply, usage: Mapping[str, Any], message: Mapping[str, Any]) -> None:
    """The usage: with iterations their sum, which is what is billed."""
    whole = _observed(usage)
    parts = [whole]
    iterations = usage.get("iterations")
    kept = None
    if iterations:
        if not isinstance(iterations, list) or not all(isinstance(i, dict) for i in iterations):
            raise ValueError("usage.iterations is no list of objects, expected usage objects")
        parts = [_observed(item) for item in iterations]
        kept = compact(iterations)
        if len(parts) > 1:
            made.notes.append(
                "several iterations on the server: observed is their sum, the prompt is the first's"
            )
    made.prompt, made.prompt_tokens = parts[0], prompt_total(parts[0])
    made.observed = _sum(parts)._replace(
        iterations=kept, raw_json=compact(usage), diagnosis=_diagnosis(message)
    )
    made.service_tier = word(usage.get("service_tier"))
    made.speed = word(usage.get("speed"))
    made.region = region_of(word(usage.get("inference_geo")))


def region_of(inference_geo: str | None) -> str | None:
    """The region that a usage names; None where it is unknown or anywhere."""
    return None if inference_geo in ("", "not_available", "global") else inference_geo


def _observed(usage: Mapping[str, Any]) -> Observed:
    m5, h1, unknown = _writes(usage)
    thinking = inner(usage, "output_tokens_details") or {}
    return Observed(
        fresh=count(usage, "input_tokens"),
        cache_read=count(usage, "cache_read_input_tokens"),
        cache_write_5m=m5,
        cache_write_30m=0,
        cache_write_1h=h1,
        cache_write_12h=0,
        cache_write_unknown=unknown,
        output=count(usage, "output_tokens"),
        output_reasoning=optional(thinking, "thinking_tokens"),
    )


def _writes(usage: Mapping[str, Any]) -> tuple[int | None, int | None, int | None]:
    """Written tokens: 5m, 1h, of unknown lifetime (a total without its split)."""
    split = inner(usage, "cache_creation") or usage  # some exports flatten the object
    created = optional(usage, _CREATED)
    if not has(split, _M5, _H1):
        if created is None:
            return (None, None, None) if _CREATED in usage else (0, 0, 0)
        return 0, 0, created
    m5, h1 = count(split, _M5), count(split, _H1)
    if m5 is None or h1 is None:
        # one lifetime is null: what the total leaves over belongs to it
        rest = None if created is None else created - (m5 or 0) - (h1 or 0)
        m5, h1 = (rest if m5 is None else m5), (rest if h1 is None else h1)
        if m5 is None or h1 is None:
            return m5, h1, 0
    # some SDKs move the counts into the split and leave the total at 0
    if created not in (None, 0, m5 + h1) or m5 < 0 or h1 < 0:
        raise ValueError(
            f"usage.{_CREATED} is {created}, expected the sum of its split: {m5} (5m) + {h1} (1h)"
        )
    return m5, h1, 0


def _sum(parts: Sequence[Observed]) -> Observed:
    if len(parts) == 1:
        return parts[0]
    names = Observed._fields[: Observed._fields.index("iterations")]
    sums: dict[str, int | None] = {}
    for name in names:
        values = [getattr(part, name) for part in parts]
        if name == "output_reasoning":
            values = [value for value in values if value is not None] or [None]
        sums[name] = None if None in values else sum(values)
    return parts[0]._replace(**sums)  # type: ignore[arg-type]


def _diagnosis(message: Mapping[str, Any]) -> str | None:
    """What the provider itself says of the miss; null inside means no divergence, or not yet."""
    found = message.get("diagnostics")
    return compact(found) if isinstance(found, Mapping) else None
