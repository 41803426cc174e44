"""`cachecast replay --endpoint`: through a server, from the options to what is printed."""

import contextlib
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachecast.endpoint_options import EndpointOptions
from cachecast.endpoint_table import after, answers_json, print_answers
from cachecast.endpoint_writer import AnswerSink, answer_row
from cachecast.output import counted, notes, print_json, print_json_line
from cachecast.progress import progress
from cachecast.replay_output import ReplayOutput, open_log
from cachecast.results import RunWriter
from cachecast.results.writer import hash_inputs
from cachecast.saving_chart import Point
from cachecast_datasets.errors import BadInput
from cachecast_replay.endpoint.answers import Answer, AnswerTotals
from cachecast_replay.machine import machine_name

if TYPE_CHECKING:  # it needs httpx, which may not be there
    from cachecast.endpoint_replaying import EndpointRun


def replay_endpoint(
    logs: tuple[Path, ...],
    options: EndpointOptions,
    speed_up: float,
    wanted: ReplayOutput,
) -> None:
    """The whole command. BadInput for what is wrong with the server or the log."""
    if find_spec("httpx") is None:
        raise BadInput("--endpoint needs httpx: pip install 'cachecast[endpoint]'")
    from cachecast.endpoint_replaying import EndpointRun, open_address, replay_through

    run = EndpointRun(open_address(options))
    totals, answers, points = AnswerTotals(), list[Answer](), list[Point]()
    partial = False
    with contextlib.ExitStack() as stack:
        tmp = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cachecast-")))
        report = stack.enter_context(progress())
        writer = None
        if wanted.out is not None:  # before the work: the place may be taken
            writer = stack.enter_context(RunWriter(wanted.out, wanted.force))
        trace = open_log(logs, tmp, report)
        sink = None if writer is None else AnswerSink(writer, run.address.base)

        def on_answer(answer: Answer) -> None:
            totals.add(answer)
            report("replaying", totals.requests, trace.rows)
            if sink is not None:
                sink(answer)
            if wanted.per_request:
                answers.append(answer)
            if wanted.chart is not None and (point := _point(answer)) is not None:
                points.append(point)

        try:
            replay_through(run, options, trace, speed_up, on_answer, _note)
        except KeyboardInterrupt:
            partial = True
        if not totals.requests:
            raise BadInput("interrupted before a request had ended: nothing was written")
        if not totals.completed:
            raise BadInput(
                f"none of {counted(totals.requests, 'request')} was answered; the first: "
                f"{run.address.base} {totals.first_error}"
            )
        meta = _meta(run, options, speed_up, partial, hash_inputs(logs))
        if writer is not None and sink is not None:
            sink.flush()
            writer.finish({**meta, "fleet": answers_json(totals)})
    wanted.draw(points, f"{run.model} at {run.address.base}")
    if wanted.per_request:
        for answer in sorted(answers, key=lambda answer: answer.index):
            print_json_line(answer_row(answer))
    elif wanted.as_json:
        print_json({**meta, **answers_json(totals)})
    else:
        print_answers(totals, run.address.base, run.model or "")
    for sentence in after(totals):
        _note(sentence)
    wanted.say_done(totals.requests, partial)


def _point(answer: Answer) -> Point | None:
    """For the chart, if all of it is known."""
    first, prompt, hit = answer.first_token_ns, answer.prompt_tokens, answer.hit_tokens
    if answer.error is not None or first is None or prompt is None or hit is None:
        return None
    return Point(prompt, hit, (first - answer.arrival_ns) / 1e9)


def _note(sentence: str) -> None:
    notes.print(sentence, markup=False)  # a server's words may look like markup


def _meta(
    run: "EndpointRun", options: EndpointOptions, speed_up: float, partial: bool, input_hash: str
) -> dict[str, Any]:
    """What `run.json` says of how it was measured; the key's variable is named, never its value."""
    dialect = run.dialect
    assert dialect is not None, "a request was answered in some dialect"
    return {
        "command": "replay",
        "input_hash": input_hash,
        "engine": run.address.base,
        "model": run.model,
        "clock": "real",
        "speed_up": speed_up,
        "normalised": False,
        "partial": partial,
        "machine": machine_name(),
        "prompts": dialect.prompts,
        "kept_texts": run.kept_texts,
        "ignore_eos": dialect.ignore_eos,
        "loop": options.loop,
        "concurrency": options.concurrency,
        "retries_allowed": options.retries,
        "timeout_s": options.timeout_s,
        "warm_up": options.warm_up,
        "reset_cache": options.reset_cache,
    }
