"""Made-up logs of what people export: every format, with every column that it is known to have.

The numbers are small and chosen so that a reader can add them up; see the tests of each format.
"""

import csv
import io
import json
from typing import Any

from cachecast_datasets.request import Request

Row = dict[str, Any]

LITELLM_PRICES: Row = {
    "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05,
    "cache_read_input_token_cost": 3e-07, "cache_creation_input_token_cost": 3.75e-06,
    "cache_creation_input_token_cost_above_1hr": 6e-06,
}  # fmt: skip


def litellm(request_id: str = "chatcmpl-1", usage: Row | None = None, **more: Any) -> Row:
    """A SpendLogs row with every column: 1,000 in (600 read, 300 written), 50 out."""
    usage = {
        "prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050,
        "prompt_tokens_details": {
            "cached_tokens": 600, "cache_creation_tokens": 300, "cache_write_tokens": 300,
            "text_tokens": 100,
        },
        "cache_read_input_tokens": 600, "cache_creation_input_tokens": 300,
        "completion_tokens_details": {"reasoning_tokens": 10},
    } if usage is None else usage  # fmt: skip
    metadata = {
        "usage_object": usage, "attempted_retries": 0, "status": "success",
        "model_map_information": {"model_map_key": "claude", "model_map_value": LITELLM_PRICES},
        "cost_breakdown": None,
    } | more.pop("metadata", {})  # fmt: skip
    row = {
        "request_id": request_id, "call_type": "acompletion", "api_key": "88dc28d0f030c55ed4ab77",
        "spend": 0.002355, "total_tokens": 1050, "prompt_tokens": 1000, "completion_tokens": 50,
        "startTime": "2026-06-01 10:00:00.250", "endTime": "2026-06-01 10:00:04.250",
        "completionStartTime": "2026-06-01 10:00:01.750", "request_duration_ms": 4000,
        "model": "claude-opus-4-8", "model_id": "d1", "model_group": "opus",
        "custom_llm_provider": "anthropic", "api_base": "https://api.anthropic.com",
        "user": "default_user_id", "metadata": metadata, "cache_hit": "False",
        "cache_key": "Cache OFF", "request_tags": ["a"], "team_id": "t1",
        "organization_id": "o1", "end_user": "", "requester_ip_address": "10.0.0.1",
        "messages": {}, "response": {}, "session_id": "s1", "status": "success",
        "mcp_namespaced_tool_name": None, "agent_id": None, "proxy_server_request": {},
    }  # fmt: skip
    return row | more


def langfuse(observation_id: str = "obs-1", usage: Row | None = None, **more: Any) -> Row:
    """An observation of the API, with every field: 100 fresh, 600 read, 200 + 100 written."""
    row = {
        "id": observation_id, "traceId": "trace-1", "projectId": "p1",
        "parentObservationId": None, "type": "GENERATION", "name": "answer",
        "startTime": "2026-06-01T10:00:00.250Z", "endTime": "2026-06-01T10:00:04.250Z",
        "completionStartTime": "2026-06-01T10:00:01.750Z", "providedModelName": "claude-opus-4-8",
        "model": "claude-opus-4-8", "modelParameters": {"service_tier": "standard"},
        "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi?"}],
        "output": {"role": "assistant", "content": "Yes."}, "metadata": {"response_id": "msg_1"},
        "usageDetails": {
            "input": 100, "input_cached_tokens": 600, "input_cache_creation": 0,
            "input_cache_creation_5m": 200, "input_cache_creation_1h": 100,
            "output": 40, "output_reasoning_tokens": 10, "total": 1050,
        } if usage is None else usage,
        "costDetails": {"input": 0.0003, "output": 0.00075, "total": 0.00105},
        "level": "DEFAULT", "statusMessage": None, "promptName": None, "promptVersion": None,
        "environment": "default", "latency": 4.0, "timeToFirstToken": 1.5,
        "usagePricingTierName": "Standard", "userId": "u1", "sessionId": "s1", "version": None,
        "usage": {"input": 100, "output": 50, "total": 1050, "unit": "TOKENS"},
        "calculatedTotalCost": 0.00105, "createdAt": "2026-06-01T10:00:05Z",
        "updatedAt": "2026-06-01T10:00:05Z", "toolCalls": [], "toolDefinitions": {},
    }  # fmt: skip
    return row | more


