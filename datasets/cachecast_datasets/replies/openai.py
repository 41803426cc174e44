"""OpenAI Chat Completions and Responses: inclusive usage, in a stream only in the last chunk.

Source: openai-python types @e43b4224; the conventions are those of
`cachecast_pricing.apis.openai_style`, which this package may not import.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from cachecast_datasets.prompts import openai as prompts
from cachecast_datasets.replies.counts import count, has, inner, optional
from cachecast_datasets.replies.reply import Reply, compact, error_kind, prompt_total, word
from cachecast_datasets.request import Observed

_INPUT = ("prompt_tokens", "input_tokens")
_INPUT_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details", "output_token_details")
_READ_INSIDE = ("cached_tokens", "cache_read_tokens", "cache_read")
_READ_ON_TOP = (
    "prompt_cache_hit_tokens", "cached_tokens", "cached_input_tokens", "cache_read_input_tokens",
)  # fmt: skip
_WRITE_INSIDE = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
_WRITE_ON_TOP = ("cache_write_tokens", "cache_write_input_tokens", "cache_creation_input_tokens")


def reply_of(reply: Mapping[str, Any], write: str) -> Reply:
    """A whole response object, or an error body. `write` is the lifetime of written tokens."""
    failed = error_kind(reply)
    if failed is not None:
        return Reply(status=failed, response_id=word(reply.get("id")))
    created = reply.get("created") or reply.get("created_at")
    made = Reply(
        response_id=word(reply.get("id")),
        model=word(reply.get("model")),
        service_tier=word(reply.get("service_tier")),
        status=_status(reply),
        started=True,
        created_s=float(created) if isinstance(created, int | float) and created > 0 else None,
    )
    made.answer, made.notes = _answer(reply)
    usage = reply.get("usage")
    if isinstance(usage, Mapping):
        diagnosis = reply.get("prompt_cache_diagnostics")
        made.prompt = _observed(usage, write)
        made.prompt_tokens = prompt_total(made.prompt)
        if made.prompt_tokens is None:  # its classes are unknown, its size is not
            made.prompt_tokens = optional(usage, *_INPUT)
        made.observed = made.prompt._replace(
            raw_json=compact(usage),
            diagnosis=compact(diagnosis) if isinstance(diagnosis, Mapping) else None,
        )
    return made


def _status(reply: Mapping[str, Any]) -> str:
    given = reply.get("status")
    return {"failed": "error", "cancelled": "aborted", "in_progress": "aborted"}.get(
        given if isinstance(given, str) else "", "ok"
    )


def _answer(reply: Mapping[str, Any]) -> tuple[list[Any], list[str]]:
    """The answer as the prompt of a next turn would have it."""
    choices, output = reply.get("choices"), reply.get("output")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        message = choices[0].get("message")
        if isinstance(message, dict):
            said = {**message, "role": "assistant"}
            answer = prompts.rendered_chat({"messages": [said]})
            return answer.parts, answer.notes
    elif isinstance(output, list):
        answer = prompts.rendered_responses({"input": output})
        return answer.parts, answer.notes
    return [], []


def _observed(usage: Mapping[str, Any], write: str) -> Observed:
    """Disjoint classes of an inclusive object: read and written tokens are inside the input."""
    given = count(usage, *_INPUT)
    output = count(usage, "completion_tokens", "output_tokens")
    details = inner(usage, *_INPUT_DETAILS)
    null = details is None and any(name in usage for name in _INPUT_DETAILS)
    read = _inner_or_top(usage, details, null, _READ_INSIDE, _READ_ON_TOP)
    null = null and "prompt_cache_hit_tokens" not in usage  # DeepSeek has no write class
    written = _inner_or_top(usage, details, null, _WRITE_INSIDE, _WRITE_ON_TOP)
    total = optional(usage, "total_tokens")
    reasoning = optional(inner(usage, *_OUTPUT_DETAILS) or {}, "reasoning_tokens")
    if reasoning and None not in (total, given, output):
        beside = (given or 0) + (output or 0) + reasoning
        if total == beside:  # xAI counts reasoning beside the completion; the total tells
            output = (output or 0) + reasoning
    fresh = None
    if given is not None and read is not None and written is not None:
        fresh = given - read - written
        if fresh < 0:
            if total not in (None, given + read + written + (output or 0)):
                raise ValueError(
                    f"usage does not add up: input {given}, read {read}, written {written}, "
                    f"total {total}; expected parts within the input, or a total of them all"
                )
            fresh = given  # a gateway that counts additively
    return Observed(
        fresh=fresh,
        cache_read=read,
        cache_write_5m=0,
        cache_write_30m=written if write == "30m" else 0,
        cache_write_1h=0,
        cache_write_12h=written if write == "12h" else 0,
        cache_write_unknown=written if write == "unknown" else 0,
        output=output,
        output_reasoning=reasoning,
    )


def _inner_or_top(
    usage: Mapping[str, Any], details: Mapping[str, Any] | None, null_details: bool,
    inside: tuple[str, ...], on_top: tuple[str, ...],
) -> int | None:  # fmt: skip
    """The count in the details object, else the one on top; never both together."""
    if details is not None and has(details, *inside):
        return count(details, *inside)
    if has(usage, *on_top):
        return count(usage, *on_top)
    if null_details or (details is not None and any(name in details for name in inside)):
        return None
    return count(usage, *on_top)


def merged_chat(chunks: Sequence[Mapping[str, Any]], done: bool) -> tuple[dict[str, Any], str]:
    """(the completion that the chunks build up, how it ended). Usage only if a chunk has it."""
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    calls: dict[int, dict[str, Any]] = {}
    finish, usage = None, None
    for chunk in chunks:
        if "error" in chunk and not whole:
            return dict(chunk), "error"
        for name in ("id", "model", "created", "service_tier"):
            if chunk.get(name) is not None:
                whole[name] = chunk[name]
        if isinstance(chunk.get("usage"), Mapping):
            usage = chunk["usage"]
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(choice, dict):
            finish = choice.get("finish_reason") or finish
            _add_delta(message, calls, choice.get("delta"))
    if not whole:
        return {}, "aborted"
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    if not message["content"]:
        message["content"] = None
    whole |= {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}
    return whole, "ok" if finish is not None or done else "aborted"


def _add_delta(message: dict[str, Any], calls: dict[int, dict[str, Any]], delta: Any) -> None:
    if not isinstance(delta, dict):
        return
    for name in ("content", "reasoning_content"):
        if isinstance(delta.get(name), str):
            message[name] = message.get(name, "") + delta[name]
    for call in delta.get("tool_calls") or ():
        if not isinstance(call, dict):
            continue
        index = call.get("index")
        known = calls.setdefault(index if isinstance(index, int) else 0, {})
        for name in ("id", "type"):
            if call.get(name) is not None:
                known[name] = call[name]
        function = call.get("function")
        if isinstance(function, dict):
            made = known.setdefault("function", {"name": "", "arguments": ""})
            for name in ("name", "arguments"):
                if isinstance(function.get(name), str):
                    made[name] = made.get(name, "") + function[name]


def merged_responses(events: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], str]:
    """(the response object of the last event that carries one, how the stream ended)."""
    found: dict[str, Any] = {}
    ended = "aborted"
    for event in events:
        if isinstance(event.get("response"), dict):
            found = event["response"]
        kind = event.get("type")
        if kind in ("response.completed", "response.incomplete"):
            ended = "ok"
        elif kind in ("response.failed", "error"):
            ended = "error"
    return dict(found), ended
