"""The logs that a real server is asked with, and the step model of its answers."""

import pytest

from cachecast_replay.server_logs import agent_log, longest_tokens, sizes_log, step_model


def test_the_made_log_is_the_same_every_time_and_its_sessions_grow() -> None:
    rows = agent_log(sessions=3, turns=4)
    assert rows == agent_log(sessions=3, turns=4)
    assert len(rows) == 12
    prompts = [row["prompt_token_ids"] for row in rows]
    assert len({tuple(prompt[:650]) for prompt in prompts}) == 1
    assert len({tuple(prompt[:670]) for prompt in prompts}) == 3
    for number, prompt in enumerate(prompts[3:], 3):
        before = prompts[number // 3 * 3 - 3 : number // 3 * 3]
        assert any(prompt[: len(one)] == one for one in before)
    assert [row["arrival"] for row in rows] == sorted(row["arrival"] for row in rows)


def test_the_prompts_that_are_timed_share_nothing() -> None:
    rows = sizes_log(2048)
    sizes = sorted(len(row["prompt_token_ids"]) for row in rows)
    assert (sizes[0], sizes[-1], len(sizes)) == (32, 2048, 24)
    assert len({tuple(row["prompt_token_ids"][:32]) for row in rows}) == 24


def test_the_longest_request_counts_with_its_answer() -> None:
    sizes = ((6, 1), (3, 5))  # prompt and answer
    rows = [{"prompt_token_ids": [1] * size, "output_len": more} for size, more in sizes]
    assert longest_tokens(rows) == 8


def test_the_step_model_is_the_slope_of_ttft_and_the_decode_step() -> None:
    """TTFT = 50 ms + 1 ms a token, one outlier; a decode step of 11 ms computes one token."""
    rows = [
        {"prompt_tokens": size, "ttft_s": 0.050 + 0.001 * size, "itl_s": 0.011}
        for size in (100, 200, 400)
        for _ in range(3)
    ]
    rows[0]["ttft_s"] = 9.0
    base_s, per_token_s = step_model(rows)
    assert (base_s, per_token_s) == pytest.approx((0.010, 0.001))
