"""Small runs with every figure written down, for places without ../shared.

They come from the slow server (tests/fleet_oracle.py), which gives vLLM's own figures on all golden
files; ours and the slow one must both give them here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from fleet_oracle import Key, SlowJob, SlowServer, serve_slowly
from fleet_runs import Setup, ask, ask_ids, linear, serve

from cachecast_datasets.request import Request

# hit tokens, hit tokens of each readmission, scheduled, first token and end in us
Row = tuple[int, list[int], int, int, int]


@dataclass(frozen=True, slots=True)
class Vector:
    """A step lasts 3 us and 1 us for each token. `keys(request)` for the slow server."""

    setup: Setup
    requests: list[Request]
    keys: Callable[[Request], list[Key]]
    rows: list[Row]
    steps: int
    evicted: int
    gaps_us: dict[int, int]


def by_tokens(request: Request) -> list[Key]:
    """Blocks of 4; the last output token has no K and V."""
    assert request.token_ids is not None
    tokens = request.token_ids.tolist()
    if request.output_token_ids is not None:
        tokens += request.output_token_ids.tolist()[:-1]
    return [tuple(tokens[: 4 * (number + 1)]) for number in range(len(tokens) // 4)]


def by_ids(request: Request) -> list[Key]:
    """Blocks of 4 inside ids of 8 tokens, as far as the prompt goes."""
    assert request.token_blocks is not None
    assert request.prompt_tokens is not None
    ids = request.token_blocks.tolist()
    return [(ids[number // 2], number % 2) for number in range(request.prompt_tokens // 4)]


def us(at: int) -> float:
    return at / 1000


SYSTEM = [1, 2, 3, 4, 5, 6, 7, 8]
TURN = [*SYSTEM, 11, 12]
NEXT = [*TURN, 21, 22, 23, 24, 25, 13, 14]
TURNS = [
    ask(us(0), TURN, [21, 22, 23, 24, 25]),
    ask(us(0), TURN, [21, 22, 23, 24, 25]),
    ask(us(4), [*SYSTEM, 31], [41, 42]),
    ask(us(30), NEXT, [26, 27, 28]),
    ask(us(30), [50, *NEXT], [61] * 9),
    ask(us(31), SYSTEM, [11, 12, 21]),
    ask(us(90), [*NEXT, 26, 27, 28, 15], [29]),
]
CROWD = [
    ask(us(0), [1] * 4, 9),
    ask(us(0), [2] * 6, 9),
    ask(us(1), [3] * 3, 10),
    ask(us(2), [1] * 7, 4),
    ask(us(40), [2] * 9, 2),
    ask(us(41), [4] * 21, 1),
]
IDS = [
    ask_ids(us(0), [7, 8, 9], 22, 8, 3),
    ask_ids(us(0), [7, 8, 9], 22, 8, 1),
    ask_ids(us(5), [7, 8, 10, 11], 30, 8, 6),
    ask_ids(us(6), [7], 8, 8, 12),
    ask_ids(us(60), [7, 8, 10, 11], 30, 8, 1),
    ask_ids(us(200), [7, 8, 9], 22, 8, 1),
]
VECTORS = {
    # By hand: 8 of the first's 10 tokens use up the budget of the first step (3 + 8 us). At 11 us
    # come its other 2, the second's 2 and the third's 1, which hit 8 each: 3 + 5 us. After decode
    # steps of 3 and of 2 requests, at 30 us, 13 tokens of the first are computed, so that the
    # fourth hits 12 and brings 5 tokens beside 2 decodes: 3 + 7 us.
    "turns": Vector(
        Setup(4, 9, 8, 3), TURNS, by_tokens,
        [
            (0, [], 0, 19, 46),
            (8, [], 11, 19, 46),
            (8, [], 11, 19, 25),
            (12, [], 30, 40, 50),
            (0, [], 50, 81, 115),
            (4, [], 72, 81, 91),
            (8, [], 115, 134, 134),
        ],
        steps=20, evicted=7, gaps_us={4: 7, 5: 6, 6: 6, 10: 2},
    ),
    "crowd": Vector(
        Setup(4, 5, 6, 4), CROWD, by_tokens,
        [
            (0, [], 0, 9, 52),
            (0, [8], 0, 18, 79),
            (0, [0, 4], 9, 25, 113),
            (0, [8], 79, 96, 121),
            (0, [], 121, 136, 140),
        ],
        steps=25, evicted=10,
        gaps_us={4: 11, 5: 7, 6: 3, 7: 2, 8: 1, 9: 1, 16: 1, 17: 1, 25: 1, 35: 1},
    ),
    "ids": Vector(
        Setup(4, 10, 16, 2), IDS, by_ids,
        [
            (0, [], 0, 30, 53),
            (20, [], 19, 30, 30),
            (16, [], 30, 48, 75),
            (4, [8], 53, 61, 113),
            (28, [], 75, 81, 81),
            (16, [], 200, 209, 209),
        ],
        steps=18, evicted=5, gaps_us={4: 9, 5: 5, 6: 1, 8: 1, 9: 1, 18: 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_our_server_gives_the_figures(name: str) -> None:
    vector = VECTORS[name]
    served = serve(vector.setup, lambda: linear(3, 1), vector.requests)
    rows = []
    for job in served.jobs:
        if job.status == "ok":
            times = (job.scheduled_ns, job.first_token_ns, job.end_ns)
            scheduled, first, end = (at // 1000 for at in times if at is not None)
            rows.append((job.hit_tokens, job.readmission_hit_tokens, scheduled, first, end))
    server = served.server
    assert rows == vector.rows
    assert (server.steps, server.pool.evicted_blocks) == (vector.steps, vector.evicted)
    assert server.gaps == {1000 * gap: count for gap, count in vector.gaps_us.items()}


@pytest.mark.parametrize("name", VECTORS)
def test_the_slow_server_gives_the_figures(name: str) -> None:
    vector, setup = VECTORS[name], VECTORS[name].setup
    server = SlowServer(
        setup.block_tokens, setup.usable_blocks, setup.max_batch_tokens, setup.max_seqs,
        linear(3, 1).step_ns,
    )  # fmt: skip
    jobs = [
        SlowJob(number, request.arrival_us * 1000, request.prompt_tokens or 0,
                request.output_tokens or 0, vector.keys(request))
        for number, request in enumerate(vector.requests)
    ]  # fmt: skip
    serve_slowly(server, jobs)
    rows = [
        (job.hit_tokens, job.readmission_hit_tokens, (job.scheduled_ns or 0) // 1000,
         job.token_ends_ns[0] // 1000, job.token_ends_ns[-1] // 1000)
        for job in jobs
        if job.status == "ok"
    ]  # fmt: skip
    assert rows == vector.rows
    assert (server.steps, len(server.pool.evicted)) == (vector.steps, vector.evicted)
    assert server.gaps == {1000 * gap: count for gap, count in vector.gaps_us.items()}


def test_a_request_too_large_for_the_pool_is_rejected_in_the_crowd() -> None:
    served = serve(VECTORS["crowd"].setup, lambda: linear(3, 1), CROWD)
    assert [job.status for job in served.jobs] == ["ok"] * 5 + ["rejected"]
