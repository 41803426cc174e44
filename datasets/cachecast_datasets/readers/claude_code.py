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
from functools import partial
from pathlib import Path

from cachecast_datasets.errors import LogError
from cachecast_datasets.files import bytes_of
from cachecast_datasets.processes import in_order
from cachecast_datasets.readers.claude_code_requests import FileRequests, Found, requests_of_file
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.transcripts import id_hash, transcript_files
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source

META = LogMeta(
    "claude-code", "blocks", carries_markers=False, time_origin="absolute", text_seen=True
)
WORTH_PROCESSES_BYTES = 32 << 20  # new interpreters start in half a second


def read(source: Source) -> Iterator[Request]:
    """The requests of a transcript, or of every transcript below a folder."""
    run = _Run(source)
    files = transcript_files(source.path, source.bad) if source.path.is_dir() else [source.path]
    # A sub-agent's file may repeat messages of the main one: what is no side chain is read first.
    main = [path for path in files if not path.name.startswith("agent-")]
    mixed: list[Path] = []
    for file in run.files(main, sidechains=False):
        if file.has_sidechains:
            mixed.append(file.path)
        yield from run.requests(file)
    for file in run.files(mixed, sidechains=True):
        file.faults.clear()  # they were reported the first time
        file.counts.clear()
        yield from run.requests(file)
    for file in run.files([path for path in files if path not in set(main)], sidechains=None):
        yield from run.requests(file)
    run.finish()


class _Run:
    """What the files of one source share."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._done = 0
        self.counts: Counter[str] = Counter()
        self._placeholder_versions: set[str] = set()
        source.has_boundaries = True

    def files(self, paths: list[Path], sidechains: bool | None) -> Iterator[FileRequests]:
        """What each file tells, in order; several processes share many megabytes."""
        sizes = list(map(bytes_of, paths))
        processes = self._source.processes if sum(sizes) >= WORTH_PROCESSES_BYTES else 1
        one = partial(requests_of_file, prefix=self._source.prefix, sidechains=sidechains)
        if processes == 1:
            one = partial(one, position=self._reading)
        for size, file in zip(sizes, in_order(one, paths, processes), strict=True):
            yield file
            self._done += size
            self._source.position(self._done)

    def _reading(self, used: int) -> None:
        self._source.position(self._done + used)

    def requests(self, file: FileRequests) -> Iterator[Request]:
        """The requests of a file that were not seen before."""
        self.counts.update(file.counts)
        for is_lost, problem in file.faults:
            (self._source.lost if is_lost else self._source.bad)(problem)
        for found in file.found:
            request = found.request
            if isinstance(request, LogError):
                self._source.bad(request)
            elif self._is_new(request):
                self._note(found, request)
                yield request

    def _is_new(self, request: Request) -> bool:
        """Whether the call was not read before, from a copy of it or from the main chain."""
        seen, is_sidechain = self._source.seen, bool(request.is_sidechain)
        # the main chain's messages, of earlier sources too; no request's key is of this form
        message = None if request.response_id is None else id_hash(f"{request.response_id}\n")
        if is_sidechain and message in seen:
            self.counts["replay"] += 1
            return False
        if not is_sidechain and message is not None:
            seen.add(message)
        key = id_hash(request.request_id)
        if key in seen:
            self.counts["copy"] += 1
            return False
        seen.add(key)
        return True

    def _note(self, found: Found, request: Request) -> None:
        fresh = None if request.observed is None else request.observed.fresh
        if not found.is_final:
            self.counts["not final"] += 1
            if fresh is not None and fresh <= 1:
                self.counts["placeholder"] += 1
                self._placeholder_versions.add(found.version or "unknown")
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
