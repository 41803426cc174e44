"""What each column of a run's views means, said once."""

from typing import Final

SCENARIO: Final = "name of the scenario (`--as`)"
CURRENCY: Final = "currency of the row's money; null if no request of the row has a price"
SESSION: Final = "conversation, as the log names it"
HOUR: Final = "start of the hour, UTC; a log of relative times counts from 1970-01-01"
DAY: Final = "the day, UTC; a log of relative times counts from 1970-01-01"

_ROW: Final = "place of the request in the log, from 0; the same in every table"
_REQUEST_ID: Final = "the log's own id; in a sketch the line number"
_ARRIVAL: Final = "when the request was sent, UTC"
_ACCOUNT: Final = "what isolates caches; hashed at import"

TOTALS: Final[dict[str, str]] = {
    "requests": "how many, those without a price included",
    "prompt_tokens": "the whole prompts",
    "cache_read": "prompt tokens billed at the read price",
    "cache_write": "prompt tokens billed as written, all lifetimes together",
    "fresh": "prompt tokens billed at the plain input price",
    "output": "output tokens, reasoning included",
    "token_hit_ratio": "cache_read / prompt_tokens",
    "spend_hit_ratio": "share of the charge that belongs to requests that read something",
    "charge": "what the priced requests cost, exact; null if none has a price",
    "charge_low": "lower end where something about the bill is unknown, else the charge",
    "charge_high": "upper end, likewise",
    "without_cache": "the same requests, every prompt token at the plain input price",
    "net_saving": "without_cache - charge; negative where writing cost more than reading saved",
    "unpriced_requests": "requests with no price; the money of the row leaves them out",
}

LEDGER: Final[dict[str, str]] = {
    "scenario": SCENARIO,
    "row": _ROW,
    "request_id": _REQUEST_ID,
    "arrival": _ARRIVAL,
    "session_id": SESSION,
    "account": _ACCOUNT,
    "provider": "whose price applies",
    "model": "the model whose price applies",
    "log_model": "the model that the log names",
    "status": "ok, error, aborted or rejected",
    "prompt_tokens": "the whole prompt: the next seven columns sum to it",
    "fresh": "tokens at the plain input price",
    "cache_read": "tokens at the read price",
    "cache_write_5m": "tokens written for 5 minutes",
    "cache_write_30m": "tokens written for 30 minutes",
    "cache_write_1h": "tokens written for 1 hour",
    "cache_write_12h": "tokens written for 12 hours",
    "cache_write_unknown": "tokens written for a time that the source does not tell",
    "output": "output tokens, reasoning included",
    "hit_tokens": "tokens that the cache reused; not always what is billed as read",
    "charge_fresh": "money for `fresh`",
    "charge_cache_read": "money for `cache_read`",
    "charge_cache_write": "money for all writes",
    "charge_output": "money for `output`",
    "charge_total": "the whole charge, exact; null is no price",
    "without_cache": "the charge with every prompt token at the plain input price",
    "charge_low": "lower end of the charge where something is unknown",
    "charge_high": "upper end",
    "currency": "of this row's money",
    "reason": "why the request did not read more (its main reason)",
    "candidates": "the reasons that remain where it is not certain",
    "evidence": "JSON: what the reason rests on",
}

MISSES: Final[dict[str, str]] = {
    "scenario": SCENARIO,
    "row": _ROW,
    "request_id": _REQUEST_ID,
    "session_id": SESSION,
    "model": "the model whose price applies",
    "reason": "why these tokens were not read",
    "tokens": "how many; a request's rows sum to prompt_tokens - cache_read",
    "cost": "what they cost above the read price, exact; null is no price",
    "currency": "of the cost",
    "avoidable": "whether the caller could have avoided it",
}

BY_REASON: Final[dict[str, str]] = {
    "scenario": SCENARIO,
    "reason": MISSES["reason"],
    "avoidable": MISSES["avoidable"],
    "currency": CURRENCY,
    "requests": "requests with such tokens",
    "tokens": "how many; a scenario's rows sum to prompt_tokens - cache_read",
    "cost": "what they cost above the read price, exact; null if none has a price",
    "unpriced_requests": "requests with no price; the cost leaves them out",
}

