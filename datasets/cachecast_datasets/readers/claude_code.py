"""Claude Code transcripts: one JSON Lines file a session, or a folder of them, sub-agents included.

A request is all lines of one (message.id, requestId), with its most final usage; its prompt is the
path of messages to it. System prompt, tools, settings and cache markers are not in the files: they
are the prompt's first block, `unseen system and tools`, whose hash is the same throughout a
session, client version and model, so that it never looks changed though it may have been.
Format: the client's own files, read 2026-11; no published description.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from cachecast_datasets.readers.anthropic_usage import observed_of
from cachecast_datasets.readers.claude_code_file import Call, TranscriptFile
from cachecast_datasets.readers.claude_code_prompts import FilePrompts
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.transcripts import Place, id_hash, places, transcript_files
from cachecast_datasets.replies.anthropic import region_of
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source

META = LogMeta(
    "claude-code", "blocks", carries_markers=False, time_origin="absolute", text_seen=True
)
OUTPUT_PER_S = 40  # tokens; bounds the start of a request whose parent line is not known


def read(source: Source) -> Iterator[Request]:
    """The requests of a transcript, or of every transcript below a folder."""
    run = _Run(source)
    files = transcript_files(source.path, source.bad) if source.path.is_dir() else [source.path]
    # A sub-agent's file may repeat messages of the main one: what is no side chain is read first.
    main = [path for path in files if not path.name.startswith("agent-")]
    mixed: list[Path] = []
    for place in places(source, main):
        file = TranscriptFile(place, source.prefix)
        if any(file.is_sidechain(call.first) for call in file.calls.values()):
            mixed.append(place.path)
        run.counts.update(file.counts)
        yield from run.requests(file, place, sidechains=False)
    for path in mixed:
        again = Place(path, _ignore, _ignore)  # its faults were reported the first time
        yield from run.requests(TranscriptFile(again, source.prefix), again, sidechains=True)
    for place in places(source, [path for path in files if path.name.startswith("agent-")]):
        file = TranscriptFile(place, source.prefix)
        run.counts.update(file.counts)
        yield from run.requests(file, place, sidechains=None)
    run.finish()


def _ignore(problem: Exception) -> None:
    pass


class _Run:
    """What the files of one source share."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.counts: Counter[str] = Counter()
        self._placeholder_versions: set[str] = set()
        source.has_boundaries = True

    def requests(
        self, file: TranscriptFile, place: Place, sidechains: bool | None
    ) -> Iterator[Request]:
        """The requests of a file that were not seen before; of side chains, of others, or all."""
        prompts = FilePrompts(file)
        for call in prompts.ordered():
            try:
                request = self._request(file, prompts, call)
            except ValueError as problem:
                place.bad(place.at(call.line, str(problem)))
                continue
            side = bool(request.is_sidechain)
            if sidechains in (None, side) and self._is_new(call, side):
                self._note(call, request)
                yield request

    def _is_new(self, call: Call, sidechain: bool) -> bool:
        """Whether the call was not read before, from a copy of it or from the main chain."""
        seen = self._source.seen
        # the main chain's messages, of earlier sources too; no request's key is of this form
        message = None if call.message_id is None else id_hash(f"{call.message_id}\n")
        if sidechain and message in seen:
            self.counts["replay"] += 1
            return False
        if not sidechain and message is not None:
            seen.add(message)
        key = id_hash(call.key)
        if key in seen:
            self.counts["copy"] += 1
            return False
        seen.add(key)
        return True

    def _request(self, file: TranscriptFile, prompts: FilePrompts, call: Call) -> Request:
        observed, total = observed_of(call.usage, call.raw_usage, call.cost)
        prompt = prompts.prompt(call, total)
        origin, line = prompts.origins[call.key], call.first
        sent_us = origin.sent_us(call.first_us)
        if sent_us is None:
            arrival_us, uncertainty = call.first_us, (observed.output or 0) / OUTPUT_PER_S
        else:
            arrival_us, uncertainty = sent_us, (call.first_us - sent_us) / 1e6
        return Request(
            request_id=call.key,
            arrival_us=arrival_us,
            arrival_uncertainty_s=uncertainty,
            end_s=(call.last_us - arrival_us) / 1e6,
            session_id=line.session_id or file.name,
            parent_request_id=None if origin.before is None else origin.before.key,
            agent_id=file.agent_of(line),
            is_sidechain=file.is_sidechain(line),
            provider="anthropic" if call.model and "claude" in call.model else None,
            platform=_platform(call.message_id),
            region=region_of(call.usage.inference_geo),
            model=call.model,
            service_tier=call.usage.service_tier,
            speed=call.usage.speed,
            blocks=None if prompt is None or total is None else prompt.blocks,
            prompt_tokens=total,
            output_tokens=observed.output,
            output_types=[part.kind for part in call.parts] or None,
            observed=observed,
            status="ok",
            response_id=call.message_id,
            source_line=call.line,
        )

    def _note(self, call: Call, request: Request) -> None:
        fresh = None if request.observed is None else request.observed.fresh
        if not call.is_final:
            self.counts["not final"] += 1
            if fresh is not None and fresh <= 1:
                self.counts["placeholder"] += 1
                self._placeholder_versions.add(call.first.version or "unknown")
        self.counts["blocks" if request.blocks is not None else "counts"] += 1

    def finish(self) -> None:
        """Say what a person should know of the files as a whole."""
        counts, notes = self.counts, self._source.notes
        if counts["counts"] and not counts["blocks"]:
            self._source.meta = replace(META, evidence="counts", text_seen=False)
        if counts["placeholder"]:
            newest = max(self._placeholder_versions, key=_version_key)
            notes.append(
                "placeholder counts (input 0 or 1, no stop reason), so that input and output are "
                f"lower bounds: {counts['placeholder']:,} requests, client versions up to {newest}"
            )
        notes += [f"{text}: {counts[name]:,}" for name, text in _NOTES.items() if counts[name]]


