"""A prompt cut into pieces: they sum to it, and those of each class to its usage."""

from hypothesis import given
from hypothesis import strategies as st
from rule_sketches import Line, line, rows

from cachecast_pricing.usage import PROMPT_CLASSES
from cachecast_sim.ledger import LedgerRow
from cachecast_sim.why.ribbon import NEVER_STORED, Piece, blocks_of, pieces_of

OPUS = "claude-opus-5"
SYSTEM = ["system", "S", 6000, "5m"]


def pieces(row: LedgerRow) -> list[Piece]:
    return pieces_of(row, blocks_of(row.request, row.usage.prompt_tokens))


def test_a_second_turn_is_read_then_written_and_its_tail_behind_the_marker_is_uncached() -> None:
    first = line(0, SYSTEM, ["user", "Q1", 200, "5m"])
    second = line(60, SYSTEM, ["user", "Q1", 200], ["user", "Q2", 300, "5m"], ["user", "Q3", 50])

    assert pieces(rows(OPUS, first, second)[1]) == [
        Piece(0, 6000, 0, "cache_read", None),
        Piece(6000, 6200, 1, "cache_read", None),
        Piece(6200, 6500, 2, "cache_write_5m", "new_content"),
        Piece(6500, 6550, 3, "uncached", "uncached_tail"),
    ]


def test_a_block_is_cut_where_its_class_changes() -> None:
    prompt = ["user", "Q", 3000]

    found = pieces(rows("gpt-5.4", line(0, prompt), line(60, prompt))[1])

    assert found == [  # units of 128 tokens: 23 × 128 = 2,944
        Piece(0, 2944, 0, "cache_read", None),
        Piece(2944, 3000, 0, "uncached", "block_rounding"),
    ]


def test_a_prompt_without_a_marker_is_uncached_as_a_whole() -> None:
    (row,) = rows(OPUS, line(0, ["system", "S", 6000], ["user", "Q", 10]))

    assert {(p.kind, p.reason) for p in pieces(row)} == {("uncached", "not_requested")}


def test_a_rejected_request_has_no_pieces() -> None:
    (row,) = rows(OPUS, line(0, SYSTEM, status="rejected"))

    assert pieces(row) == []


BLOCKS = st.lists(
    st.tuples(st.sampled_from("ABC"), st.sampled_from([None, "5m", "1h"])), min_size=1, max_size=6
)
SIZES = {"A": 700, "B": 1500, "C": 3000}


@given(st.lists(BLOCKS, min_size=1, max_size=5), st.sampled_from([OPUS, "gpt-5.4"]))
def test_the_pieces_of_any_log_cover_each_prompt_and_sum_to_its_classes_and_reasons(
    prompts: list[list[tuple[str, str | None]]], model: str
) -> None:
    log: list[Line] = [
        line(30 * n, *(["user", name, SIZES[name], marker] for name, marker in prompt))
        for n, prompt in enumerate(prompts)
    ]
    for row in rows(model, *log):
        found = pieces(row)
        by_kind = dict.fromkeys((*PROMPT_CLASSES, "uncached"), 0)
        by_reason: dict[str | None, int] = {}
        at = 0
        for piece in found:
            assert piece.start == at < piece.end
            at = piece.end
            by_kind[piece.kind] += piece.end - piece.start
            by_reason[piece.reason] = by_reason.get(piece.reason, 0) + piece.end - piece.start
            assert (piece.kind == "uncached") <= (piece.reason in NEVER_STORED)
        assert at == row.usage.prompt_tokens
        by_kind["fresh"] += by_kind.pop("uncached")
        assert by_kind == {name: getattr(row.usage, name) for name in PROMPT_CLASSES}
        assert by_reason.pop(None, 0) == row.usage.cache_read
        costs: dict[str, int] = {}
        for miss in row.misses:
            costs[miss.reason] = costs.get(miss.reason, 0) + miss.tokens
        assert by_reason == {reason: tokens for reason, tokens in costs.items() if tokens}
