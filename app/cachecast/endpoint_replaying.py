"""`cachecast replay --endpoint`: a log through a server, prepared, replayed and counted."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from cachecast.endpoint_options import EndpointOptions, key_of
from cachecast.endpoint_table import before
from cachecast.replaying import COLUMNS, turns_of
from cachecast_datasets.errors import BadInput
from cachecast_datasets.kept_texts import KeptTexts, kept_texts
from cachecast_datasets.text_file import text_path
from cachecast_datasets.trace import Trace
from cachecast_replay.endpoint.address import Address, address_of
from cachecast_replay.endpoint.answers import Answer
from cachecast_replay.endpoint.asking import Asker
from cachecast_replay.endpoint.client import Client
from cachecast_replay.endpoint.dialect import SHAPES, Dialect
from cachecast_replay.endpoint.preparing import check_model, find_dialect, reset_cache
from cachecast_replay.endpoint.retrying import RetryPolicy
from cachecast_replay.endpoint.runner import EndpointReplay, WallClock
from cachecast_replay.endpoint.words import WORDS
from cachecast_replay.prompts import PromptMaker
from cachecast_replay.runner import Turn
from cachecast_sim.fleet.job import Job

_PROBE_TOKENS = 8  # less than a block of any engine: it leaves nothing in a cache
_WARM_UP_TOKENS, _WARM_UP_OUTPUT = 512, 16


@dataclass(slots=True)
class EndpointRun:
    """What has been settled with the server; None until then."""

    address: Address
    model: str | None = None
    dialect: Dialect | None = None
    kept_texts: bool = False  # whether prompts are the log's own texts


def open_address(options: EndpointOptions) -> Address:
    """BadInput for a bad URL, a server elsewhere without leave, or a key that is not there."""
    return address_of(
        options.endpoint, allow_remote=options.allow_remote, key=key_of(options.api_key_env)
    )


def replay_through(
    run: EndpointRun,
    options: EndpointOptions,
    trace: Trace,
    speed_up: float,
    on_answer: Callable[[Answer], None],
    say: Callable[[str], None],
) -> None:
    """Returns when every request has ended. KeyboardInterrupt leaves what `on_answer` has heard."""
    try:
        asyncio.run(_replay(run, options, trace, speed_up, on_answer, say))
    except BaseExceptionGroup as group:
        # one task's failure has ended the others: it is the one to tell
        raise group.exceptions[0] from None


async def _replay(
    run: EndpointRun,
    options: EndpointOptions,
    trace: Trace,
    speed_up: float,
    on_answer: Callable[[Answer], None],
    say: Callable[[str], None],
) -> None:
    async with Client(run.address, options.timeout_s) as client:
        asker, maker = await _prepared(client, run, options, say)
        turns = turns_of(
            trace.requests(columns=COLUMNS), maker, ignore_output=False, speed_up=speed_up
        )
        texts = kept_texts(trace.path) if asker.dialect.prompts != "ids" else None
        if texts is not None:
            run.kept_texts = True
            say(f"prompts are the log's own texts, of {text_path(trace.path)}")
            turns = with_texts(turns, texts)
        replay = EndpointReplay(asker.ask, options.concurrency, on_answer)
        if options.loop == "closed":
            await replay.closed_loop(turns)
        else:
            await replay.open_loop(turns)


async def _prepared(
    client: Client, run: EndpointRun, options: EndpointOptions, say: Callable[[str], None]
) -> tuple[Asker, PromptMaker]:
    """The server checked, warmed up and reset, in this order."""
    run.model = model = await check_model(client, run.address, options.model)
    shapes = SHAPES if options.prompts == "auto" else (options.prompts,)
    probe = PromptMaker(options.vocabulary).filler(0, _PROBE_TOKENS)
    found = await find_dialect(client, run.address, model, shapes, probe)
    run.dialect = dialect = found.dialect
    for sentence in before(found):
        say(sentence)
    vocabulary = options.vocabulary if dialect.prompts == "ids" else len(WORDS)
    maker = PromptMaker(vocabulary, known_ids_as_they_are=True)
    asker = Asker(client, dialect, model, RetryPolicy(options.retries))
    for turn in _warm_up(maker, options.warm_up):
        answer = await asker.ask(turn, WallClock(0))
        if answer.error is not None:
            raise BadInput(f"--warm-up: {run.address.base} {answer.error}")
    if options.reset_cache is not None:
        await reset_cache(client, run.address, options.reset_cache)
    return asker, maker


def with_texts(turns: Iterator[Turn], texts: KeptTexts) -> Iterator[Turn]:
    """The same with the prompts' texts. Blocks stand apart by an empty line, so that prompts that
    share blocks share text."""
    with texts:
        for turn in turns:
            blocks = texts.of(turn.job.request_id)
            yield turn if not blocks else replace(turn, text="\n\n".join(blocks))


def _warm_up(maker: PromptMaker, count: int) -> Iterator[Turn]:
    for number in range(1, count + 1):
        prompt = maker.filler(number, _WARM_UP_TOKENS)
        job = Job(f"warm-up {number}", number, 0, len(prompt), _WARM_UP_OUTPUT, [], 0)
        yield Turn(job, prompt, range(_WARM_UP_OUTPUT))
