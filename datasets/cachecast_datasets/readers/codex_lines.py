"""The lines of a Codex rollout, and the token counts in them."""

from typing import Annotated, Any

import msgspec

from cachecast_datasets.request import Observed

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**50)]


class TokenUsage(msgspec.Struct):
    """Inclusive: cached and written tokens are inside the input, reasoning inside the output."""

    input_tokens: _Count = 0
    cached_input_tokens: _Count = 0
    cache_write_input_tokens: _Count | None = None  # None: a build that does not report writes
    output_tokens: _Count = 0
    reasoning_output_tokens: _Count = 0
    total_tokens: _Count = 0

    @property
    def is_empty(self) -> bool:
        """No call was made; also when `total_tokens` alone says how full the context is."""
        return not (self.input_tokens or self.output_tokens)

    def since(self, before: "TokenUsage | None") -> "TokenUsage":
        """What was added to an earlier total; all of it where the counter began anew."""
        if before is None or before.input_tokens > self.input_tokens:
            return self
        written = self.cache_write_input_tokens
        return TokenUsage(
            self.input_tokens - before.input_tokens,
            max(0, self.cached_input_tokens - before.cached_input_tokens),
            None if written is None else max(0, written - (before.cache_write_input_tokens or 0)),
            max(0, self.output_tokens - before.output_tokens),
            max(0, self.reasoning_output_tokens - before.reasoning_output_tokens),
            max(0, self.total_tokens - before.total_tokens),
        )

    def observed(self, raw: bytes) -> Observed:
        """Disjoint classes; `raw` is what the source wrote.

        ValueError where the parts are more than the whole.
        """
        written = self.cache_write_input_tokens or 0
        fresh = self.input_tokens - self.cached_input_tokens - written
        if fresh < 0:
            raise ValueError(
                f"cached_input_tokens {self.cached_input_tokens} and cache_write_input_tokens "
                f"{written} are more than input_tokens {self.input_tokens}, expected at most that"
            )
        return Observed(
            fresh=fresh,
            cache_read=self.cached_input_tokens,
            cache_write_5m=0,
            cache_write_30m=written,
            cache_write_1h=0,
            cache_write_12h=0,
            cache_write_unknown=0,
            output=self.output_tokens,
            output_reasoning=self.reasoning_output_tokens,
            raw_json=raw.decode(),
        )


class Info(msgspec.Struct):
    """What a token_count event says; both usages may be missing in odd builds."""

    total: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="total_token_usage")
    last: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="last_token_usage")
    model: str | None = None


class Line(msgspec.Struct):
    """One line of a rollout, or of `codex exec --json` (which has no payload)."""

    type: str | None = None
    timestamp: str | None = None
    payload: msgspec.Raw = msgspec.Raw()
    thread_id: str | None = None
    usage: msgspec.Raw = msgspec.Raw()


class Event(msgspec.Struct):
    """What kind of event a payload is, wherever that stands in it."""

    type: str | None = None


class TokenCount(msgspec.Struct):
    """The payload of a token_count event; `info` is null where only rate limits are told."""

    info: Info | None = None


class Instructions(msgspec.Struct):
    """What a model is told first."""

    text: str | None = None


class SessionMeta(msgspec.Struct):
    """The start of a file. `id` may be the root thread's in files of its children."""

    id: str | None = None
    cli_version: str | None = None
    model_provider: str | None = None
    base_instructions: Instructions | str | None = None
    instructions: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    source: Any = None

    def parent(self) -> str | None:
        """The thread that this one was forked or spawned from."""
        spawn: Any = self.source
        for name in ("subagent", "thread_spawn", "parent_thread_id"):
            spawn = spawn.get(name) if isinstance(spawn, dict) else None
        if isinstance(spawn, str):
            return spawn
        return self.forked_from_id or self.parent_thread_id

    def is_subagent(self) -> bool:
        """Whether another thread spawned this one (a fork is no sub-agent)."""
        return isinstance(self.source, dict) and "subagent" in self.source


class TurnContext(msgspec.Struct):
    """The settings of the calls that follow."""

    model: str | None = None
    effort: str | None = None


LINES = msgspec.json.Decoder(Line)
EVENTS = msgspec.json.Decoder(Event)
TOKEN_COUNTS = msgspec.json.Decoder(TokenCount)
METAS = msgspec.json.Decoder(SessionMeta)
USAGES = msgspec.json.Decoder(TokenUsage)
OBJECTS = msgspec.json.Decoder(dict[str, Any])
CONTEXTS = msgspec.json.Decoder(TurnContext)
