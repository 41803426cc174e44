"""Codex rollouts: one JSON Lines file a thread, a folder of them, or `codex exec --json` output.

A request is one token_count event that says something new: `last` where it is there, else what was
added to `total`. Forks copy their parent's events: see codex_forks.py. Tools are not in the files:
they are the prompt's first block, `unseen tools`, of the same hash throughout a client version and
model. Format: openai/codex protocol.rs and rollouts of 0.114, read 2026-11.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec

from cachecast_datasets.errors import LogError
from cachecast_datasets.packed import DAMAGED, open_bytes
from cachecast_datasets.readers.codex_file import Call, RolloutFile, thread_of
from cachecast_datasets.readers.codex_lines import LINES, USAGES, Line, TokenUsage
from cachecast_datasets.readers.reader import Head, Reader
from cachecast_datasets.readers.transcripts import Place, id_hash, places, transcript_files
from cachecast_datasets.request import Request
from cachecast_datasets.request_log import LogMeta
from cachecast_datasets.source import Source, as_text

# models before GPT-5.6 read the cache in steps of 128 tokens (provider rules, 2026-08)
_IN_STEPS = re.compile(r"(?:.*/)?gpt-(?:[1-4]|5(?:\.[0-5])?)(?![.\d])", re.IGNORECASE)
_STEP = 128
META = LogMeta("codex", "blocks", carries_markers=False, time_origin="absolute", text_seen=True)


def read(source: Source) -> Iterator[Request]:
    """The requests of a rollout, or of every rollout below a folder."""
    source.has_boundaries = True
    run = _Run(source)
    files = transcript_files(source.path, source.bad) if source.path.is_dir() else [source.path]
    for place in places(source, run.once(files)):
        if _is_exec(place.path):
            yield from run.exec_output(place)
        else:
            yield from run.rollout(place)
    run.finish()


class _Run:
    """What the files of one source share."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._payloads: dict[str, set[int]] = {}  # 80 bytes an event, for forks
        self._archived = self._copied = self._known = self._unwritten = self._odd = 0
        self._blocks = self._counts = self._turns = 0

    def once(self, files: list[Path]) -> list[Path]:
        """Without archived copies; parents before children, which the names' times give."""
        kept = {path.name for path in files if "archived_sessions" not in path.parts}
        once = [p for p in files if "archived_sessions" not in p.parts or p.name not in kept]
        self._archived = len(files) - len(once)
        return sorted(once, key=lambda path: (path.name, path))

    def rollout(self, place: Place) -> Iterator[Request]:
        """The calls that a thread made itself."""
        file = RolloutFile(place, self._payloads)
        for call in file.calls():
            try:
                request = _request(file, call)
            except ValueError as problem:
                place.bad(place.at(call.line, str(problem)))
                continue
            key = id_hash(request.request_id)
            if key in self._source.seen:
                self._known += 1
                continue
            self._source.seen.add(key)
            self._blocks += request.blocks is not None
            self._counts += request.blocks is None
            self._odd += _is_odd(call)
            yield request
        self._payloads.setdefault(file.thread, set()).update(file.payloads)
        self._copied += file.copied
        self._unwritten += file.unwritten

    def exec_output(self, place: Place) -> Iterator[Request]:
        """One request a turn: the output tells a running total after each turn, and no times."""
        if self._source.path.is_dir():
            what = "output of codex exec --json has no times, expected it on its own"
            place.bad(place.at(None, what, "no times"))
            return
        before: TokenUsage | None = None
        thread = as_text(place.path.name.split(".")[0])
        for number, data in place.lines():
            try:
                line = place.decode(LINES, data, number)
                if line.type is None:
                    place.foreign(number)
                    continue
                place.is_ours = True
                if line.type == "thread.started":
                    thread, before = line.thread_id or thread, None
                if line.type == "turn.completed" and bytes(line.usage):
                    raw = bytes(line.usage)
                    usage = place.part(USAGES, raw, number)
                    request = _turn(thread, self._turns + 1, number, usage.since(before), raw)
                    before = usage
                    self._turns += 1
                    yield request
            except (ValueError, LogError, RecursionError) as problem:
                place.refuse(number, problem)
        place.finish("codex exec --json output")

    def finish(self) -> None:
        """Say what a person should know of the files as a whole."""
        notes = self._source.notes
        if self._turns:
            self._source.meta = replace(
                META, evidence="counts", time_origin="relative", text_seen=False
            )
            notes.append(
                "output of codex exec --json: a row is a turn of perhaps several calls, in order "
                f"but without times: {self._turns:,}"
            )
        elif self._counts and not self._blocks:
            self._source.meta = replace(META, evidence="counts", text_seen=False)
        for count, text in (
            (self._archived, "archived files that sessions/ holds too, left out"),
            (self._copied, "events that forks copied from their parents, counted once"),
            (self._known, "requests in several files, counted once"),
            (self._unwritten, "calls of builds that report no cache writes, taken as none"),
            (
                self._odd,
                "calls of models before GPT-5.6 whose cached tokens are no multiple of 128: "
                "another server than OpenAI's may have counted them in its own way",
            ),
        ):
            if count:
                notes.append(f"{text}: {count:,}")


