"""Prompts that share their blocks are written like prompts that do not."""

from hypothesis import given
from hypothesis import strategies as st

from cachecast_datasets.block_path import BlockPath, Part, PathPrefix
from cachecast_datasets.boundaries import content_boundaries
from cachecast_datasets.decode import requests_of
from cachecast_datasets.encode import batch_of
from cachecast_datasets.readers.prompt_growth import Answer, PromptGrowth
from cachecast_datasets.request import Request

PARTS = st.builds(
    Part,
    section=st.sampled_from(["system", "user", "assistant", "tool"]),
    role=st.sampled_from(["user", "assistant"]),
    kind=st.just("text"),
    weight=st.integers(0, 500),
    hash=st.integers(0, 2**64 - 1),
    canonical_hash=st.integers(0, 2**64 - 1) | st.none(),
    masked_hash=st.none(),
    label=st.sampled_from([None, "Bash"]),
)
LEAD = Part("system", None, "text", 0, 7, 7, 7, "unseen")


@given(st.lists(st.tuples(PARTS, st.integers(0, 10**6)), max_size=12), st.data())
def test_a_prefix_of_a_path_is_written_and_read_like_a_list_of_its_blocks(
    blocks: list[tuple[Part, int]], data: st.DataObject
) -> None:
    path = BlockPath()
    path.extend([part for part, _ in blocks], [tokens for _, tokens in blocks])
    lengths = data.draw(st.lists(st.integers(0, len(blocks)) | st.none(), min_size=1, max_size=5))
    shared = [
        Request(f"r{i}", i, blocks=None if n is None else PathPrefix(path, n))
        for i, n in enumerate(lengths)
    ]
    plain = [
        Request(
            one.request_id,
            one.arrival_us,
            blocks=None if one.blocks is None else list(one.blocks),
            boundaries=None if one.blocks is None else content_boundaries(one.blocks),
        )
        for one in shared
    ]
    assert batch_of(shared).equals(batch_of(plain))
    mixed = batch_of([*shared, *(one for one in plain if one.blocks is not None)])
    for read, one in zip(requests_of(mixed), plain, strict=False):
        assert (read.blocks, read.boundaries) == (one.blocks, one.boundaries)


@given(st.lists(st.tuples(st.lists(PARTS, max_size=3), st.integers(0, 3_000)), min_size=1))
def test_the_blocks_of_every_prompt_sum_to_its_size(
    steps: list[tuple[list[Part], int]],
) -> None:
    growth = PromptGrowth()
    (parts, total), *later = steps
    prompts = [growth.first(LEAD, parts, total)]
    for parts, total in later:
        answer = Answer(parts[:1], 50)
        prompts.append(growth.next(prompts[-1], LEAD, answer, parts[1:], total))
    for prompt, (_, total) in zip(prompts, steps, strict=True):
        assert sum(block.tokens for block in prompt.blocks) == total
        assert min(block.tokens for block in prompt.blocks) >= 0


def test_two_prompts_that_go_on_from_one_share_what_they_have_in_common() -> None:
    growth = PromptGrowth()
    part = Part("user", "user", "text", 40, 1, 1, 1)
    first = growth.first(LEAD, [part], 100)
    left = growth.next(first, LEAD, Answer([part], 20), [part._replace(hash=2)], 150)
    right = growth.next(first, LEAD, Answer([part], 20), [part._replace(hash=3)], 180)
    assert [block.tokens for block in left.blocks] == [90, 10, 20, 30]
    assert [block.tokens for block in right.blocks] == [90, 10, 20, 60]
    assert first.path is left.path is not right.path
