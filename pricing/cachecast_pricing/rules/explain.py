"""Why the tokens behind the hit were not read: segments in the order of design §5."""

from collections.abc import Sequence
from typing import Any

from cachecast_datasets.request import Request
from cachecast_pricing.rules.divergence import Divergence, diverge
from cachecast_pricing.rules.memory import Entry, Memory, Scope
from cachecast_pricing.rules.prompt import Prompt, active_settings, any_image
from cachecast_pricing.rules.reasons import HARMLESS, NO_EVIDENCE, RANK, Explanation, Segment

Found = tuple[int, str, dict[str, Any]]  # (end in tokens, reason, evidence)

# An earlier request with one of these reasons left no entry for what it held.
_STORED_NOTHING = ("not_requested", "below_minimum")

# Without content blocks a change inside the messages cannot be told apart.
_IN_MESSAGES = ("volatile_value", "media_changed", "message_edited", "history_rewritten")


class Explainer:
    """Collects segments from the hit upwards; every token gets exactly one reason."""

    def __init__(self, prompt: Prompt, read: int, limit: int) -> None:
        self.prompt = prompt
        self.at = read
        self.limit = max(limit, read)
        self.segments: list[Segment] = []
        self.candidates: tuple[str, ...] = ()
        self.evidence: dict[str, Any] = {}
        self.earlier: Request | None = None

    def cover(self, end: int, reason: str, **evidence: Any) -> None:
        """Everything from where the last segment ended up to `end` tokens is for `reason`."""
        end = min(end, self.limit)
        if end > self.at:
            self.segments.append(Segment(self.at, end, reason))
            self.evidence.update(evidence)
            self.at = end

    def finish(self, rest: str) -> Explanation:
        """The remaining prompt up to the limit is for `rest`, what stands behind it is tail."""
        self.cover(self.limit, rest)
        total = self.prompt.total
        if total > self.limit:
            tail = "uncached_tail" if self.prompt.blocks is not None else "block_rounding"
            self.segments.append(Segment(self.limit, total, tail))
        named = [s.reason for s in self.segments if s.reason not in HARMLESS]
        reason = min(named, key=RANK.__getitem__) if named else None
        evidence = self.evidence or NO_EVIDENCE
        return Explanation(tuple(self.segments), reason, self.candidates, evidence, self.earlier)


def held_index(prompt: Prompt, scope: Scope) -> int:
    """Index after the longest position that an earlier request of the scope held (0: none)."""
    held = scope.held
    hashes = prompt.hashes
    for i in range(len(hashes) - 1, -1, -1):
        if hashes[i] in held:
            return i + 1
    return 0


def held_tokens(prompt: Prompt, known: int) -> int:
    """Tokens of the longest prefix that an earlier request held, given `held_index`."""
    length = prompt.tokens[known - 1] if known else 0
    if prompt.blocks is None and "shared" in prompt.names:
        # the import found this run in an earlier prompt; it ends inside that prompt
        return max(length, prompt.tokens[prompt.names.index("shared")])
    return length


def explain(
    memory: Memory,
    scope: Scope,
    prompt: Prompt,
    *,
    read: int,
    limit: int,
    known: int,
    look_ups: Sequence[int],
    now_us: int,
    found: Sequence[Found] = (),
    minimum: int = 0,
) -> Explanation:
    """The explanation of a request that asked for caching up to `limit` tokens and read `read`.

    `look_ups` are the indices of the positions that could have been read had an entry been within
    reach, ascending. `found` is what the family itself knows of, in order. A shared prefix below
    `minimum` tokens could not have been stored, whoever had asked. Call it before the request
    itself is remembered.
    """
    held = held_tokens(prompt, known)
    if read and read >= held and not found and _continues(memory, scope, prompt, known):
        return only_new(prompt, read, limit)
    work = Explainer(prompt, read, limit)
    held = min(held, work.limit)
    for end, reason, seen in found:
        work.cover(end, reason, **seen)
    if work.at < work.limit:
        _stored_here(work, scope, look_ups, now_us)
        _stored_elsewhere(work, memory, scope, look_ups, now_us)
    shared = held > 0 or read > 0
    if work.at < work.limit and (held > work.at or prompt.blocks is not None):
        never = "not_requested" if held >= minimum else "below_minimum"
        _parted(work, memory, scope, known, held, never)
    if work.at < held:
        work.cover(held, "unknown", note="an earlier request held this, but stored no entry here")
    return work.finish("new_content" if shared or work.segments else "cold_start")


def _continues(memory: Memory, scope: Scope, prompt: Prompt, known: int) -> bool:
    """Nothing behind the read part was ever held here or stored elsewhere: the usual next turn."""
    written_in = memory.written_in
    for key in prompt.keys[known:]:
        if written_in.get(key) not in (None, scope):
            return False
    if prompt.blocks is None:
        return True
    nearest = memory.last_of_session(scope, prompt.request)
    return nearest is not None and _extends(prompt, nearest.request)


def only_new(prompt: Prompt, read: int, limit: int) -> Explanation:
    """Everything that was there before was read; the rest is new, and the tail behind it."""
    total = prompt.total
    tail = "block_rounding" if prompt.blocks is None else "uncached_tail"
    if limit <= read:
        return Explanation((Segment(read, total, tail),) if total > read else (), None)
    new = Segment(read, limit, "new_content")
    return Explanation((new, Segment(limit, total, tail)) if total > limit else (new,), None)


