"""One request to a server: asked, asked again where that helps, and what came of it."""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from cachecast_replay.endpoint.answers import Answer
from cachecast_replay.endpoint.client import Client
from cachecast_replay.endpoint.dialect import Dialect
from cachecast_replay.endpoint.reading import Reading
from cachecast_replay.endpoint.retrying import RequestFailed, RetryPolicy
from cachecast_replay.runner import Turn


class Clock(Protocol):
    """Nanoseconds of the log's own time."""

    def now_ns(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks one server in its dialect."""

    client: Client
    dialect: Dialect
    model: str
    policy: RetryPolicy

    async def ask(self, turn: Turn, clock: Clock) -> Answer:
        """The answer, or the failure that no further try could mend; never an exception of HTTP.

        A stream that breaks after its first token is not asked again: the prompt would be found in
        the cache that the broken try has filled.
        """
        body = self.dialect.body(self.model, turn.prompt, len(turn.output), turn.text)
        sent_ns, retries = clock.now_ns(), 0
        while True:
            reading = Reading(len(turn.output))
            try:
                await self.client.stream(self.dialect.path, body, reading, clock.now_ns)
            except RequestFailed as failed:
                wait_s = self.policy.wait_s(retries, failed)
                if wait_s is None or reading.first_token_ns is not None:
                    return self._answer(turn, sent_ns, retries, reading, str(failed))
                await asyncio.sleep(wait_s)
                retries += 1
            else:
                return self._answer(turn, sent_ns, retries, reading, None)

    def _answer(
        self, turn: Turn, sent_ns: int, retries: int, reading: Reading, error: str | None
    ) -> Answer:
        job, usage = turn.job, reading.usage
        counted = len(turn.prompt) if self.dialect.prompts == "ids" else None
        return Answer(
            job.request_id, job.index, job.session_id, job.arrival_ns, len(turn.output), sent_ns,
            retries,
            sent_ids=counted,
            prompt_tokens=counted if usage.prompt_tokens is None else usage.prompt_tokens,
            output_tokens=usage.completion_tokens,
            hit_tokens=usage.cached_tokens,
            first_token_ns=reading.first_token_ns,
            end_ns=reading.end_ns,
            finish=reading.finish,
            error=error,
        )  # fmt: skip