_BLOB = {
    "id": "id", "trace_id": "traceId", "project_id": "projectId", "environment": "environment",
    "type": "type", "parent_observation_id": "parentObservationId", "start_time": "startTime",
    "end_time": "endTime", "name": "name", "metadata": "metadata", "level": "level",
    "status_message": "statusMessage", "version": "version", "input": "input", "output": "output",
    "provided_model_name": "providedModelName", "model_parameters": "modelParameters",
    "usage_details": "usageDetails", "cost_details": "costDetails",
    "completion_start_time": "completionStartTime", "prompt_name": "promptName",
    "prompt_version": "promptVersion", "total_cost": "totalCost", "latency": "latency",
    "time_to_first_token": "timeToFirstToken", "model_id": "modelId", "created_at": "createdAt",
    "updated_at": "updatedAt", "prompt_id": "promptId", "tool_calls": "toolCalls",
    "tool_call_names": "toolCallNames", "tool_definitions": "toolDefinitions",
    "usage_pricing_tier_name": "usagePricingTierName",
}  # fmt: skip


def langfuse_blob(row: Row) -> Row:
    """The same observation as blob storage has it: snake case, times without a zone."""
    made = {name: row.get(camel) for name, camel in _BLOB.items()}
    for name in ("start_time", "end_time", "completion_start_time"):
        made[name] = str(row[_BLOB[name]]).replace("T", " ").replace("Z", "000")
    return made


def otlp_span(span_id: str = "00f067aa0ba902b7", parent: str = "", **attributes: Any) -> Row:
    """One span as OTLP/JSON: ids in hex, integers and unix nanoseconds as strings."""
    start = int(attributes.pop("start_s", 1_780_308_000)) * 10**9
    values = {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic",
        "gen_ai.system": "anthropic", "gen_ai.request.model": "claude-opus-4-8",
        "gen_ai.response.model": "claude-opus-4-8-20260115", "gen_ai.response.id": f"r{span_id}",
        "gen_ai.conversation.id": "c1", "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.output_tokens": 50, "gen_ai.usage.cache_read.input_tokens": 600,
        "gen_ai.usage.cache_creation.input_tokens": 300,
        "gen_ai.usage.reasoning.output_tokens": 10,
        "gen_ai.system_instructions": '[{"type": "text", "content": "Be brief."}]',
        "gen_ai.input.messages":
            '[{"role": "user", "parts": [{"type": "text", "content": "Hi?"}]}]',
        "gen_ai.output.messages":
            '[{"role": "assistant", "parts": [{"type": "text", "content": "Yes."}]}]',
        "gen_ai.tool.definitions": '[{"type": "function", "name": "look_up"}]',
    } | attributes  # fmt: skip
    return {
        "traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "spanId": span_id, "parentSpanId": parent,
        "name": "chat claude", "kind": 3, "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 4 * 10**9), "status": {"code": 1},
        "attributes": [
            {"key": key, "value": any_value(value)}
            for key, value in values.items() if value is not None
        ],
    }  # fmt: skip


