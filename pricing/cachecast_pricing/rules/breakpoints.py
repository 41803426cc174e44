"""OpenAI's breakpoints (GPT-5.6 and later): which are written and which are looked up.

Source: developers.openai.com prompt caching guide, 2026-10-02.
"""

from dataclasses import dataclass

from cachecast_datasets.request import ContentBlock
from cachecast_pricing.rules.markers import ANTHROPIC_MARKERS, OPENAI_MARKERS
from cachecast_pricing.rules.prompt import Prompt, system_end

WRITES = 4  # implicit mode spends one of them on the implicit breakpoint
EARLIER_ENDINGS = 20


@dataclass(frozen=True, slots=True)
class Breakpoints:
    """`writes`: (index, ttl) of the boundaries to write; `look_ups`: indices, ascending."""

    writes: tuple[tuple[int, str], ...] = ()
    look_ups: tuple[int, ...] = ()
    rejected: str | None = None


def breakpoints(
    prompt: Prompt, policy: str, ttl: str | None, lookup: tuple[int, int]
) -> Breakpoints:
    """The breakpoints of a request under a mark policy; `ttl` replaces every lifetime."""
    explicit, mode, rejected = _asked(prompt, policy)
    if rejected is not None:
        return Breakpoints(rejected=rejected)
    default = ttl or prompt.request.settings.get("prompt_cache_options.ttl") or "30m"
    if default not in ("30m", "12h"):
        return Breakpoints(rejected=f"prompt_cache_options.ttl {default!r} is not offered")
    lives = {i: ttl or (marker if marker in ("30m", "12h") else default) for i, marker in explicit}
    order = [i for i, _ in explicit]
    first, latest = lookup
    looked = set(order[:first]) | set(order[-latest:])
    if mode == "explicit":
        written = order[-WRITES:]
    else:
        endings = message_endings(prompt)
        written = sorted({*order[-(WRITES - 1) :], *endings[-1:]})
        looked |= set(endings[-(EARLIER_ENDINGS + 1) :])
        initial = system_end(prompt)
        if initial is not None and prompt.names[initial] != "tools":
            looked.add(initial)
    writes = tuple((i, lives.get(i, default)) for i in written)
    return Breakpoints(writes, tuple(sorted(looked)))


def _asked(prompt: Prompt, policy: str) -> tuple[list[tuple[int, str]], str, str | None]:
    """Explicit breakpoints, the mode, and why the provider would refuse."""
    if policy == "none":
        return [], "explicit", None
    if policy in ("auto", "last"):
        return [], "implicit", None
    if policy == "system+last":
        initial = system_end(prompt)
        if initial is None or prompt.names[initial] == "tools":
            return [], "implicit", None
        return [(initial, "breakpoint")], "implicit", None
    explicit: list[tuple[int, str]] = []
    for i, block in enumerate(prompt.blocks or []):
        marker = block.marker
        if policy == "translate" and marker in ANTHROPIC_MARKERS:
            marker = "breakpoint" if holds_breakpoint(block) else None
        if marker in OPENAI_MARKERS:
            if not holds_breakpoint(block):
                return [], "implicit", f"breakpoint on a {block.kind} block in {block.section}"
            explicit.append((i, marker))
    mode = prompt.request.cache_mode or prompt.request.settings.get("prompt_cache_options.mode")
    # `none` says that nothing is automatic; a breakpoint that stands there is asked for
    return explicit, "explicit" if mode in ("explicit", "none") else "implicit", None


def holds_breakpoint(block: ContentBlock) -> bool:
    """Text, images, documents and tool results may carry one; tools and the model's calls not."""
    return block.section != "tools" and block.kind not in ("thinking", "tool_use")


def message_endings(prompt: Prompt) -> list[int]:
    """Indices where eligible messages end, ascending.

    Eligible: user messages, the last tool response of a consecutive group, the last developer
    message of the initial developer group. On logs that know only token blocks the ends of this
    and of earlier requests stand for them.
    """
    if prompt.blocks is None:
        return [i for i, name in enumerate(prompt.names) if name in ("turn", "end")]
    endings = []
    blocks = prompt.blocks
    initial = system_end(prompt)
    for i, block in enumerate(blocks):
        after = blocks[i + 1] if i + 1 < len(blocks) else None
        ends = after is None or after.message != block.message or after.section != block.section
        if block.section == "user":
            eligible = ends
        elif block.section == "tool":
            eligible = after is None or after.section != "tool"
        else:
            eligible = i == initial and block.section != "tools"
        if eligible:
            endings.append(i)
    return endings