def _request(file: RolloutFile, call: Call) -> Request:
    observed = call.usage.observed(call.raw_usage)
    start = call.start_us if call.start_us is not None else call.end_us
    start = min(start, call.end_us)
    answered = call.first_output_us if call.first_output_us is not None else call.end_us
    thread = file.thread
    return Request(
        request_id=f"{thread}/{call.number}",
        arrival_us=start,
        arrival_uncertainty_s=max(0, answered - start) / 1e6,
        end_s=(call.end_us - start) / 1e6,
        session_id=thread,
        parent_request_id=f"{thread}/{call.number - 1}" if call.number > 1 else None,
        agent_id=thread if file.meta.is_subagent() else None,
        is_sidechain=file.meta.is_subagent(),
        provider=file.meta.model_provider or "openai",
        model=call.model,
        service_tier=call.tier,
        settings={} if call.effort is None else {"reasoning.effort": call.effort},
        blocks=None if call.prompt is None else call.prompt.blocks,
        prompt_tokens=call.usage.input_tokens,
        output_tokens=call.usage.output_tokens,
        output_types=call.output_types or None,
        observed=observed,
        status="ok",
        source_line=call.line,
    )


def _is_odd(call: Call) -> bool:
    """Whether OpenAI would not have counted so: a server that speaks its API may mean others."""
    in_steps = call.model is not None and _IN_STEPS.match(call.model) is not None
    return in_steps and call.usage.cached_input_tokens % _STEP != 0


def _turn(thread: str, turn: int, number: int, usage: TokenUsage, raw: bytes) -> Request:
    return Request(
        request_id=f"{thread}/{turn}",
        arrival_us=0,
        session_id=thread,
        provider="openai",
        prompt_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        observed=usage.observed(raw),
        status="ok",
        source_line=number,
    )


def _is_exec(path: Path) -> bool:
    """Whether the file starts like `codex exec --json` (its lines have no payload)."""
    try:
        with open_bytes(path) as stream:
            line: Line = LINES.decode(stream.readline(1 << 20))
    except (msgspec.MsgspecError, UnicodeDecodeError, OSError, RecursionError, *DAMAGED):
        return False
    return line.type == "thread.started"


def _recognises(head: Head) -> bool:
    return {"type", "payload"} <= head.keys or {"type", "thread_id"} <= head.keys


__all__ = ["READER", "read", "thread_of"]

READER = Reader(
    name="codex",
    description="Codex rollouts (a rollout-*.jsonl, a folder such as ~/.codex, or the output of "
    "codex exec --json)",
    recognises=_recognises,
    read=read,
    meta=META,
    files=transcript_files,
    became={
        "file name": "session_id and request_id: the last UUID in it, and the call's number",
        "token_count.info.last_token_usage": "observed (fresh = input - cached - written; writes "
        "live 30 minutes), prompt_tokens, output_tokens",
        "token_count.info.total_token_usage": "the same by subtraction where `last` is missing; "
        "tells repetitions of an event from new ones",
        "turn_context.model, effort": "model; settings reasoning.effort",
        "thread_settings_applied.service_tier": "service_tier",
        "session_meta.model_provider": "provider (openai if missing)",
        "session_meta.base_instructions": "the block `base instructions`",
        "session_meta.forked_from_id, parent_thread_id, source": "which copied events are left "
        "out; agent_id and is_sidechain of spawned threads",
        "response_item": "blocks and output_types; encrypted reasoning as thinking",
        "compacted": "a prompt that starts anew from the replacement history",
        "timestamp": "arrival: the last item that the call needed; arrival_uncertainty_s: from "
        "there to its first output; end_s: the event",
    },
    cannot_tell=(
        "tools and most settings: tools are one first block whose hash only changes with client "
        "version and model",
        "how many tokens a block has: the growth of the reported prompt sizes, shared out by "
        "characters",
        "cache writes of builds that do not report them (taken as none)",
        "whether a fork's first event is its parent's, where neither the parent's file nor a "
        "burst tells",
        "account, region, platform, cost; times and single calls in codex exec --json",
    ),
)
