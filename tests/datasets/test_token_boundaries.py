"""Boundaries of logs that know only token blocks: examples, and a slow obvious oracle."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachecast_datasets import token_boundaries
from cachecast_datasets.boundaries import TokenBoundaryTracker
from cachecast_datasets.hashing import chain
from cachecast_datasets.request import Request

B = 64


def request(words: str, tokens: int | None = None, **more: Any) -> Request:
    """A request whose blocks are the chained letters of `words`, one letter a block."""
    hashes = []
    parent = 1
    for letter in words:
        parent = chain(parent, ord(letter))
        hashes.append(parent)
    more.setdefault("session_id", "s")
    return Request(
        request_id="r",
        arrival_us=0,
        token_block_size=B,
        token_blocks=np.array(hashes, dtype=np.uint64),
        prompt_tokens=B * len(words) if tokens is None else tokens,
        **more,
    )


def seen(*requests: Request) -> list[tuple[int, str, int | None]]:
    """(tokens, name, position) of the last request's boundaries."""
    tracker = TokenBoundaryTracker()
    for one in requests:
        result = tracker.boundaries(one)
    for tokens, value in zip(result.tokens, result.hashes, strict=True):
        assert requests[-1].token_blocks is not None
        assert value == requests[-1].token_blocks[-(-tokens // B) - 1]
    return list(zip(result.tokens, result.names, result.positions, strict=True))


def names(*requests: Request) -> list[tuple[int, str]]:
    return [(tokens, name) for tokens, name, _ in seen(*requests)]


def test_tools_and_system_are_rounded_down_to_whole_blocks() -> None:
    one = request("abcdefgh", tools_tokens=2 * B + 63, system_tokens=2 * B + 1)
    # system: floor((191 + 129) / 64) = 5
    assert names(one) == [(2 * B, "tools"), (5 * B, "system"), (8 * B, "end")]


@pytest.mark.parametrize(("tools", "expected"), [(B - 1, []), (B, [(B, "tools")])])
def test_a_boundary_of_0_tokens_does_not_exist(tools: int, expected: list[Any]) -> None:
    assert names(request("abc", tools_tokens=tools)) == [*expected, (3 * B, "end")]


@pytest.mark.parametrize(("system", "expected"), [(3 * B, []), (2 * B, [(2 * B, "system")])])
def test_a_boundary_beyond_the_blocks_does_not_exist(system: int, expected: list[Any]) -> None:
    # at 3 blocks it falls on the end, which is one boundary; at 4 it is beyond
    assert names(request("abc", system_tokens=system)) == [*expected, (3 * B, "end")]
    assert names(request("abc", system_tokens=4 * B)) == [(3 * B, "end")]


def test_equal_tools_and_system_boundaries_are_one() -> None:
    one = request("abc", tools_tokens=B, system_tokens=B - 1)
    assert names(one) == [(B, "system"), (3 * B, "end")]


def test_the_end_is_the_prompt_length_where_the_source_keeps_a_partial_block() -> None:
    assert names(request("abc", tokens=3 * B - 10)) == [(3 * B - 10, "end")]


def test_the_end_is_the_last_whole_block_where_the_source_drops_the_partial_one() -> None:
    assert names(request("abc", tokens=3 * B + 10)) == [(3 * B, "end")]


def test_a_prompt_without_whole_blocks_has_no_boundaries() -> None:
    assert seen(request("", tokens=B - 1)) == []


def test_earlier_ends_of_the_session_on_this_chain_are_turns() -> None:
    history = [request("ab"), request("abcd"), request("abcx")]
    assert names(*history, request("abcdef")) == [
        (2 * B, "turn"),
        (4 * B, "turn"),
        (6 * B, "end"),
    ]


def test_an_end_of_another_session_is_no_turn_but_its_blocks_are_shared() -> None:
    assert names(request("abc", session_id="other"), request("abcd")) == [
        (3 * B, "shared"),
        (4 * B, "end"),
    ]


def test_shared_is_the_longest_run_and_not_only_a_whole_prompt() -> None:
    assert names(request("abcx"), request("abcd")) == [(3 * B, "shared"), (4 * B, "end")]


def test_nothing_is_shared_between_two_accounts() -> None:
    first, second = request("abcx", account="a"), request("abcd", account="b")
    assert names(first, second) == [(4 * B, "end")]


def test_without_sessions_the_ends_of_the_whole_scope_are_turns() -> None:
    history = [request("ab", session_id=None), request("xy", session_id=None)]
    assert names(*history, request("abc", session_id=None)) == [(2 * B, "turn"), (3 * B, "end")]


@pytest.mark.parametrize(("count", "kept"), [(20, 20), (21, 20)])
def test_the_last_20_earlier_ends_are_kept(count: int, kept: int) -> None:
    words = "abcdefghijklmnopqrstuvwxyz"
    history = [request(words[: number + 1]) for number in range(count)]
    turns = [tokens for tokens, name in names(*history, request(words)) if name == "turn"]
    assert turns == [B * (number + 1) for number in range(count)][-kept:]


def test_ends_of_a_sub_agent_do_not_push_the_main_thread_out() -> None:
    history = [request("ab")] + [request("x" + "y" * number) for number in range(30)]
    assert (2 * B, "turn") in names(*history, request("abc"))


def test_a_first_request_counts_tools_system_and_its_own_content_blocks() -> None:
    one = request("abcd", tools_tokens=B, system_tokens=B, input_types=["text", "image"])
    assert seen(one) == [(B, "tools", 1), (2 * B, "system", 2), (4 * B, "end", 4)]


def test_a_turn_adds_the_answer_before_it_and_its_own_content_blocks() -> None:
    first = request("ab", input_types=["text"], output_types=["thinking", "tool_use"])
    second = request("abcd", input_types=["tool_result"], output_types=[])
    # 1, then 1 + 2 + 1 = 4, then at least 1 more
    assert seen(first, second) == [(2 * B, "turn", 1), (4 * B, "end", 4)]
    third = request("abcde", input_types=[], output_types=[])
    assert seen(first, second, third)[-1] == (5 * B, "end", 5)


def test_the_same_prompt_again_keeps_its_position() -> None:
    first = request("ab", input_types=["text"], output_types=["text"])
    second = request("abc", input_types=["text"], output_types=["text"])
    assert seen(first, second, second) == [(2 * B, "turn", 1), (3 * B, "end", 3)]


def test_a_longer_prefix_never_holds_fewer_content_blocks() -> None:
    long_way = [
        request(words, input_types=["text"], output_types=["text"]) for words in ("a", "ab", "abc")
    ]  # 1, 3 and 5 content blocks
    rewritten = request("abxy", input_types=["text"], output_types=["text"])
    assert seen(*long_way, rewritten)[-1] == (4 * B, "end", 5)
    fresh_start = request("abxyz", session_id="t", input_types=["text"], output_types=[])
    assert seen(*long_way, fresh_start) == [(2 * B, "shared", 1), (5 * B, "end", 1)]


@pytest.mark.parametrize("missing", ["input_types", "output_types"])
def test_positions_are_unknown_where_a_list_is_missing(missing: str) -> None:
    lists: dict[str, Any] = {"input_types": ["text"], "output_types": ["text"]}
    first = request("ab", **(lists | ({missing: None} if missing == "output_types" else {})))
    second = request("abc", **(lists | ({missing: None} if missing == "input_types" else {})))
    assert [position for _, _, position in seen(first, second)] == [None, None]


def test_a_shared_run_holds_what_the_boundary_before_it_holds() -> None:
    types: dict[str, Any] = {"input_types": ["text"], "output_types": ["text"], "tools_tokens": B}
    first, second = request("abcx", **types), request("abcd", **types)
    assert seen(first, second) == [(B, "tools", 1), (3 * B, "shared", 1), (4 * B, "end", 2)]


def test_old_blocks_are_forgotten_a_generation_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_boundaries, "SHARED_BLOCKS", 4)
    asked = request("abq", session_id="late")
    one_generation = [request("abcd"), request("efg")]
    two_generations = [request("abcd"), request("efgh"), request("ijkl")]
    assert (2 * B, "shared") in names(*one_generation, asked)
    assert names(*two_generations, asked) == [(3 * B, "end")]


WORDS = st.text(alphabet="ab", min_size=1, max_size=8)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(WORDS, st.sampled_from(["s", "t", None]), st.sampled_from(["x", None])),
        min_size=1,
        max_size=12,
    )
)
def test_the_tracker_agrees_with_comparing_each_pair_of_prompts(
    log: list[tuple[str, str | None, str | None]],
) -> None:
    tracker = TokenBoundaryTracker()
    for index, (words, session, account) in enumerate(log):
        result = tracker.boundaries(request(words, session_id=session, account=account))
        expected = {}
        scope = [earlier for earlier in log[:index] if earlier[2] == account]
        runs = [common(words, earlier) for earlier, _, _ in scope]
        if max(runs, default=0):
            expected[max(runs)] = "shared"
        expected |= {
            len(earlier): "turn"
            for earlier, its_session, _ in scope
            if its_session == session and words.startswith(earlier)
        }
        expected[len(words)] = "end"
        assert dict(zip(result.tokens, result.names, strict=True)) == {
            B * blocks: name for blocks, name in expected.items()
        }


def common(left: str, right: str) -> int:
    run = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        run += 1
    return run
