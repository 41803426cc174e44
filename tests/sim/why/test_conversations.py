"""Calls beside a conversation and steps back in it are no breaks."""

from rule_sketches import line
from why_sketches import asked, why

OPUS = "claude-opus-5"
SYS = ("system", "sys", 6000, "5m")
TITLE = ("system", "title rules", 3000, "5m")


def end(name: str, tokens: int = 200) -> tuple[str, str, int, str]:
    return ("user", name, tokens, "5m")


def test_a_call_with_another_prompt_that_the_conversation_ignores_is_auxiliary() -> None:
    lines = [
        line(0, ("tools", "T", 500), SYS, end("Q1")),
        line(5, TITLE, end("name this")),
        line(20, ("tools", "T", 500), SYS, ("user", "Q1", 200), ("assistant", "A1", 90), end("Q2")),
    ]
    found = asked(OPUS, lines)
    cause = next(f for row, f in found.rows if row.request.request_id == "2")
    assert (cause.cause, cause.breaks) == ("auxiliary_call", False)
    assert found.rollup.causes["auxiliary_call"].breaks == 0


def test_without_a_request_behind_it_such_a_call_is_left_open_and_not_counted() -> None:
    lines = [line(0, ("tools", "T", 500), SYS, end("Q1")), line(5, TITLE, end("name this"))]
    _, finding = why(OPUS, *lines)["2"]
    assert finding.cause is None
    assert finding.candidates == ("auxiliary_call", "tools_changed")
    assert not finding.breaks


def test_the_request_behind_a_call_is_compared_with_the_conversation_and_not_with_the_call() -> (
    None
):
    lines = [
        line(0, SYS, end("Q1")),
        line(5, TITLE, end("name this")),
        line(400, SYS, ("user", "Q1", 200), ("assistant", "A1", 90), end("Q2")),
    ]
    _, finding = why(OPUS, *lines)["3"]
    assert (finding.cause, finding.compared_with) == ("ttl_expired", "1")
    assert [d.cause for d in finding.also] == []


def test_a_step_back_to_an_earlier_turn_is_a_rewind_and_no_break() -> None:
    turn = [SYS, ("user", "Q1", 200), ("assistant", "A1", 900)]
    further = line(9, *turn, ("user", "Q2", 200), ("assistant", "A2", 80), end("Q3"))
    back = line(20, *turn, end("another question"))
    _, finding = why(OPUS, line(0, *turn, end("Q2")), back)["2"]
    assert (finding.cause, finding.breaks) == ("rewind", False)
    # over more than a turn it can be a summary as well, as far as hashes tell
    _, finding = why(OPUS, further, back)["2"]
    assert (finding.cause, finding.breaks) == (None, False)
    assert finding.candidates == ("history_summarised", "rewind")


def test_a_question_that_differs_at_the_end_is_no_difference_beside_a_real_one() -> None:
    lines = [
        line(0, ("system", "a", 3000, "5m"), end("Q1")),
        line(10, ("system", "b", 3000, None, {"masked": "x"}), end("Q2")),
    ]
    _, finding = why(OPUS, *lines)["2"]
    assert finding.place is not None
    assert finding.place.section == "system"
    assert finding.also == ()
