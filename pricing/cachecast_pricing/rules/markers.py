"""Where a request asks for caching: the log's own markers, or a policy that stands in for them."""

from typing import NamedTuple

from cachecast_datasets.request import ContentBlock, Request
from cachecast_pricing.rules.prompt import Prompt, plain, system_end

ANTHROPIC_MARKERS = ("5m", "1h")
OPENAI_MARKERS = ("breakpoint", "30m", "12h")
MOST_MARKERS = 4

# what a result says of its markers
MARK_NOTES = {
    "log": "markers as the log has them (mark=log)",
    "auto": "markers after the tools and system text and at the end (mark=auto), "
    "which the log itself cannot show",
    "last": "one marker at the end (mark=last)",
    "system+last": "markers after the tools and system text and at the end (mark=system+last)",
    "none": "no markers (mark=none)",
    "translate": "markers as the log has them, other providers' translated (mark=translate)",
}


class Marks(NamedTuple):
    """Marked positions `(index, ttl)`, ascending; `rejected` is why the provider would refuse."""

    at: tuple[tuple[int, str], ...] = ()
    rejected: str | None = None


def holds_marker(block: ContentBlock) -> bool:
    """Whether a marker may stand on this block (Anthropic: not on thinking or empty text)."""
    return block.kind != "thinking" and block.tokens > 0


def anthropic_marks(
    prompt: Prompt, policy: str, ttl: str | None, asked: Marks | None = None
) -> Marks:
    """The markers of a request under Anthropic's rules and limits, the API's own included.

    `policy` is one of the mark policies, `ttl` replaces every marker's own; `asked` stands in for
    the policy where it names places. Sources: Anthropic's
    prompt caching page, 2026-08-22 and newer edition.
    """
    refused = prewarm_refusal(prompt.request)
    if refused is not None:
        return Marks(rejected=refused)
    marks = _asked_for(prompt, policy, ttl) if asked is None else asked
    return _with_server_tools(prompt, marks) if marks.at and prompt.blocks else marks


def prewarm_refusal(request: Request) -> str | None:
    """Why a prewarm (max_tokens 0) is refused; None for every other request."""
    settings = request.settings
    if settings.get("prewarm") != "true":
        return None
    against = {
        "stream": settings.get("stream") == "true",
        "thinking": plain(settings.get("thinking", "disabled")) != "disabled",
        "output_config.format": "output_config.format" in settings,
        "tool_choice": plain(settings.get("tool_choice", "auto")) not in ("auto", "none"),
        "batch": bool(request.is_batch),
    }
    found = [name for name, set_so in against.items() if set_so]
    return f"prewarm together with {', '.join(found)}" if found else None


def _with_server_tools(prompt: Prompt, marks: Marks) -> Marks:
    """With caching on, the API itself marks the last server-tool result for five minutes.

    That marker is not one of the caller's four and may stand before a 1h one.
    """
    at = server_tool_result(prompt)
    if at is None or at in dict(marks.at):
        return marks
    return Marks(tuple(sorted([*marks.at, (at, "5m")])))


def server_tool_result(prompt: Prompt) -> int | None:
    """Index of the last result of a tool that the provider runs itself; None if there is none."""
    results = [i for i, b in enumerate(prompt.blocks or ()) if b.kind == "server_tool_result"]
    return results[-1] if results else None


def _asked_for(prompt: Prompt, policy: str, ttl: str | None) -> Marks:
    if policy in ("log", "translate"):
        return _from_log(prompt, policy == "translate", ttl)
    if policy == "none":
        return Marks()
    last, life = last_holder(prompt), ttl or "5m"
    system = None if policy == "last" else system_end(prompt)
    if last is None:
        return Marks()
    if system is None or system >= last:
        return Marks(((last, life),))
    return Marks(((system, life), (last, life)))


def last_holder(prompt: Prompt) -> int | None:
    """Index of the last position that can hold a marker; None if there is none."""
    last = len(prompt.tokens) - 1
    if prompt.blocks is None:
        return last if last >= 0 else None
    for i in range(last, -1, -1):
        if holds_marker(prompt.blocks[i]):
            return i
    return None


def _from_log(prompt: Prompt, translate: bool, ttl: str | None) -> Marks:
    blocks = prompt.blocks or []
    explicit = [
        (i, ttl or block.marker)
        for i, block in enumerate(blocks)
        if block.marker is not None and block.marker in ANTHROPIC_MARKERS
    ]
    if any(not holds_marker(blocks[i]) for i, _ in explicit):
        return Marks(rejected="marker on a thinking or empty block")
    mode = prompt.request.cache_mode
    if translate and not explicit:
        return _translated(prompt, ttl, implicit=mode == "implicit")
    if mode in ("auto", "auto:5m", "auto:1h"):
        return _with_automatic(prompt, explicit, ttl or ("1h" if mode == "auto:1h" else "5m"))
    return _checked(explicit)


def _translated(prompt: Prompt, ttl: str | None, implicit: bool) -> Marks:
    """OpenAI's latest breakpoints as markers, within Anthropic's limits; 12h becomes 1h.

    Only what OpenAI would write is translated: the latest three and the implicit one, or four.
    """
    found = [
        (i, ttl or ("1h" if block.marker == "12h" else "5m"))
        for i, block in enumerate(prompt.blocks or ())
        if block.marker in OPENAI_MARKERS and holds_marker(block)
    ]
    marks = dict(found[-(MOST_MARKERS - 1) :] if implicit else found[-MOST_MARKERS:])
    last = last_holder(prompt)
    if implicit and last is not None:
        marks.setdefault(last, ttl or "5m")
    lifted, life = [], "5m"
    for i, own in sorted(marks.items(), reverse=True):  # a 1h marker lifts those before it
        life = "1h" if "1h" in (own, life) else "5m"
        lifted.append((i, life))
    return Marks(tuple(reversed(lifted)))


def _with_automatic(prompt: Prompt, explicit: list[tuple[int, str]], ttl: str) -> Marks:
    """Automatic mode: one more marker, on the last block that can hold one."""
    last = last_holder(prompt)
    if last is None:
        return _checked(explicit)
    there = [t for i, t in explicit if i == last]
    if there:
        if there[0] != ttl:
            return Marks(rejected=f"automatic {ttl} marker on a block with a {there[0]} marker")
        return _checked(explicit)
    if len(explicit) >= MOST_MARKERS:
        return Marks(rejected=f"automatic marker beside {len(explicit)} explicit ones")
    return _checked(sorted([*explicit, (last, ttl)]))


def _checked(marks: list[tuple[int, str]]) -> Marks:
    if len(marks) > MOST_MARKERS:
        return Marks(rejected=f"too_many_markers: {len(marks)}, at most {MOST_MARKERS}")
    ttls = [ttl for _, ttl in marks]
    if "5m" in ttls and "1h" in ttls[ttls.index("5m") :]:
        return Marks(rejected="1h marker after a 5m marker")
    return Marks(tuple(marks))
