"""Queues whose waiting times are known from theory, through the same server code.

Confidence intervals are 99 % over batch means; seeds are fixed, so nothing here is ever flaky.
"""

from dataclasses import dataclass
from math import factorial, sqrt

import numpy as np
import numpy.typing as npt
from fleet_runs import MS, Served, Setup, ask_ids, linear, serve

from cachecast_datasets.request import Request
from cachecast_sim.fleet.job import Job
from cachecast_sim.fleet.vllm.server import VllmServer
from cachecast_sim.latency.model import LatencyModel
from cachecast_sim.latency.recorded import RecordedModel

Values = npt.NDArray[np.float64]
BATCHES = 30
T_99 = 2.756  # Student's t, 29 degrees of freedom, two-sided 99 %


@dataclass(frozen=True, slots=True)
class Interval:
    mean: float
    half: float

    def __contains__(self, value: float) -> bool:
        return abs(value - self.mean) <= self.half


def interval(values: Values) -> Interval:
    """Of the mean of a stationary series: without its first tenth, by batches of the rest."""
    kept = values[len(values) // 10 :]
    means = np.array([batch.mean() for batch in np.array_split(kept, BATCHES)])
    return Interval(float(means.mean()), T_99 * float(means.std(ddof=1)) / sqrt(BATCHES))


def arrivals_us(rng: np.random.Generator, mean_ms: float, count: int) -> npt.NDArray[np.int64]:
    gaps = rng.exponential(mean_ms * 1000, count)
    return np.cumsum(np.maximum(np.rint(gaps), 0)).astype(np.int64)


def requests_at(at_us: npt.NDArray[np.int64], outputs: npt.NDArray[np.int64]) -> list[Request]:
    """Prompts of one token that share nothing."""
    pairs = zip(at_us.tolist(), outputs.tolist(), strict=True)
    return [ask_ids(at / 1000, [], 1, 16, output) for at, output in pairs]


def queue(
    seats: int, latency: LatencyModel, requests: list[Request], blocks: int = 100_000
) -> tuple[Served, Values]:
    """The waits in ms of a server that takes `seats` requests at a time."""
    served = serve(Setup(16, blocks, 1024, seats), lambda: latency, requests)
    waits = [(job.scheduled_ns or 0) - job.arrival_ns for job in served.jobs]
    return served, np.array(waits) / MS


def ones(count: int) -> npt.NDArray[np.int64]:
    return np.ones(count, np.int64)


def test_m_d_1_poisson_arrivals_and_one_step_of_10_ms_each() -> None:
    """Wait = rho / (2 (1 - rho)) x 10 ms = 7.5 ms at rho = 0.6 (Pollaczek and Khinchine)."""
    count = 25_000
    at_us = arrivals_us(np.random.default_rng(1), 10 / 0.6, count)
    _, waits_ms = queue(1, linear(10_000, 0), requests_at(at_us, ones(count)))
    found = interval(waits_ms)
    assert 7.5 in found
    assert found.half < 0.15 * 7.5


def test_m_m_1_exponential_services() -> None:
    """Wait = rho / (1 - rho) x 10 ms = 15 ms at rho = 0.6, and 10 ms more with the service itself.
    Each service is one step."""
    count = 25_000
    rng = np.random.default_rng(2)
    at_us = arrivals_us(rng, 10 / 0.6, count)
    services_ns = np.maximum(np.rint(rng.exponential(10 * MS, count)), 1).astype(np.int64).tolist()
    latency = RecordedModel(services_ns, "drawn")
    served, waits_ms = queue(1, latency, requests_at(at_us, ones(count)))
    found = interval(waits_ms)
    assert 15.0 in found
    assert found.half < 0.15 * 15.0
    sojourns = [(job.end_ns or 0) - job.arrival_ns for job in served.jobs]
    assert 25.0 in interval(np.array(sojourns) / MS)


def test_one_server_one_seat_is_lindley_s_recursion_to_the_nanosecond() -> None:
    """wait(n+1) = max(0, wait(n) + service(n) - gap(n)), for a service of drawn steps of 1 us."""
    count = 10_000
    rng = np.random.default_rng(3)
    at_us = arrivals_us(rng, 0.125, count)
    outputs = rng.geometric(0.01, count).astype(np.int64)
    served, _ = queue(1, linear(1, 0), requests_at(at_us, outputs))
    wait_ns = 0
    for number, job in enumerate(served.jobs):
        assert job.scheduled_ns == job.arrival_ns + wait_ns
        assert job.end_ns == job.scheduled_ns + int(outputs[number]) * 1_000
        if number + 1 < count:
            gap_ns = served.jobs[number + 1].arrival_ns - job.arrival_ns
            wait_ns = max(0, wait_ns + int(outputs[number]) * 1_000 - gap_ns)


def test_m_g_1_services_are_the_decode_steps_of_geometric_answers() -> None:
    """Pollaczek and Khinchine: lambda E[S^2] / (2 (1 - rho)), E[S^2] = (2 - p) / p^2 steps^2.

    With p = 1/100 and steps of 0.1 ms: E[S^2] = 1.99 x 10,000 x 0.01 = 199 ms^2, and at rho = 0.6
    0.06 x 199 / 0.8 = 14.925 ms.
    """
    count = 25_000
    rng = np.random.default_rng(4)
    at_us = arrivals_us(rng, 10 / 0.6, count)
    outputs = rng.geometric(0.01, count).astype(np.int64)
    _, waits_ms = queue(1, linear(100, 0), requests_at(at_us, outputs))
    found = interval(waits_ms)
    assert 14.925 in found
    assert found.half < 0.15 * 14.925


def erlang_c(servers: int, load: float) -> float:
    """The share that waits in M/M/c; `load` = lambda / mu."""
    last = load**servers / factorial(servers) * servers / (servers - load)
    return last / (sum(load**k / factorial(k) for k in range(servers)) + last)


def test_m_m_c_three_seats_share_one_queue() -> None:
    """Wait = C(3, 1.8) / (3 mu - lambda) with mean services of 1 s and rho = 0.6: 295.6 ms.

    A service is a geometric number of 1 ms steps with mean 1,000, so nearly exponential; a seat is
    taken at a step's end, so those who find one free wait half a step on average, and no longer.
    """
    count = 25_000
    rng = np.random.default_rng(5)
    at_us = arrivals_us(rng, 1_000 / 1.8, count)
    outputs = rng.geometric(0.001, count).astype(np.int64)
    _, waits_ms = queue(3, linear(1_000, 0), requests_at(at_us, outputs))
    expected_ms = 1_000 * erlang_c(3, 1.8) / (3 - 1.8)
    found = interval(waits_ms)
    assert round(expected_ms, 1) == 295.6
    assert expected_ms + 0.5 in found
    assert found.half < 0.15 * expected_ms
    delayed = interval((waits_ms > 1.0).astype(float))
    assert abs(delayed.mean - erlang_c(3, 1.8)) <= delayed.half + 0.001


def test_little_s_law_holds_to_the_nanosecond() -> None:
    """The time integral of the number of requests in the server is the sum of their sojourns.

    The number is the server's own count, read at each arrival and each end.
    """
    rng = np.random.default_rng(6)
    count = 3_000
    at_us = arrivals_us(rng, 5, count)
    requests = requests_at(at_us, rng.geometric(0.05, count).astype(np.int64))
    area_ns = last_ns = present = 0

    def passed(server: VllmServer, now_ns: int) -> None:
        nonlocal area_ns, last_ns, present
        area_ns += present * (now_ns - last_ns)
        last_ns = now_ns

    def probe(server: VllmServer, job: Job, now_ns: int) -> None:
        nonlocal present
        passed(server, now_ns)
        assert present == server.jobs
        present += 1
        if job.index == 0:
            finished = server._on_finish

            def on_finish(job: Job, now_ns: int) -> None:
                nonlocal present
                passed(server, now_ns)
                present = server.jobs
                finished(job, now_ns)

            server._on_finish = on_finish

    setup = Setup(16, 40, 64, 8)
    served = serve(setup, lambda: linear(1_000, 50), requests, probe=probe)
    sojourns = [(job.end_ns or 0) - job.arrival_ns for job in served.jobs]
    assert area_ns == sum(sojourns)
    assert present == 0
    assert max(sojourns) > 2 * min(sojourns)
