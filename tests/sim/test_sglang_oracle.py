"""The SGLang server's stretches against a server that runs one step after the other."""

from fractions import Fraction

from hypothesis import event, given, settings
from hypothesis import strategies as st
from sim.sglang_jobs import Call, Linear, jobs_of, pages_of, serve
from sim.slow_sglang import SlowJob, SlowServer

from cachecast_sim.fleet.sglang.server import SglangServer
from cachecast_sim.fleet.sglang.settings import NewTokenRatio, SglangSettings

NONE_OF_IT = NewTokenRatio(Fraction(0), Fraction(0), 1)
RATIOS = (
    NewTokenRatio(),
    NewTokenRatio.all_of_it(),
    NewTokenRatio(Fraction(1, 10), Fraction(0), 7),
    NONE_OF_IT,
)
TOKEN = st.integers(0, 1)  # few different ones, so that prompts share much


@st.composite
def sessions(draw: st.DrawFn) -> list[Call]:
    """First and later turns; outputs known or not."""
    made: list[Call] = []
    at_us = 0
    for _ in range(draw(st.integers(2, 9))):
        at_us += draw(st.sampled_from([0, 0, 1, 2, 5, 30]))
        prompt = draw(st.lists(TOKEN, min_size=1, max_size=24))
        if draw(st.booleans()) and made:
            before = draw(st.sampled_from(made))
            answer = [] if isinstance(before.output, int) else list(before.output)
            prompt = [*before.prompt, *answer, *prompt[:4]]
        known = draw(st.lists(TOKEN, min_size=1, max_size=20))
        made.append(Call(at_us, prompt, known if draw(st.booleans()) else len(known)))
    return made


@st.composite
def storms(draw: st.DrawFn) -> list[Call]:
    """Short prompts with long outputs, one a few steps after the other."""
    made: list[Call] = []
    at_us = 0
    for _ in range(draw(st.integers(3, 8))):
        at_us += draw(st.integers(1, 4))
        prompt = draw(st.lists(TOKEN, min_size=1, max_size=6))
        made.append(Call(at_us, prompt, draw(st.integers(15, 60))))
    return made


@settings(max_examples=150)
@given(
    calls=sessions(), page=st.sampled_from([1, 1, 2, 4]), extra_pages=st.integers(0, 40),
    budget=st.integers(4, 40), seqs=st.integers(1, 6), ratio=st.sampled_from(RATIOS),
)  # fmt: skip
def test_a_stretch_of_steps_is_the_same_as_its_steps_one_by_one(
    calls: list[Call], page: int, extra_pages: int, budget: int, seqs: int, ratio: NewTokenRatio
) -> None:
    server = compare(calls, _largest(calls, page) + extra_pages, page, budget, seqs, ratio)

    event(f"evictions: {bool(server.cache.evicted_pages)}")


@settings(max_examples=150)
@given(
    calls=storms(), page=st.sampled_from([1, 1, 2, 4]), tenths=st.integers(11, 25),
    budget=st.integers(4, 40), ratio=st.sampled_from([NONE_OF_IT, *RATIOS]),
)  # fmt: skip
def test_a_stretch_ends_where_a_step_finds_no_page(
    calls: list[Call], page: int, tenths: int, budget: int, ratio: NewTokenRatio
) -> None:
    pages = _largest(calls, page) * tenths // 10
    server = compare(calls, pages, page, budget, 8, ratio)

    event(f"preemptions: {min(server.preemptions, 3)}")


def compare(
    calls: list[Call], pages: int, page: int, budget: int, seqs: int, ratio: NewTokenRatio
) -> SglangServer:
    """Serve `calls` both ways; everything that can be seen from outside must be equal."""
    jobs = jobs_of(calls, page)
    slow = [
        SlowJob(
            job.arrival_ns,
            job.prompt_tokens,
            job.output_tokens,
            pages_of(job.path, (job.prompt_tokens + job.output_tokens - 1) // page),
        )
        for job in jobs
    ]
    latency = Linear(context_per_ns=3)
    options = SglangSettings(pages * page, page, budget, seqs, new_token_ratio=ratio)
    three = (ratio.first, ratio.least, ratio.steps)

    server = serve(options, jobs, latency)
    oracle = SlowServer(pages, page, budget, seqs, three, latency.step_ns)
    oracle.serve(slow)

    for job, other in zip(jobs, slow, strict=True):
        assert [job.hit_tokens, *job.readmission_hit_tokens] == other.hits
        assert job.hit_tokens + sum(tokens for _, tokens in job.misses) == job.prompt_tokens
        assert job.preemptions == other.preempted
        assert job.scheduled_ns == other.scheduled
        assert (job.first_token_ns, job.end_ns) == (other.tokens_at[0], other.tokens_at[-1])
    assert server.gaps == _gaps(slow)
    assert (server.steps, server.preemptions) == (oracle.steps, sum(j.preempted for j in slow))
    assert server.cache.free_pages == oracle.cache.free
    assert server.cache.evicted_pages == oracle.cache.evicted
    return server


def _gaps(slow: list[SlowJob]) -> dict[int, int]:
    gaps: dict[int, int] = {}
    for job in slow:
        for before, after in zip(job.tokens_at, job.tokens_at[1:], strict=False):
            gaps[after - before] = gaps.get(after - before, 0) + 1
    return gaps


def _largest(calls: list[Call], page: int) -> int:
    """Pages that the largest request needs."""
    return max(-(-(len(call.prompt) + _count(call) - 1) // page) for call in calls)


def _count(call: Call) -> int:
    return call.output if isinstance(call.output, int) else len(call.output)
