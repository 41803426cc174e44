"""One call of a model's API, request and response, into a Request.

Readers of pairs, batches and captures unwrap their files down to this; secrets stay with them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cachecast_datasets.callers import api_of_path, session_of, where
from cachecast_datasets.hashing import token_block_hashes
from cachecast_datasets.prompts import anthropic as anthropic_prompts
from cachecast_datasets.prompts import openai as openai_prompts
from cachecast_datasets.prompts.parts import Part, PartHasher, Rendered, opaque
from cachecast_datasets.replies import anthropic as anthropic_replies
from cachecast_datasets.replies import openai as openai_replies
from cachecast_datasets.replies.reply import Reply, status_of, word
from cachecast_datasets.replies.streams import Stream
from cachecast_datasets.request import ContentBlock, Request
from cachecast_datasets.sizing import Lengths, sized, weights_of
from cachecast_datasets.tokenizers import BYTES_PER_TOKEN, Tokenizer

TOKEN_BLOCK = 16
Texts = Callable[[str, Sequence[str], Sequence[str]], None]  # (request id, prompt, answer)


@dataclass(slots=True)
class Exchange:
    """What a reader knows of one call. `reply` is an object, a stream, or None if it is not there.

    `arrival_us` is the reader's business: see `Source`.
    """

    body: Mapping[str, Any] | None
    reply: Mapping[str, Any] | Stream | None
    fallback_id: str
    line: int
    given_id: str | None = None
    code: int | None = None
    host: str | None = None
    path: str | None = None
    account: str | None = None
    session: str | None = None
    region: str | None = None
    is_batch: bool | None = None
    first_token_s: float | None = None
    end_s: float | None = None
    betas: str | None = None


@dataclass(slots=True)
class Reading:
    """What the exchanges of one file share: tokenizer, known lengths, notes and the text sink."""

    tokenizer: Tokenizer | None = None
    texts: Texts | None = None
    lengths: Lengths = field(default_factory=Lengths)
    hasher: PartHasher = field(default_factory=PartHasher)
    noted: dict[str, int] = field(default_factory=dict)
    _shapes: dict[int, int] = field(default_factory=dict)

    def note(self, what: str) -> None:
        """One more request of which this is true."""
        self.noted[what] = self.noted.get(what, 0) + 1

    def notes(self) -> list[str]:
        """Every note with its count."""
        return [f"{count:,} × {what}" for what, count in self.noted.items()]

    def request(self, exchange: Exchange) -> Request:
        """The Request, arrival 0. ValueError for what does not fit the API."""
        api = api_of(exchange)
        body = exchange.body
        rendered = _rendered(api, body) if body is not None else Rendered(incomplete="no body")
        reply = _reply(api, exchange, rendered)
        for note in {*rendered.notes, *reply.notes}:
            self.note(note)
        provider, platform = where(exchange.host)
        body = body or {}
        model = word(body.get("model")) or reply.model
        request_id = exchange.given_id or reply.response_id or exchange.fallback_id
        made = Request(
            request_id=request_id,
            arrival_us=0,
            first_token_s=exchange.first_token_s,
            end_s=exchange.end_s,
            account=exchange.account,
            session_id=exchange.session or session_of(body),
            parent_request_id=word(body.get("previous_response_id")),
            provider=provider,
            platform=platform,
            region=exchange.region or reply.region,
            model=model,
            model_served=reply.model,
            service_tier=reply.service_tier or word(body.get("service_tier")),
            speed=reply.speed or word(body.get("speed")),
            is_batch=exchange.is_batch,
            settings=rendered.settings,
            cache_mode=rendered.cache_mode,
            prompt_tokens=reply.prompt_tokens,
            output_tokens=None if reply.observed is None else reply.observed.output,
            observed=reply.observed,
            answer_hash=reply.answer_hash(),
            output_types=reply.output_types(),
            status=reply.status,
            response_id=reply.response_id,
            source_line=exchange.line,
        )
        if exchange.betas:
            made.settings = {**rendered.settings, "betas": exchange.betas}
        if made.status == "aborted" and made.first_token_s is None and reply.started:
            made.first_token_s = exchange.end_s  # it had begun: what it wrote is there
        if rendered.incomplete is None:
            self._prompt(made, rendered, reply)
        elif rendered.incomplete != "no body":
            self.note(f"{rendered.incomplete}: a part of the prompt is on the server, counts only")
        if self.texts is not None and rendered.incomplete is None:
            prompt = [part.text for part in rendered.parts]
            self.texts(request_id, prompt, [part.text for part in reply.answer])
        return made

    def _prompt(self, made: Request, rendered: Rendered, reply: Reply) -> None:
        hashes = [self.hasher.hashes(part) for part in rendered.parts]
        keep = self.texts is not None
        blocks = [
            ContentBlock(
                part.section, part.role, part.kind, part.message, 0,
                found.raw, found.canonical, found.masked, part.marker, part.name if keep else None,
            )
            for part, found in zip(rendered.parts, hashes, strict=True)
        ]  # fmt: skip
        weights = weights_of(rendered.parts, self.tokenizer)
        per_token = BYTES_PER_TOKEN if self.tokenizer is None else 1
        blocks = sized(
            blocks,
            rendered,
            reply.prompt,
            made.prompt_tokens,
            weights,
            per_token,
            self.lengths,
            made.model,
        )
        made.blocks = blocks
        made.tools_tokens = sum(block.tokens for block in blocks if block.section == "tools")
        made.system_tokens = sum(block.tokens for block in blocks if block.section == "system")
        if made.prompt_tokens is None and made.status not in ("error", "rejected"):
            self.note("no prompt size reported: the blocks are an estimate of their own")
        self._same_text_two_shapes(rendered.parts, blocks)
        if self.tokenizer is not None:
            self._token_blocks(made, rendered.parts)

    def _same_text_two_shapes(self, parts: Sequence[Part], blocks: Sequence[ContentBlock]) -> None:
        """Note a text that comes as a plain string and as a text block: models differ on it."""
        for part, block in zip(parts, blocks, strict=True):
            if part.kind != "text" or block.canonical_hash is None:
                continue
            seen = self._shapes.setdefault(block.canonical_hash, block.hash)
            if seen != block.hash:
                self.note(
                    "a text sent as a plain string here and as a text block there: the hashes "
                    "differ, and so do models (some treat them as equal)"
                )
                return

    def _token_blocks(self, made: Request, parts: Sequence[Part]) -> None:
        """Chained hashes of the ids of all text; the template's own tokens stand at the end.

        Not where the tokenizer makes more tokens than were reported: it is another model's.
        """
        assert self.tokenizer is not None
        ids = [np.array(self.tokenizer.encode(part.text), dtype=np.int32) for part in parts]
        flat = np.concatenate(ids) if ids else np.empty(0, dtype=np.int32)
        total = len(flat) if made.prompt_tokens is None else made.prompt_tokens
        if len(flat) > total or any(map(opaque, parts)):
            self.note("no token blocks: media, or the tokenizer makes more tokens than reported")
            return
        filled = np.concatenate([flat, np.full(total - len(flat), -1, dtype=np.int32)])
        made.token_block_size = TOKEN_BLOCK
        made.token_blocks = token_block_hashes(filled, TOKEN_BLOCK)


def api_of(exchange: Exchange) -> str:
    """`anthropic`, `chat` or `responses`. ValueError if nothing tells."""
    by_path = api_of_path(exchange.path)
    if by_path is not None:
        return by_path
    reply, body = exchange.reply, exchange.body or {}
    if isinstance(reply, Stream):
        if reply.api is not None:
            return reply.api
    elif reply is not None:
        if reply.get("type") in ("message", "error"):
            return "anthropic"
        if reply.get("object") in ("response", "response.compaction"):
            return "responses"
        if "choices" in reply:
            return "chat"
    if "input" in body or "previous_response_id" in body:
        return "responses"
    if "messages" in body:
        name = str(body.get("model"))
        own = "system" in body or "anthropic_version" in body or "claude" in name.lower()
        return "anthropic" if own and "/" not in name else "chat"
    raise ValueError(
        "neither the request nor the response tells its API, expected Anthropic Messages, OpenAI "
        "Chat Completions or OpenAI Responses"
    )


def _rendered(api: str, body: Mapping[str, Any]) -> Rendered:
    if api == "anthropic":
        return anthropic_prompts.rendered(body)
    if api == "chat":
        return openai_prompts.rendered_chat(body)
    return openai_prompts.rendered_responses(body)


def _reply(api: str, exchange: Exchange, rendered: Rendered) -> Reply:
    reply, ended, broken = exchange.reply, None, 0
    if isinstance(reply, Stream):
        broken = reply.broken
        if api == "anthropic":
            whole, ended = anthropic_replies.merged(reply.events)
        elif api == "chat":
            whole, ended = openai_replies.merged_chat(reply.events, reply.done)
        else:
            whole, ended = openai_replies.merged_responses(reply.events)
        reply = whole or None
    by_code = status_of(exchange.code)
    if reply is None:
        return Reply(status=by_code if by_code not in (None, "ok") else ended)
    if api == "anthropic":
        made = anthropic_replies.reply_of(reply)
    else:
        made = openai_replies.reply_of(reply, _write_life(exchange, rendered))
    if by_code in ("error", "rejected"):
        made.status = by_code
    elif ended is not None and made.status == "ok":
        made.status = ended
    if broken and made.status != "aborted":  # where it broke off, a cut last event says no more
        made.answer = []
        made.notes.append("a stream with an event that is no JSON object: its answer is unknown")
    if made.status == "aborted" and made.observed is None:
        made.notes.append("a stream that broke off before its usage: unknown, not zero")
    return made


def _write_life(exchange: Exchange, rendered: Rendered) -> str:
    """The lifetime of written tokens: OpenAI's own, else unknown."""
    name = str((exchange.body or {}).get("model") or "").lower()
    if any(p.marker in ("5m", "1h") for p in rendered.parts) or "claude" in name or "/" in name:
        return "unknown"
    return "12h" if rendered.settings.get("prompt_cache_options.ttl") == "12h" else "30m"
