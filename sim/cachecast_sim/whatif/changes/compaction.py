"""Summing up long histories: `compaction=TOKENS`, `compaction=TOKENS:SUMMARY_TOKENS`."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import ContentBlock, Request
from cachecast_pricing.catalog import Catalog
from cachecast_sim.whatif.change import Change, ChangedLog, conversation
from cachecast_sim.whatif.prompts import aside, head_length, made_hash, with_blocks

SUMMARY_TOKENS = 2_000


@dataclass(slots=True)
class _Thread:
    """How much of a conversation's history is summed up, and what its prompt was before."""

    kept_from: int | None = None
    summaries: int = 0
    before: Sequence[ContentBlock] = ()
    sent: list[ContentBlock] = field(default_factory=list)


class Compaction(Change):
    """A prompt above the limit keeps its head, a summary and its last message.

    The summary is the answer of one more request, which reads the prompt before it.
    """

    needs = "blocks"

    def __init__(self, text: str, limit: int, summary_tokens: int) -> None:
        super().__init__(text)
        self.limit = limit
        self.summary_tokens = summary_tokens
        self.summaries = 0

    def log(self, log: ChangedLog) -> ChangedLog:
        """The log with shorter prompts and the requests for their summaries."""
        requests = list(log.requests)
        threads: dict[tuple[str | None, ...], _Thread] = {}
        made: list[Request] = []
        sent: dict[str, str] = dict(log.extra)
        for request in requests:
            if request.blocks is None:
                made.append(request)
                continue
            thread = threads.setdefault(conversation(request), _Thread())
            asked = self._step(request, request.blocks, thread)
            if asked is not None:
                made.append(asked)
                sent[asked.request_id] = log.extra.get(request.request_id, request.request_id)
            made.append(with_blocks(request, thread.sent))
        return replace(log, requests=made, extra=sent)

    def _step(
        self, request: Request, blocks: Sequence[ContentBlock], thread: _Thread
    ) -> Request | None:
        """Brings the thread up to this request; the request for a summary if one was due."""
        head = head_length(blocks)
        if not _continues(thread.before, blocks):
            thread.kept_from = None
        thread.before = blocks
        shown = self._shown(request, blocks, head, thread)
        asked = None
        last = _last_message(blocks, head)
        if sum(b.tokens for b in shown) > self.limit and last > (thread.kept_from or head):
            if thread.sent:
                asked = with_blocks(
                    aside(request, "summary", request.arrival_us, self.summary_tokens), thread.sent
                )
            thread.kept_from = last
            thread.summaries += 1
            self.summaries += 1
            shown = self._shown(request, blocks, head, thread)
        thread.sent = shown
        return asked

    def _shown(
        self, request: Request, blocks: Sequence[ContentBlock], head: int, thread: _Thread
    ) -> list[ContentBlock]:
        if thread.kept_from is None:
            return list(blocks)
        text = made_hash(*conversation(request), "summary", thread.summaries)
        message = blocks[thread.kept_from].message
        summary = ContentBlock(
            "user", "user", "text", message, self.summary_tokens, text, label="summary"
        )
        return [*blocks[:head], summary, *blocks[thread.kept_from :]]

    def assumptions(self) -> list[str]:
        """What a summary takes."""
        return [
            f"{self.summaries:,} summaries of {self.summary_tokens:,} tokens, each the answer to "
            "one more request of the prompt before it; the conversation goes on as in the log"
        ]


def _continues(before: Sequence[ContentBlock], blocks: Sequence[ContentBlock]) -> bool:
    return all(
        theirs.hash == ours.hash for theirs, ours in zip(before, blocks, strict=False)
    ) and len(blocks) >= len(before)


def _last_message(blocks: Sequence[ContentBlock], head: int) -> int:
    """Where the last message starts."""
    at = len(blocks)
    while at > head and blocks[at - 1].message == blocks[-1].message:
        at -= 1
    return at


def make(text: str, value: str, catalog: Catalog) -> Change:
    """The limit in tokens, and the size of a summary if it is not `SUMMARY_TOKENS`."""
    limit, _, size = value.partition(":")
    size = size or str(SUMMARY_TOKENS)
    if value == "off":
        raise BadInput(
            f"--change {text}: a log does not say which of its prompts were compacted and which a "
            "person cleared, so nothing is put back; expected compaction=TOKENS"
        )
    if not (_count(limit) and _count(size)):
        raise BadInput(
            f"--change {text}: expected compaction=TOKENS or compaction=TOKENS:SUMMARY_TOKENS"
        )
    return Compaction(text, int(limit), int(size))


def _count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 12 and int(text) > 0
