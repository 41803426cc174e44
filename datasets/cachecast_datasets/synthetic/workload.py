"""The parameters of a synthetic log, and the defaults of each kind."""

from dataclasses import dataclass

# Fields that are faults, in the order in which the sessions of a log take turns with them.
FAULTS = ("clock_in_system", "shuffle_tools", "pause_s", "edit_system", "add_tool")


@dataclass(frozen=True, slots=True)
class Workload:
    """What a kind of traffic looks like. Sizes are means, in tokens.

    `rate_per_hour` sessions start in an hour (Poisson), `burst` of them at the same moment. A
    session has `turns` of a person, `think_s` apart; a turn is `steps` requests, and all but its
    last end in `parallel` tool calls. `sharing` is the share of sessions with the common tools,
    system text and document; the others have their own, equally large. `vary` = 0 makes every
    size, count and pause its mean; 1 spreads sizes and counts evenly from 0 to twice the mean and
    pauses exponentially.

    With `title_model` each session first asks that model for a title, in a short request of its
    own. Where a history is longer than `compact_tokens` (0: never) when a turn starts, the model
    is asked to sum it up, and its summary takes the history's place.

    Faults: a clock in the system text, shuffled tools, one pause of `pause_s`, an edited system
    text, an added tool. A session has at most one (`fault_of`).
    """

    rate_per_hour: float
    turns: int
    think_s: float
    steps: int
    parallel: int
    sharing: float
    tools: int
    tool_tokens: int
    system_tokens: int
    document_tokens: int
    ask_tokens: int
    answer_tokens: int
    result_tokens: int
    marker: str | None = "5m"
    is_batch: bool = False
    vary: float = 0.5
    model: str = "claude-opus-5"
    burst: int = 1
    compact_tokens: int = 0
    title_model: str | None = None
    clock_in_system: bool = False
    shuffle_tools: bool = False
    pause_s: float = 0.0
    edit_system: bool = False
    add_tool: bool = False

    def fault_of(self, session: int) -> str | None:
        """The fault of a session, by its number from 1: a name of FAULTS, or None.

        The sessions take turns: the first has none, the second the first fault that is on, and so
        on; after the last one it starts again with none.
        """
        on = [name for name in FAULTS if getattr(self, name)]
        return (None, *on)[(session - 1) % (len(on) + 1)]


KINDS: dict[str, Workload] = {
    "coding-agent": Workload(
        rate_per_hour=6, turns=5, think_s=45, steps=4, parallel=1, sharing=1, tools=12,
        tool_tokens=400, system_tokens=6000, document_tokens=0, ask_tokens=300, answer_tokens=250,
        result_tokens=900,
    ),
    "chat": Workload(
        rate_per_hour=30, turns=5, think_s=60, steps=1, parallel=0, sharing=1, tools=0,
        tool_tokens=0, system_tokens=1200, document_tokens=0, ask_tokens=120, answer_tokens=350,
        result_tokens=0,
    ),
    "documents": Workload(
        rate_per_hour=12, turns=4, think_s=90, steps=1, parallel=0, sharing=0.5, tools=0,
        tool_tokens=0, system_tokens=800, document_tokens=20_000, ask_tokens=80, answer_tokens=300,
        result_tokens=0,
    ),
    "batch": Workload(
        rate_per_hour=3600, turns=1, think_s=0, steps=1, parallel=0, sharing=1, tools=0,
        tool_tokens=0, system_tokens=4000, document_tokens=0, ask_tokens=500, answer_tokens=200,
        result_tokens=0, marker="1h", is_batch=True,
    ),
    "tool-heavy": Workload(
        rate_per_hour=10, turns=3, think_s=40, steps=3, parallel=3, sharing=1, tools=60,
        tool_tokens=250, system_tokens=2000, document_tokens=0, ask_tokens=200, answer_tokens=150,
        result_tokens=2500,
    ),
}  # fmt: skip