def any_value(value: Any) -> Row:
    """OTLP's AnyValue."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


def otlp(*spans: Row) -> Row:
    """An export request with these spans."""
    scope = {"scope": {"name": "opentelemetry.instrumentation.anthropic", "version": "0.40"}}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "app"}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope | {"spans": [*spans]}]}]}


def openrouter(generation_id: str = "gen-1", **more: Any) -> Row:
    """A generation with every field: 1,000 in (600 read), 50 out, at $3 and $15 a million.

    Without a cache 0.00375; reading saves 600 x 2.7e-6 = 0.00162; nothing is written.
    """
    row = {
        "id": generation_id, "upstream_id": "msg_1", "model": "anthropic/claude-sonnet-4.6",
        "provider_name": "Anthropic", "created_at": "2026-06-01T10:00:00.250Z", "streamed": True,
        "cancelled": False, "finish_reason": "stop", "native_finish_reason": "end_turn",
        "latency": 1500, "generation_time": 4000, "tokens_prompt": 900, "tokens_completion": 45,
        "native_tokens_prompt": 1000, "native_tokens_completion": 50,
        "native_tokens_reasoning": 10, "native_tokens_cached": 600, "num_media_prompt": 0,
        "num_media_completion": 0, "num_search_results": None, "total_cost": 0.00213,
        "usage": 0.00213, "cache_discount": 0.00162, "upstream_inference_cost": 0,
        "is_byok": False, "service_tier": None, "router": None, "data_region": "global",
        "provider_responses": [{"provider_name": "Anthropic", "status": 200}],
    }  # fmt: skip
    return row | more


# Anthropic at $3 and $15 a million: two records without a cache tell both prices.
OPENROUTER_PLAIN = [
    # 1,000 x 3e-6 + 50 x 1.5e-5
    openrouter("p1", native_tokens_cached=0, cache_discount=None, total_cost=0.00375,
               usage=0.00375),
    # 100 x 3e-6 + 10 x 1.5e-5
    openrouter("p2", native_tokens_prompt=100, native_tokens_completion=10,
               native_tokens_cached=0, native_tokens_reasoning=0, cache_discount=0,
               total_cost=0.00045, usage=0.00045),
]  # fmt: skip


AZURE_CSV = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2023-11-16 18:15:46.6805900,374,44\n"
    "2023-11-16 18:15:50.9951690,396,109\n"
)


def lmcache(at_us: int, prompt: str, answer: str = "", session: str = "s1") -> Row:
    """A line of an LMCache agent trace."""
    return {"timestamp": at_us, "input": prompt, "output": answer, "session_id": session}


def sharegpt(at_ns: int = 46_926_808, **more: Any) -> Row:
    """A line of an LLMServingSim workload: 40 tokens in, 2 out."""
    row = {
        "input_toks": 40, "output_toks": 2, "arrival_time_ns": at_ns,
        "input_tok_ids": list(range(40)), "output_tok_ids": [7, 8],
    }  # fmt: skip
    return row | more


def tracelab(number: int = 0, **more: Any) -> Row:
    """A Claude round with every field: 100 fresh, 300 written, 600 read, 50 out."""
    row = {
        "provider": "claude", "project": "p", "session_id": "claude:s1", "session_file": "f",
        "round_index": number, "round_id": f"msg_{number}", "model": "claude-opus-4-8",
        "input_tokens_total": 1000, "prefix_tokens": 600, "newly_append_tokens": 400,
        "claude_uncached_input_tokens": 100, "claude_cache_creation_input_tokens": 300,
        "claude_cache_read_input_tokens": 600, "output_tokens": 50,
        "reasoning_output_tokens": None,
        "timing_events": [
            {"event_type": "tool_result", "timestamp": "2026-06-01T05:40:31.696Z"},
            {"event_type": "user_message", "timestamp": "2026-06-01T05:40:50.938Z"},
            {"event_type": "reasoning", "timestamp": "2026-06-01T05:41:03.938Z"},
            {"event_type": "tool_call", "timestamp": "2026-06-01T05:41:04.938Z"},
            {"event_type": "usage_report", "timestamp": "2026-06-01T05:41:05.938Z"},
        ],
        "tools": [], "current_input_event_count": 2, "current_user_message_count": 1,
        "current_tool_result_count": 1, "current_user_message_chars": 146,
        "current_tool_result_chars": 12, "current_input_chars": 158,
        "first_input_event_type": "tool_result", "home": "h", "user": "u", "store": ".claude",
        "trace_key": f"claude:s1:msg_{number}", "turn_id": "t", "cwd": "/w",
    }  # fmt: skip
    return row | more


def classes(request: Request) -> Row:
    """The observed classes that are not 0."""
    assert request.observed is not None
    names = (
        "fresh", "cache_read", "cache_write_5m", "cache_write_1h", "cache_write_unknown", "output",
    )  # fmt: skip
    found = {name: getattr(request.observed, name) for name in names}
    return {name: tokens for name, tokens in found.items() if tokens != 0}


def as_csv(*rows: Row) -> str:
    """Rows as CSV: nulls are empty cells, objects and arrays are JSON inside their cell."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(rows[0])
    for row in rows:
        writer.writerow([_cell(value) for value in row.values()])
    return out.getvalue()


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else "" if value is None else value


