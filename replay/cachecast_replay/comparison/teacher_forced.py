"""The measured schedule with other durations: predicted ones judge the step model alone."""

import numpy as np

from cachecast_replay.comparison.errors import Errors, errors
from cachecast_replay.comparison.runs import Floats, Ints, Requests, Steps
from cachecast_sim.latency.model import LatencyModel


def predicted_durations(steps: Steps, model: LatencyModel) -> Ints:
    """What a new model says of each measured step."""
    held = 0
    model.watch(lambda ahead: held)
    found = []
    for row in steps.work.tolist():
        *counts, held = row
        found.append(model.step_ns(*counts))
    return np.array(found, dtype=np.int64)


def teacher_forced(
    requests: Requests, steps: Steps, predicted_ns: Ints
) -> tuple[Errors | None, Errors | None]:
    """(TTFT, ITL) errors of the predicted durations."""
    ttft, itl = retimed(requests, steps, predicted_ns)
    return errors(ttft, requests.ttft_ns), errors(itl, requests.itl_ns)


def retimed(requests: Requests, steps: Steps, durations_ns: Ints) -> tuple[Floats, Floats]:
    """(TTFT, ITL) in ns if the same steps took these durations. A request that arrived while a
    step ran waits for the measured rest of it; everything after is retimed, as no schedule changes
    by it."""
    ends = steps.start_ns + steps.duration_ns
    sums = np.concatenate([[0], np.cumsum(durations_ns)])
    # the step that runs at the arrival, else the one that begins then
    running = np.searchsorted(ends, requests.arrival_ns, side="right")
    first = np.searchsorted(ends, requests.first_token_ns, side="left")
    last = np.searchsorted(ends, requests.end_ns, side="left")
    inside = steps.start_ns[np.minimum(running, len(ends) - 1)] < requests.arrival_ns
    rest = np.where(inside, ends[np.minimum(running, len(ends) - 1)] - requests.arrival_ns, 0)
    ttft = rest + sums[first + 1] - sums[running + inside]
    gaps = requests.output_tokens - 1
    itl: Floats = np.divide(
        (sums[last + 1] - sums[first + 1]).astype(np.float64), gaps,
        out=np.full(len(gaps), np.nan), where=gaps > 0,
    )  # fmt: skip
    return ttft.astype(np.float64), itl


def raw_durations(steps: Steps) -> Ints | None:
    """The wall's own durations, all brought to the probe's scale by one factor for the whole run,
    the median's: the drift within the run stays. None where nothing was measured."""
    if steps.raw_ns is None:
        return None
    scale = np.median(steps.duration_ns / steps.raw_ns)
    found: Ints = np.round(steps.raw_ns * scale).astype(np.int64)
    return found
