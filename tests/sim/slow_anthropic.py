"""Anthropic's matcher as the fact sheet's pseudo-code has it: a list of entries, scanned."""

from dataclasses import dataclass, field
from typing import Any

from rule_sketches import Line

LIFE_S = {"5m": 300, "1h": 3600}
MINIMUM = 512  # Opus 5
Key = tuple[Any, ...]


@dataclass
class Entry:
    """A stored prefix; alive while now <= expiry."""

    key: Key
    ttl: str
    expiry: int


@dataclass
class Position:
    """The end of a look-back position: how long the prefix is, and its key."""

    tokens: int
    key: Key
    ttl: str | None


@dataclass
class SlowAnthropic:
    """One cache. `usages` of a sketch: (read, 1h write, 5m write, fresh), None if refused."""

    lookback: int = 20
    entries: list[Entry] = field(default_factory=list)

    def usages(self, lines: list[Line]) -> list[tuple[int, ...] | None]:
        found: list[tuple[int, ...] | None] = []
        pending: list[tuple[int, int, Any]] = []
        for number, entry in enumerate(lines):
            now = microseconds(entry["at"])
            due = sorted(p for p in pending if p[0] <= now)
            pending = [p for p in pending if p[0] > now]
            for when, _, start in due:
                self.start(when, *start)
            marks, hit, usage = self.look_up(entry, now)
            found.append(usage)
            if usage is not None and entry["ttft"] is not None:
                starts = now + microseconds(entry["ttft"])
                pending.append((starts, number, (now, marks, hit)))
        return found

    def look_up(self, entry: Line, now: int) -> tuple[list[Position], Entry | None, Any]:
        places = positions(entry)
        marks = [p for p in places if p.ttl is not None]
        ttls = [p.ttl for p in marks]
        if len(marks) > 4 or ("5m" in ttls and "1h" in ttls[ttls.index("5m") :]):
            return [], None, None
        hit, read = None, 0
        for mark in reversed(marks):
            last = places.index(mark)
            for place in reversed(places[max(0, last - self.lookback + 1) : last + 1]):
                hit = self.live(place.key, now)
                if hit is not None:
                    read = place.tokens
                    break
            if hit is not None:
                break
        ok = [p for p in marks if p.tokens >= MINIMUM]
        long = max([p.tokens for p in ok if p.ttl == "1h" and p.tokens > read], default=read)
        end = max([read, *(p.tokens for p in ok)])
        total = sum(item[2] for item in entry["prompt"])
        return ok, hit, (read, long - read, end - long, total - end)

    def start(self, when: int, arrived: int, marks: list[Position], hit: Entry | None) -> None:
        for mark in marks:
            assert mark.ttl is not None
            there = self.live(mark.key, when)
            if there is None:
                self.entries.append(Entry(mark.key, mark.ttl, arrived + life(mark.ttl)))
            else:
                there.expiry = max(there.expiry, arrived + life(there.ttl))
        if hit is not None:
            hit.expiry = max(hit.expiry, arrived + life(hit.ttl))

    def live(self, key: Key, now: int) -> Entry | None:
        alive = [e for e in self.entries if e.key == key and now <= e.expiry]
        return alive[0] if alive else None


def positions(entry: Line) -> list[Position]:
    """One a content block; a run of tool_use or of tool_result blocks is one."""
    found: list[Position] = []
    tokens, blocks, before, in_messages = 0, [], "text", False
    choice = entry.get("settings", {}).get("tool_choice", "auto")
    for section, name, size, marker, *options in entry["prompt"]:
        tokens += size
        blocks.append((section, name))
        kind = options[0].get("kind", "text") if options and options[0] else "text"
        in_messages = in_messages or section not in ("tools", "system", "developer")
        key = (entry["account"], entry["model"], *blocks, choice if in_messages else "auto")
        if kind == before and kind in ("tool_use", "tool_result"):
            found.pop()
        found.append(Position(tokens, key, marker))
        before = kind
    return found


def life(ttl: str) -> int:
    return LIFE_S[ttl] * 10**6


def microseconds(seconds: float) -> int:
    return round(seconds * 10**6)