REQUESTS: Final[dict[str, str]] = {
    "row": _ROW,
    "request_id": _REQUEST_ID,
    "arrival": _ARRIVAL,
    "arrival_uncertainty_s": "how much earlier it may have been sent, in seconds",
    "first_token_s": "seconds from arrival to the first token",
    "end_s": "seconds from arrival to the end",
    "think_time_s": "the caller's pause before this request, in seconds",
    "account": _ACCOUNT,
    "session_id": SESSION,
    "parent_request_id": "the request that this one continues",
    "agent_id": "sub-agent",
    "is_sidechain": "whether a sub-agent sent it",
    "provider": "as the log names it",
    "platform": "first-party, bedrock, vertex, azure, openrouter:HOST …",
    "region": "as the log names it",
    "model": "the model that the log names",
    "model_served": "the model that answered, where the log tells",
    "service_tier": "as the log names it",
    "speed": "as the log names it",
    "is_batch": "whether it was part of a batch",
    "settings": "request settings that a provider may put into the cache key",
    "cache_mode": "auto, implicit, explicit or none; null if the source cannot say",
    "token_block_size": "tokens in a token block of this log",
    "hash_scope": "where the log's block hashes are comparable",
    "prompt_tokens": "the whole prompt",
    "output_tokens": "the whole output, reasoning included",
    "tools_tokens": "tokens of the tool definitions",
    "system_tokens": "tokens of the system prompt",
    "input_types": "kinds of the content blocks sent",
    "output_types": "kinds of the content blocks answered",
    "observed": "the usage that the source reported, by class; `observed.cache_read` and so on",
    "status": "ok, error, aborted or rejected",
    "attempt": "which try it was",
    "retry_of": "the request that this one repeats",
    "response_id": "the provider's id of the answer",
    "source_line": "line in the source file",
}

SERVED: Final[dict[str, str]] = {
    "scenario": "name of the fleet",
    "row": _ROW,
    "request_id": _REQUEST_ID,
    "session_id": SESSION,
    "status": "ok, or rejected: it can never fit into a server",
    "server": "the server that prefilled it, from 0",
    "decode_server": "the server that decoded it, of a disaggregated fleet",
    "prompt_tokens": "the whole prompt",
    "output_tokens": "tokens generated",
    "hit_tokens": "prompt tokens reused at the first admission, tiers included",
    "loaded_tokens": "those of them that were loaded from a tier below the GPU",
    "readmission_hit_tokens": "tokens found again after preemptions; no hits of the cache",
    "readmissions": "the same for each readmission",
    "preemptions": "how often its blocks were taken away",
    "arrival_us": "microseconds from the log's origin; in a closed loop the simulated arrival",
    "scheduled_ns": "nanoseconds from the origin to its first admission",
    "first_token_ns": "to the end of the step that gave its first token",
    "end_ns": "to the end of the step that gave its last token",
    "ttft_s": "seconds from arrival to first token",
    "e2e_s": "seconds from arrival to end",
    "reason": "why it did not hit more (its main reason)",
}

MEASURED: Final[dict[str, str]] = {
    **SERVED,
    "scenario": "the engine or the server's URL that was replayed on",
    "status": "ok; rejected: it can never fit; error: a server gave no whole answer",
    "server": "0",
    "hit_tokens": "prompt tokens reused at the first admission; null: the server did not say",
    "readmissions": "the same for each readmission; null where only the server knows",
    "preemptions": "how often its blocks were taken away; null where only the server knows",
    "reason": "null: an engine does not say",
    "asked_tokens": "of a server: the output tokens that it was asked for",
    "sent_ns": "of a server: nanoseconds from the origin to the first try",
    "retries": "of a server: tries after the first",
    "finish": "of a server: why it says that the answer ended (length, stop)",
    "error": "of a server: why there is no whole answer",
}

STEPS: Final[dict[str, str]] = {
    "step": "its number, from 0",
    "start_ns": "nanoseconds on the replay's clock; null in a simulation",
    "duration_ns": "how long the clock says it took",
    "raw_ns": "how long it really took",
    "probe_ns": "how long the probe beside it took, where durations are normalised",
    "foreign_cpu": "share of the machine's cores that others used; null is unknown",
    "prefill_tokens": "prompt tokens computed",
    "prefill_requests": "requests that they belong to",
    "prefill_pairs": "their attention pairs",
    "decode_requests": "requests that computed one token",
    "decode_context": "sum of their lengths",
    "held_tokens": "tokens of the blocks that its requests hold, a shared block once",
}

TIMELINE: Final[dict[str, str]] = {
    "server": "its number, from 0; decode servers after the others",
    "start_s": "start of the interval, seconds from the log's origin",
    "width_s": "length of the interval; it doubles where a run has too many",
    "waiting": "requests in its queue at the interval's first step boundary; null: it had none",
    "running": "requests in its batch then",
    "used_blocks": "KV blocks that requests held then",
    "prompt_tokens": "prompt tokens of the requests admitted in the interval",
    "hit_tokens": "those of them that hit",
}