def _stored_here(work: Explainer, scope: Scope, look_ups: Sequence[int], now_us: int) -> None:
    """Item 4: an entry for this very prefix is or was there; each stretch in the list's order."""
    prompt = work.prompt
    longest: dict[str, tuple[int, Entry]] = {}
    for i in reversed(look_ups):
        tokens = prompt.tokens[i]
        if tokens <= work.at:
            break
        entry = scope.entries.get(prompt.keys[i])
        if entry is not None:
            reason = "lookback_exceeded" if entry.alive(now_us) else entry.absence(now_us)
            longest.setdefault(reason, (tokens, entry))
    for reason in sorted(longest, key=RANK.__getitem__):
        tokens, entry = longest[reason]
        found: dict[str, Any] = {"entry_tokens": tokens}
        if reason == "ttl_expired":
            found["expired_s_ago"] = (now_us - entry.expiry_us) / 1e6
        work.cover(tokens, reason, **found)


def _stored_elsewhere(
    work: Explainer, memory: Memory, scope: Scope, look_ups: Sequence[int], now_us: int
) -> None:
    """Item 5: the same prefix is stored for another model, account or host."""
    prompt = work.prompt
    for i in reversed(look_ups):
        if prompt.tokens[i] <= work.at:
            return
        other = memory.written_in.get(prompt.keys[i])
        if other is None or other is scope:
            continue
        entry = other.entries.get(prompt.keys[i])
        if entry is None or not entry.alive(now_us):
            continue
        reason = which_scope_part(scope, other)
        work.cover(prompt.tokens[i], reason, stored_in=[str(part) for part in other.key])
        return


def which_scope_part(ours: Scope, other: Scope) -> str:
    """The first part of the scope that differs, in the order of the list of reasons."""
    if ours.key[1] != other.key[1]:
        return "model_changed"
    if ours.key[0] != other.key[0]:
        return "account_changed"
    return "host_changed"


def _parted(
    work: Explainer, memory: Memory, scope: Scope, known: int, held: int, never: str
) -> None:
    """Item 7: the first divergence from the nearest earlier request; `never`: nobody asked."""
    prompt = work.prompt
    if prompt.blocks is None:
        _parted_in_token_blocks(work, held)
        return
    earlier = memory.last_of_session(scope, prompt.request)
    same_session = earlier is not None and prompt.request.session_id is not None
    if not same_session and known:
        earlier = memory.holder(scope, prompt.hashes[known - 1])
    nearest = None if earlier is None else earlier.request
    theirs = None if nearest is None else nearest.blocks
    if earlier is None or nearest is None or theirs is None:
        return
    work.earlier = nearest
    part = None
    if not _extends(prompt, nearest):
        part = diverge(prompt.blocks, prompt.tokens, theirs, work.limit, same_session)
    changed = changed_settings(prompt, nearest)
    if changed and held and (part is None or _settings_start(prompt, changed) <= part.start):
        end = held if part is None else max(held, part.end)
        work.cover(
            end, "settings_changed", settings=sorted(changed), compared_with=nearest.request_id
        )
    elif prompt.has_image is not None and prompt.has_image != any_image(theirs):
        end = held if part is None else max(held, part.end)
        work.cover(end, "media_changed", compared_with=nearest.request_id)
    elif part is not None:
        _cover_divergence(work, part, held, nearest, never)
    elif earlier.reason in _STORED_NOTHING:
        work.cover(held, earlier.reason, compared_with=nearest.request_id)
    else:
        note = "no earlier request asked for an entry at any boundary that was looked up"
        work.cover(held, never, compared_with=nearest.request_id, note=note)


def _extends(prompt: Prompt, nearest: Request) -> bool:
    """The earlier prompt is a prefix of ours."""
    theirs = nearest.boundaries
    if theirs is None or not theirs.hashes:
        return False
    n = len(theirs.hashes)
    return n <= len(prompt.hashes) and prompt.hashes[n - 1] == theirs.hashes[-1]


def _settings_start(prompt: Prompt, changed: set[str]) -> int:
    """Tokens before the first position that any of the changed settings reaches."""
    levels = {s.level for s in prompt.key_settings if s.name in changed}
    return min(prompt.level_start(level) for level in levels)


def _cover_divergence(
    work: Explainer, part: Divergence, held: int, nearest: Request, never: str
) -> None:
    """The reason of the divergence; another conversation behind a shared prefix is none."""
    session = work.prompt.request.session_id
    other = None not in (session, nearest.session_id) and session != nearest.session_id
    if other and part.end <= part.start:
        note = "no entry was asked for at the end of the prefix that both conversations share"
        work.cover(held, never, compared_with=nearest.request_id, note=note)
    work.cover(
        max(part.end, held), part.reason, compared_with=nearest.request_id,
        **part.evidence,
    )  # fmt: skip


def changed_settings(prompt: Prompt, nearest: Request) -> set[str]:
    """Names of key settings that differ from the earlier request's."""
    key_settings = prompt.key_settings
    theirs = active_settings(nearest, key_settings)
    names = set(prompt.settings) | set(theirs)
    return {name for name in names if prompt.settings.get(name) != theirs.get(name)}


def _parted_in_token_blocks(work: Explainer, held: int) -> None:
    """Token blocks tell where a prompt parts from an earlier one, and only sometimes in what."""
    request = work.prompt.request
    size = request.token_block_size or 1
    tools, system = request.tools_tokens, request.system_tokens
    if tools is not None and held + size <= tools:
        work.cover(held, "tools_changed", diverged_at_tokens=held)
    elif (
        tools is not None and system is not None and tools <= held and held + size <= tools + system
    ):
        work.cover(held, "system_changed", diverged_at_tokens=held)
    elif held > work.at:
        work.candidates = _IN_MESSAGES
        work.cover(held, "unknown", diverged_at_tokens=held)
