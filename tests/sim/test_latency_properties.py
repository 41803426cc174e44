"""What holds for every latency model: whole nanoseconds, more work never faster, exact sums."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from latency_models import FITTED

from cachecast_sim.latency.catalog import hardware_named, model_shape
from cachecast_sim.latency.fitted import FittedModel
from cachecast_sim.latency.kinds import latency_of
from cachecast_sim.latency.model import LatencyModel
from cachecast_sim.latency.recorded import RecordedModel
from cachecast_sim.latency.roofline import Roof, RooflineModel

ROOFLINE = {"kind": "roofline", "hardware": "h200-sxm"}
MODELS: dict[str, LatencyModel] = {
    "linear": latency_of({"kind": "linear", "step_base_s": 0.01, "per_token_s": 0.00005}),
    "tiny linear": latency_of({"kind": "linear", "step_base_s": 0, "per_token_s": 3e-10}),
    "fixed": latency_of({"kind": "fixed", "prefill_step_s": 0.2, "decode_step_s": 0.02}),
    "fitted": FittedModel(FITTED, "f"),
    "dense": latency_of({**ROOFLINE, "model": "llama-3.1-8b"}),
    "experts": latency_of({**ROOFLINE, "model": "deepseek-v3", "tensor_parallel": 8}),
    "windows": latency_of({**ROOFLINE, "model": "gpt-oss-20b", "tensor_parallel": 2}),
}
models = st.sampled_from(list(MODELS))
counts = st.integers(0, 600)


@st.composite
def steps(draw: st.DrawFn) -> tuple[int, int, int, int, int]:
    """One step's counts: each prefill request computes some tokens after some cached ones."""
    prefills = draw(st.lists(st.tuples(st.integers(1, 4000), st.integers(0, 50_000)), max_size=4))
    decodes = draw(st.lists(st.integers(2, 50_000), max_size=20))
    pairs = sum(new * cached + new * (new + 1) // 2 for new, cached in prefills)
    return sum(new for new, _ in prefills), len(prefills), pairs, len(decodes), sum(decodes)


@given(models, steps(), st.tuples(*[counts] * 5))
def test_more_work_of_any_kind_is_never_faster(
    name: str, step: tuple[int, int, int, int, int], more: tuple[int, int, int, int, int]
) -> None:
    model = MODELS[name]
    before = model.step_ns(*step)
    after = model.step_ns(*(a + b for a, b in zip(step, more, strict=True)))

    assert isinstance(before, int)
    assert 1 <= before <= after


@given(models, st.integers(1, 300), st.integers(0, 500_000), st.integers(0, 60))
def test_a_stretch_ends_where_its_steps_one_by_one_end(
    name: str, requests: int, context: int, count: int
) -> None:
    model = MODELS[name]
    one_by_one, now = [], 0
    for step in range(count):
        now += model.step_ns(0, 0, 0, requests, context + requests * step)
        one_by_one.append(now)

    assert list(model.decode_ends_ns(requests, context, count)) == one_by_one


@given(
    models, st.integers(1, 9000), st.integers(0, 200_000), st.integers(0, 300),
    st.integers(0, 500_000), st.integers(1, 40),
)  # fmt: skip
def test_chunks_of_a_long_prompt_end_where_their_steps_one_by_one_end(
    name: str, chunk: int, computed: int, requests: int, context: int, count: int
) -> None:
    """A model that has to be asked for each step says so."""
    model = MODELS[name]
    one_by_one, now = [], 0
    for step in range(count):
        pairs = chunk * (computed + chunk * step) + chunk * (chunk + 1) // 2
        now += model.step_ns(chunk, 1, pairs, requests, context + requests * step)
        one_by_one.append(now)

    ends = model.chunk_ends_ns(chunk, computed, requests, context, count)
    assert (ends is None) == (name == "fitted")
    assert ends is None or list(ends) == one_by_one


@given(models, st.integers(1, 8000), st.data())
def test_more_hits_never_raise_the_first_tokens_time_on_an_idle_server(
    name: str, prompt: int, data: st.DataObject
) -> None:
    """The rest of the prompt in one step, or in chunks of 512 of which hits save the first ones.

    A hit inside a chunk moves all boundaries behind it: the tokens of the first chunk then attend
    to more, and a last chunk that only reads the weights is no cheaper for a token less (514 tokens
    with a hit of 1). That is so on a real server too.
    """
    chunk = data.draw(st.sampled_from([512, 10_000]))
    fewer = data.draw(st.integers(0, prompt - 1))
    if chunk < prompt:
        more = fewer + chunk * data.draw(st.integers(0, (prompt - 1 - fewer) // chunk))
    else:
        more = data.draw(st.integers(fewer, prompt - 1))

    def first_token_ns(hit: int) -> int:
        now = 0
        while hit < prompt:
            new = min(chunk, prompt - hit)
            now += MODELS[name].step_ns(new, 1, new * hit + new * (new + 1) // 2, 0, 0)
            hit += new
        return now

    assert first_token_ns(more) <= first_token_ns(fewer)


@pytest.mark.parametrize("model", ["llama-3.1-70b", "deepseek-v3", "gpt-oss-120b"])
@given(step=steps())
def test_more_gpus_never_compute_or_read_longer(
    model: str, step: tuple[int, int, int, int, int]
) -> None:
    """Without the sums between them, which cost more with every GPU."""
    hardware = hardware_named("h200-sxm")
    found = [RooflineModel(model_shape(model), hardware, Roof(ranks)) for ranks in (1, 2, 4, 8, 16)]
    tokens, decodes, context = step[0] + step[3], step[3], step[4]

    for fewer, more in pairwise(found):
        assert more.compute_ns(*step) <= fewer.compute_ns(*step)
        assert more.memory_ns(tokens, decodes, context) <= fewer.memory_ns(tokens, decodes, context)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=60), st.data())
def test_recorded_steps_add_up_however_they_are_cut(
    durations: list[int], data: st.DataObject
) -> None:
    """Single steps and stretches of which a part runs, to the last recorded nanosecond."""
    model = RecordedModel(durations, "run")
    now, left = 0, len(durations)
    while left:
        asked = data.draw(st.integers(1, left))
        if data.draw(st.booleans()):
            ran = data.draw(st.integers(0, asked))
            ends = model.decode_ends_ns(1, 1, asked)
            now += ends[ran - 1] if ran else 0
            model.taken(ran)
        else:
            ran = 1
            now += model.step_ns(1, 1, 1, 0, 0)
        left -= ran
        assert now == sum(durations[: len(durations) - left])

    assert model.assumptions() == ()


def test_the_same_questions_get_the_same_answers_to_the_nanosecond() -> None:
    """A second model of the same table; nothing remembered changes a duration."""
    table = {**ROOFLINE, "model": "deepseek-v3", "tensor_parallel": 8}
    one, two = latency_of(table), latency_of(table)
    one.decode_ends_ns(5, 100, 50)

    for step in ((100, 1, 5050, 7, 900), (0, 0, 0, 64, 64_000)):
        assert one.step_ns(*step) == two.step_ns(*step)
