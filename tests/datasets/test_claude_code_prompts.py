"""Claude Code transcripts: the prompt of each request as blocks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_transcripts import answer, text, tokens, tool_result, tool_use, user

from cachecast_datasets.boundaries import content_boundaries
from cachecast_datasets.content import hashes_of
from cachecast_datasets.importing import ImportSummary
from cachecast_datasets.request import ContentBlock, Request
from cachecast_datasets.trace import Trace

Write = Callable[..., Path]
ImportAll = Callable[..., tuple[Trace, ImportSummary]]
Read = Callable[..., list[Request]]


@pytest.fixture
def read(write: Write, import_all: ImportAll) -> Read:
    """The requests of one transcript made of these lines."""

    def run(*lines: Any, name: str = "s1.jsonl") -> list[Request]:
        return list(import_all(write(*lines, name=name))[0])

    return run


def blocks(request: Request) -> list[ContentBlock]:
    assert request.blocks is not None
    return list(request.blocks)


def shape(request: Request) -> list[tuple[str, str, int, int]]:
    return [(b.section, b.kind, b.message, b.tokens) for b in blocks(request)]


CONVERSATION = [
    user(0, "u1", None, "q" * 80),
    answer(5, "a1", "u1", tokens(1_000, output=60), text("a" * 30), id="m1", stop=None),
    answer(6, "a2", "a1", tokens(1_000, output=60), tool_use("t1"), id="m1"),
    user(7, "u2", "a2", [tool_result("t1", "r" * 400)]),
    answer(9, "a3", "u2", tokens(5, 1_000, 200, 20), text("done"), id="m2"),
    user(20, "u3", "a3", [text("thanks")]),
    answer(22, "a4", "u3", tokens(5, 1_205, 30, 20), text("bye"), id="m3"),
]


def test_a_prompt_is_the_path_of_messages_to_it_and_its_blocks_sum_to_its_size(read: Read) -> None:
    first, second, third = read(*CONVERSATION)
    # 80 characters are 20 tokens, the other 980 were not seen
    assert shape(first) == [("system", "text", 0, 980), ("user", "text", 1, 20)]
    # 205 more tokens for the answer's two blocks and the result
    assert shape(second)[:2] == shape(first)
    assert [(section, kind, message) for section, kind, message, _ in shape(second)[2:]] == [
        ("assistant", "text", 2), ("assistant", "tool_use", 2), ("tool", "tool_result", 3),
    ]  # fmt: skip
    assert sum(b.tokens for b in blocks(second)) == second.prompt_tokens == 1_205
    assert shape(third)[:5] == shape(second)
    assert sum(b.tokens for b in blocks(third)) == third.prompt_tokens == 1_240
    assert [one.parent_request_id for one in (first, second, third)] == [
        None, "m1/req_1", "m2/req_1",
    ]  # fmt: skip


def test_a_block_has_the_hashes_of_its_content(read: Read) -> None:
    block = blocks(read(*CONVERSATION)[0])[1]
    assert block[5:8] == hashes_of("q" * 80)
    assert block.role == "user"


def test_each_block_ends_a_boundary_as_everywhere_else(read: Read) -> None:
    for one in read(*CONVERSATION):
        assert one.boundaries == content_boundaries(blocks(one))


def test_what_is_not_in_the_file_is_one_first_block_that_changes_with_the_client(
    read: Read,
) -> None:
    lines = [*CONVERSATION, user(30, "u4", "a4", "more"),
             answer(31, "a5", "u4", tokens(1_300), id="m4", version="2.1.158")]  # fmt: skip
    firsts = [blocks(one)[0] for one in read(*lines)]
    assert {block.label for block in firsts} == {"unseen system and tools"}
    assert firsts[0].hash == firsts[1].hash == firsts[2].hash != firsts[3].hash


def test_results_of_parallel_tool_calls_are_all_in_the_next_prompt(read: Read) -> None:
    """They are siblings in the tree: only the last of them is an ancestor of the next answer."""
    _, second = read(
        user(0, "u1", None, "hi"),
        answer(1, "a1", "u1", tokens(100), tool_use("t1"), stop=None),
        answer(2, "a2", "a1", tokens(100, output=9), tool_use("t2")),
        user(3, "r1", "a1", [tool_result("t1", "one")]),
        user(4, "r2", "a2", [tool_result("t2", "two")]),
        answer(6, "a3", "r2", tokens(150), text("done"), id="m2"),
    )
    kinds = [kind for _, kind, _, _ in shape(second)]
    assert kinds == ["text", "text", "tool_use", "tool_use", "tool_result", "tool_result"]
    assert second.arrival_uncertainty_s == 2.0  # since the later result


def test_after_an_edit_the_prompt_branches_off_and_the_old_branch_stays_as_it_was(
    read: Read,
) -> None:
    lines = [
        user(0, "u1", None, "hi"),
        answer(1, "a1", "u1", tokens(100), text("one"), id="m1"),
        user(2, "u2", "a1", "left"),
        answer(3, "a2", "u2", tokens(150), text("two"), id="m2"),
        user(4, "u3", "a1", "right"),  # the user went back and asked something else
        answer(5, "a3", "u3", tokens(160), text("three"), id="m3"),
    ]
    one, left, right = read(*lines)
    assert shape(left)[:3] == shape(right)[:3]
    assert shape(left)[:2] == shape(one)
    assert blocks(left)[3].hash != blocks(right)[3].hash
    assert (left.parent_request_id, right.parent_request_id) == ("m1/req_1", "m1/req_1")


def test_after_a_compaction_the_prompt_starts_anew_with_the_same_unseen_part(read: Read) -> None:
    lines = [
        *CONVERSATION,
        user(30, "c1", None, "s" * 400, isCompactSummary=True),
        answer(31, "a9", "c1", tokens(1_090), id="m9"),
    ]
    *_, last = read(*lines)
    assert shape(last) == [("system", "text", 0, 980), ("user", "text", 1, 110)]
    assert blocks(last)[0].hash == blocks(read(*lines)[0])[0].hash


def test_a_prompt_that_shrank_shares_its_tokens_out_anew(read: Read) -> None:
    lines = [*CONVERSATION[:5], user(20, "u3", "a3", "t"), answer(22, "a4", "u3", tokens(1_100))]
    *_, last = read(*lines)
    assert sum(b.tokens for b in blocks(last)) == 1_100
    assert len(blocks(last)) == 7


def test_a_parent_that_no_line_has_leaves_the_earlier_messages_unseen(read: Read) -> None:
    (one,) = read(user(0, "u1", "gone", "hi"), answer(1, "a1", "u1", tokens(500)))
    first, second = blocks(one)
    assert first.label == "unseen system, tools and earlier messages"
    assert (second.section, first.tokens + second.tokens) == ("user", 500)


def test_parents_in_a_circle_end_the_path(read: Read) -> None:
    one, two = read(
        user(0, "u1", "a2", "hi"),
        answer(1, "a1", "u1", tokens(500), text("one"), id="m1"),
        user(2, "u2", "a1", "again"),
        answer(3, "a2", "u2", tokens(600), text("two"), id="m2"),
    )
    assert [sum(b.tokens for b in blocks(request)) for request in (one, two)] == [500, 600]


def test_lines_in_any_order_give_the_same_prompts(read: Read) -> None:
    forwards = read(*CONVERSATION)
    backwards = read(*reversed(CONVERSATION), name="s2.jsonl")
    assert [shape(one)[:2] for one in forwards] == [shape(one)[:2] for one in backwards]
    assert [one.prompt_tokens for one in backwards] == [one.prompt_tokens for one in forwards]


def test_thinking_images_and_attachments_are_blocks_of_their_kind(read: Read) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                         "data": "iVBORw0KGgo" * 500}}  # fmt: skip
    attachment = {
        "type": "attachment", "uuid": "x1", "parentUuid": "u1", "sessionId": "s1",
        "attachment": {"type": "todo", "content": "buy milk"},
    }  # fmt: skip
    thinking = {"type": "thinking", "thinking": "", "signature": "Sig" * 50}
    first, second = read(
        user(0, "u1", None, [text("look"), image]),
        attachment,
        answer(2, "a1", "x1", tokens(4_000), thinking),
        user(3, "u2", "a1", "and?"),
        answer(4, "a2", "u2", tokens(4_050), id="m2"),
    )
    assert [kind for _, kind, _, _ in shape(first)] == ["text", "text", "image", "text"]
    assert blocks(first)[3].label == "attachment"
    assert blocks(first)[2].tokens == pytest.approx(1_500, abs=60)  # not by the size of its file
    assert [kind for _, kind, _, _ in shape(second)][4:] == ["thinking", "text"]


def test_another_image_is_another_block_even_when_masked(read: Read) -> None:
    def image(data: str) -> dict[str, Any]:
        return {"type": "image", "source": {"media_type": "image/png", "data": data * 100}}

    (one,) = read(
        user(0, "u1", None, [image("abcdefgh"), image("abcdefgi")]),
        answer(2, "a1", "u1", tokens(4_000)),
    )
    _, first, second = blocks(one)
    assert first.hash != second.hash
    assert first.masked_hash != second.masked_hash


def test_a_line_only_for_the_transcript_is_not_in_the_prompt(read: Read) -> None:
    (one,) = read(
        user(0, "u1", None, "hi"),
        user(1, "u2", "u1", "only shown", isVisibleInTranscriptOnly=True),
        answer(2, "a1", "u2", tokens(4_000)),
    )
    assert len(blocks(one)) == 2