_NOTES = {
    "not final": "requests without a stop reason, whose output is a lower bound",
    "copy": "requests in several files (resumed sessions), counted once",
    "replay": "messages that side chains repeat, counted once",
    "client": "messages that the client wrote (<synthetic>, API errors), no requests",
    "no usage": "assistant lines without usage, no requests",
}


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else -1 for part in version.split("."))


def _platform(message_id: str | None) -> str | None:
    """Where the model ran, as far as the message's id tells."""
    for start, platform in (("msg_bdrk_", "bedrock"), ("msg_vrtx_", "vertex")):
        if message_id is not None and message_id.startswith(start):
            return platform
    return None


_MARKS = (
    {"parentUuid"}, {"leafUuid"}, {"type", "sessionId"}, {"type", "message"},
    {"sessionId", "message"}, {"messageId", "snapshot"},
)  # fmt: skip


def _recognises(head: Head) -> bool:
    others = {"payload", "startTime", "traceId"}  # Codex; Langfuse has a sessionId too
    return any(mark <= head.keys for mark in _MARKS) and not others & head.keys


READER = Reader(
    name="claude-code",
    description="Claude Code transcripts (a session's .jsonl, or a folder such as "
    "~/.claude/projects)",
    recognises=_recognises,
    read=read,
    meta=META,
    files=transcript_files,
    became={
        "message.id, requestId": "request_id (one request a pair; without a requestId: sessionId "
        "and message.id); message.id is response_id too",
        "uuid, parentUuid": "the path that makes `blocks`, and parent_request_id",
        "sessionId, agentId, isSidechain": "session_id, agent_id, is_sidechain",
        "timestamp": "arrival: the time of the last line that the request needed; "
        "arrival_uncertainty_s: from there to the first line of the answer (without a parent line: "
        "the answer's first line, and its output at 40 tokens a second); end_s: the last line",
        "message.model": "model, an alias suffix such as [1m] kept",
        "message.content, attachment": "blocks: raw, key-sorted and masked hashes; output_types",
        "message.usage": "observed, prompt_tokens, output_tokens: of the line with the largest "
        "output; iterations are summed, the prompt is the first one's; writes without a split are "
        "of unknown lifetime",
        "message.usage.service_tier, speed, inference_geo": "service_tier, speed, region",
        "costUSD": "observed.cost (estimate)",
        "isApiErrorMessage, model <synthetic>": "no request: counted in a note",
    },
    cannot_tell=(
        "system prompt, tools, settings and cache markers: they are one first block whose hash "
        "only changes with session, sub-agent, client version and model; a difference before the "
        "first message cannot be told from none",
        "how many tokens a block has: the growth of the reported prompt sizes, shared out by "
        "characters",
        "when a request was sent and its first token came: line times are ends of blocks",
        "the account, and the platform unless the message's id names it",
        "input and output of old client versions, which wrote placeholders",
    ),
)
