"""The requests of one Claude Code file, whatever other files hold."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cachecast_datasets.errors import LogError
from cachecast_datasets.readers.anthropic_usage import observed_of
from cachecast_datasets.readers.claude_code_file import Call, TranscriptFile
from cachecast_datasets.readers.claude_code_prompts import FilePrompts
from cachecast_datasets.readers.transcripts import Place
from cachecast_datasets.replies.anthropic import region_of
from cachecast_datasets.request import Request

OUTPUT_PER_S = 40  # tokens; bounds the start of a request whose parent line is not known


@dataclass(slots=True)
class Found:
    """One model call of a file as a request, or why it is none."""

    request: Request | LogError
    is_final: bool
    version: str | None


@dataclass(slots=True)
class FileRequests:
    """All that a file told: its calls in order, its faults (whether a crash made them) before."""

    path: Path
    found: list[Found] = field(default_factory=list)
    faults: list[tuple[bool, LogError]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    has_sidechains: bool = False


def requests_of_file(
    path: Path,
    prefix: str,
    sidechains: bool | None,
    position: Callable[[int], None] = lambda used: None,
) -> FileRequests:
    """The calls of side chains, the other ones, or all (None); `position`: see Source."""
    made = FileRequests(path)
    place = Place(
        path,
        lost=lambda problem: made.faults.append((True, problem)),
        bad=lambda problem: made.faults.append((False, problem)),
        position=position,
    )
    file = TranscriptFile(place, prefix)
    made.counts = file.counts
    made.has_sidechains = any(file.is_sidechain(call.first) for call in file.calls.values())
    made.found = list(_found(file, place, sidechains))
    return made


def _found(file: TranscriptFile, place: Place, sidechains: bool | None) -> Iterator[Found]:
    prompts = FilePrompts(file)
    for call in prompts.ordered():
        request: Request | LogError
        try:
            request = _request(file, prompts, call)
        except ValueError as problem:
            request = place.at(call.line, str(problem))
        if sidechains in (None, file.is_sidechain(call.first)):
            yield Found(request, call.is_final, call.first.version)


def _request(file: TranscriptFile, prompts: FilePrompts, call: Call) -> Request:
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


def _platform(message_id: str | None) -> str | None:
    """Where the model ran, as far as the message's id tells."""
    for start, platform in (("msg_bdrk_", "bedrock"), ("msg_vrtx_", "vertex")):
        if message_id is not None and message_id.startswith(start):
            return platform
    return None
