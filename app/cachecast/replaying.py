"""The `replay` job: a log through a real engine."""

from collections.abc import Iterator

from cachecast_datasets.request import Request
from cachecast_replay.prompts import PromptMaker
from cachecast_replay.runner import Turn
from cachecast_sim.fleet.closed_loop import Pauses
from cachecast_sim.fleet.job import Job

# what a replay needs of a request
COLUMNS = (
    "session_id", "agent_id", "token_block_size", "token_blocks", "token_ids", "output_token_ids",
    "blocks", "prompt_tokens", "output_tokens", "think_time_s", "end_s",
)  # fmt: skip
NS_PER_US = 1000


def turns_of(
    requests: Iterator[Request], maker: PromptMaker, *, ignore_output: bool, speed_up: float = 1.0
) -> Iterator[Turn]:
    """The requests with their tokens; without a prompt size they are left out, as in `simulate`."""
    pauses = Pauses()
    index = 0
    for request in requests:
        pause_ns = pauses.before(request)
        if request.prompt_tokens is None or request.prompt_tokens < 1:
            continue
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
