"""Small random sketches in which prefixes, lifetimes and first tokens collide often."""

from typing import Any

from hypothesis import strategies as st
from rule_sketches import Item, Line, line

Step = list[Item]


def says(section: str, name: str, tokens: int) -> Step:
    return [(section, name, tokens)]


def calls(name: str) -> Step:
    """Two tool calls and their results: two look-back positions of two blocks each."""
    use, result = {"kind": "tool_use"}, {"kind": "tool_result"}
    return [
        ("assistant", f"{name}use0", 40, None, use),
        ("assistant", f"{name}use1", 50, None, use | {"join": True}),
        ("user", f"{name}result0", 60, None, result),
        ("user", f"{name}result1", 70, None, result | {"join": True}),
    ]


SYSTEM, DEVELOPER = says("system", "S", 600), says("developer", "D", 1300)
# a request holds the first steps of one of these: equal ones share a prefix
CONVERSATIONS: list[list[Step]] = [
    [SYSTEM, says("user", "U0", 100), says("assistant", "A0", 300), says("user", "U1", 1100),
     calls("x"), says("user", "U2", 90), says("assistant", "A1", 80)],
    [SYSTEM, says("user", "U0", 100), calls("x"), calls("y"), says("user", "U1", 1100)],
    [SYSTEM, says("user", "U0", 100), says("system", "note", 120), says("user", "U1", 1100)],
    [SYSTEM, says("user", "U3", 110), says("assistant", "A0", 300), says("user", "U1", 1100)],
    [DEVELOPER, says("developer", "D2", 200), says("user", "U0", 100), says("assistant", "A0", 300),
     says("user", "U1", 1100), says("user", "U2", 90)],
]  # fmt: skip
GAPS = [0, 1, 1, 2, 20, 20, 280, 299, 300, 300.000001, 3600]
UNKNOWN = -1  # a first token that the log does not tell
FIRST_TOKENS = [0, 0, 0, 1, 1, 20, 310]

prompts = st.builds(
    lambda steps, length: [item for step in steps[:length] for item in step],
    st.sampled_from(CONVERSATIONS),
    st.integers(1, 7),
)


def mostly(common: Any, *rare: Any) -> st.SearchStrategy[Any]:
    """`common` four times in five."""
    return st.integers(0, 4).flatmap(lambda n: st.just(common) if n < 4 else st.sampled_from(rare))


def marked(prompt: list[Item], markers: dict[int, str]) -> list[Item]:
    """The prompt with markers at these indexes, never inside a run of tool blocks."""
    found: list[Item] = []
    for n, (section, name, tokens, *rest) in enumerate(prompt):
        mark = None if name.endswith(("use0", "result0")) else markers.get(n)
        found.append((section, name, tokens, mark, *rest[1:]))
    return found


@st.composite
def sketches(
    draw: st.DrawFn,
    markers: tuple[str, ...] = ("5m", "1h"),
    gaps: tuple[float, ...] = tuple(GAPS),
    first_tokens: tuple[Any, ...] = tuple(FIRST_TOKENS),
    most: int = 10,
) -> list[Line]:
    """A log of up to `most` requests; a first token of None never comes."""
    lines, at = [], 0.0
    for _ in range(draw(st.integers(1, most))):
        prompt = draw(prompts)
        places = draw(
            st.dictionaries(st.integers(0, len(prompt) - 1), st.sampled_from(markers), max_size=4)
        )
        if draw(mostly(True, False)):
            places[len(prompt) - 1] = draw(st.sampled_from(markers))
        keys: dict[str, Any] = {
            "account": draw(mostly("a", "b")),
            "model": draw(mostly("claude-opus-5", "claude-opus-4.8")),
            "session": draw(st.sampled_from(["s", "t", None])),
            "ttft": draw(st.sampled_from(first_tokens)),
        }
        choice = draw(mostly(None, "auto", "any"))
        if choice is not None:
            keys["settings"] = {"tool_choice": choice}
        entry = line(round(at, 6), *marked(prompt, places), **keys)
        if entry["ttft"] == UNKNOWN:
            del entry["ttft"]
        lines.append(entry)
        at += draw(st.sampled_from(gaps))
    return lines
