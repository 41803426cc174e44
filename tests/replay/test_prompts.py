"""Tokens for a real engine: what the log shares is shared, and nothing else."""

from typing import Any

import numpy as np
import pytest

from cachecast_datasets.errors import BadInput
from cachecast_datasets.request import Boundaries, ContentBlock, Request
from cachecast_replay.prompts import PromptMaker

MAKER = PromptMaker(1000)


def hashed(blocks: list[int], tokens: int, **more: Any) -> Request:
    """A request that knows its blocks of four tokens."""
    return Request(
        "r", 0, token_block_size=4, token_blocks=np.array(blocks, dtype=np.uint64),
        prompt_tokens=tokens, **more,
    )  # fmt: skip


def test_equal_block_ids_give_equal_tokens_and_others_do_not() -> None:
    """Known fault 31: a trace without prompts is replayed with fixed tokens for each id."""
    first = MAKER.prompt(hashed([7, 8, 9], 12), 0)
    second = MAKER.prompt(hashed([7, 8, 5], 12), 1)
    assert len(first) == len(second) == 12
    assert first[:8] == second[:8]
    assert first[8:] != second[8:]


def estimated(*blocks: tuple[str, int]) -> Request:
    """A request that knows only its content blocks: (name, tokens)."""
    ends = [sum(tokens for _, tokens in blocks[: n + 1]) for n in range(len(blocks))]
    return Request(
        "r", 0, prompt_tokens=None,
        blocks=[ContentBlock("user", None, "text", n, size, ord(name))
                for n, (name, size) in enumerate(blocks)],
        boundaries=Boundaries(ends, [0] * len(ends), ["user"] * len(ends), [None] * len(ends)),
    )  # fmt: skip


def test_a_prompt_of_unknown_size_is_as_long_as_its_content_blocks() -> None:
    """As `simulate` takes it: here 5 and 7 tokens, of which the first block is shared."""
    first = MAKER.prompt(estimated(("A", 5), ("B", 7)), 0)
    second = MAKER.prompt(estimated(("A", 5), ("C", 7)), 1)
    assert len(first) == len(second) == 12
    assert first[:5] == second[:5]
    assert first[5:] != second[5:]


def test_an_id_of_64_bits_is_not_cut() -> None:
    small, large = MAKER.prompt(hashed([1], 4), 0), MAKER.prompt(hashed([1 + (1 << 32)], 4), 0)
    assert small != large


def test_a_partial_last_block_is_trimmed_to_the_prompt() -> None:
    whole, cut = MAKER.prompt(hashed([7, 8], 8), 0), MAKER.prompt(hashed([7, 8], 6), 0)
    assert cut == whole[:6]


def test_what_no_id_covers_is_the_requests_own() -> None:
    """Nine tokens, ids for eight: the ninth differs from request to request."""
    tails = {tuple(MAKER.prompt(hashed([7, 8], 30), n)[8:]) for n in range(5)}
    assert len(tails) == 5


def test_the_same_request_gets_the_same_tokens_every_time() -> None:
    request = hashed([7], 9, output_tokens=5)
    again = PromptMaker(1000)
    assert MAKER.prompt(request, 3) == again.prompt(request, 3)
    assert MAKER.output(request, 3) == again.output(request, 3)


def test_content_blocks_stand_for_their_tokens() -> None:
    blocks = [
        ContentBlock("system", None, "text", 0, 5, 11),
        ContentBlock("user", None, "text", 1, 3, 12),
    ]
    other = [blocks[0], blocks[1]._replace(hash=13)]
    first = MAKER.prompt(Request("a", 0, blocks=blocks, prompt_tokens=8), 0)
    second = MAKER.prompt(Request("b", 0, blocks=other, prompt_tokens=8), 1)
    assert first[:5] == second[:5]
    assert first[5:] != second[5:]


def test_the_logs_own_token_ids_are_taken_as_they_are() -> None:
    request = Request(
        "r", 0, token_ids=np.array([5, 6, 7], dtype=np.int32), prompt_tokens=3, output_tokens=2,
        output_token_ids=np.array([8, 9], dtype=np.int32),
    )  # fmt: skip
    assert MAKER.prompt(request, 0) == [5, 6, 7]
    assert MAKER.output(request, 0) == [8, 9]


@pytest.mark.parametrize(("vocabulary", "fits"), [(8, True), (7, False)])
def test_token_ids_beyond_the_vocabulary_are_refused(vocabulary: int, fits: bool) -> None:
    request = Request("r1", 0, token_ids=np.array([7], dtype=np.int32), prompt_tokens=1)
    if fits:
        assert PromptMaker(vocabulary).prompt(request, 0) == [7]
        return
    with pytest.raises(BadInput, match=r"request r1: token id 7, the engine's vocabulary has 7"):
        PromptMaker(vocabulary).prompt(request, 0)


def test_a_log_of_counts_is_refused() -> None:
    with pytest.raises(BadInput, match="expected a log that knows which prompts share what"):
        MAKER.prompt(Request("r", 0, prompt_tokens=9), 0)


def test_an_output_of_unknown_size_is_one_token() -> None:
    assert len(MAKER.output(hashed([1], 4), 0)) == 1
