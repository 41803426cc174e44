"""The `replay` job: a log through a real engine."""

from collections.abc import Iterator
from itertools import chain

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Request
from cachecast_replay.prompts import PromptMaker
from cachecast_replay.runner import Turn
from cachecast_sim.fleet.closed_loop import Pauses
from cachecast_sim.fleet.job import Job
from cachecast_sim.prompt_size import prompt_size

# what a replay needs of a request
COLUMNS = (
    "session_id", "agent_id", "token_block_size", "token_blocks", "token_ids", "output_token_ids",
    "blocks", "boundaries", "prompt_tokens", "output_tokens", "think_time_s", "end_s", "hash_scope",
)  # fmt: skip
NS_PER_US = 1000


def turns_of(
    requests: Iterator[Request], maker: PromptMaker, *, ignore_output: bool, speed_up: float = 1.0
) -> Iterator[Turn]:
    """The requests with their tokens; without a prompt size they are left out, as in `simulate`.

    BadInput, before the first is used, if none has one; and for token ids under different salts,
    which no engine is told.
    """
    turns = _turns(requests, maker, ignore_output=ignore_output, speed_up=speed_up)
    first = next(turns, None)
    if first is None:
        raise BadInput("no request of the log has a prompt size, expected a log that knows them")
    return chain([first], turns)


def _turns(
    requests: Iterator[Request], maker: PromptMaker, *, ignore_output: bool, speed_up: float
) -> Iterator[Turn]:
    pauses = Pauses()
    index = 0
    salts: set[str | None] = set()
    for request in requests:
        pause_ns = pauses.before(request)
        size = prompt_size(request)
        if size is None or size < 1:
            continue
        if request.token_ids is not None:
            salts.add(request.hash_scope)
        if len(salts) > 1:
            raise BadInput(
                f"request {request.request_id}: its cache salt is not that of the requests before "
                "it; a replay sends no salts, expected a log with one of them"
            )
        prompt = maker.prompt(request, index)
        output = maker.output(request, index)
        if ignore_output:
            output = output[:1]
        arrival_ns = round(request.arrival_us * NS_PER_US / speed_up)
        job = Job(
            request.request_id, index, arrival_ns, len(prompt), len(output), [], 0,
            session_id=request.session_id,
        )  # fmt: skip
        job.server = 0
        index += 1
        yield Turn(job, prompt, output, (request.session_id, request.agent_id), pause_ns)