def as_lines(*rows: Row) -> str:
    """Rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


# name of the fixture -> (reader, text, requests, (prompt tokens, output tokens), evidence)
LOGS: dict[str, tuple[str, str, int, tuple[int, int], str]] = {
    "litellm.csv": ("litellm", as_csv(litellm("a"), litellm("b")), 2, (2000, 100), "counts"),
    "litellm.json": ("litellm", json.dumps([litellm("a"), litellm("b")]), 2, (2000, 100),
                     "counts"),
    "litellm.jsonl": ("litellm", as_lines(litellm("a")), 1, (1000, 50), "counts"),
    "litellm-v2.json": ("litellm", json.dumps({"data": [litellm("a")], "total": 1}), 1,
                        (1000, 50), "counts"),
    "langfuse.jsonl": ("langfuse", as_lines(langfuse()), 1, (1000, 50), "text"),
    "langfuse.json": ("langfuse", json.dumps([langfuse()]), 1, (1000, 50), "text"),
    "langfuse-api.json": ("langfuse", json.dumps({"data": [langfuse()], "meta": {}}, indent=1), 1,
                          (1000, 50), "text"),
    "langfuse.csv": ("langfuse", as_csv(langfuse()), 1, (1000, 50), "text"),
    "langfuse-blob.csv": ("langfuse", as_csv(langfuse_blob(langfuse())), 1, (1000, 50), "text"),
    "langfuse-blob.jsonl": ("langfuse", as_lines(langfuse_blob(langfuse())), 1, (1000, 50),
                            "text"),
    "otlp.json": ("otel", json.dumps(otlp(otlp_span()), indent=2), 1, (1000, 50), "text"),
    "otlp.jsonl": ("otel", as_lines(otlp(otlp_span("a")), otlp(otlp_span("b"))), 2, (2000, 100),
                   "text"),
    "openrouter.json": ("openrouter", json.dumps({"data": openrouter()}), 1, (1000, 50), "counts"),
    "openrouter-list.json": ("openrouter", json.dumps([openrouter("a"),
                             {"data": openrouter("b")}]), 2, (2000, 100), "counts"),
    "openrouter.jsonl": ("openrouter", as_lines({"data": openrouter("a")}, *OPENROUTER_PLAIN), 3,
                         (2100, 110), "counts"),
    "azure.csv": ("azure", AZURE_CSV, 2, (770, 153), "counts"),
    "lmcache.jsonl": ("lmcache", as_lines(lmcache(10**15, "x" * 40, "y" * 8),
                      lmcache(10**15 + 5, "x" * 40 + "z" * 20)), 2, (25, 2), "text"),
    "sharegpt.jsonl": ("sharegpt", as_lines(sharegpt(), sharegpt()), 2, (80, 4), "tokens"),
    "tracelab.jsonl": ("tracelab", as_lines(tracelab(0), tracelab(1)), 2, (2000, 100), "counts"),
}  # fmt: skip
