"""OpenAI's matcher (5.6 and later) as the fact sheet's pseudo-code has it, scanned linearly."""

from dataclasses import dataclass, field
from typing import Any

from rule_sketches import Line

MINIMUM, LIFE_US = 1024, 1800 * 10**6
Key = tuple[Any, ...]
Place = tuple[int, Key]  # visible tokens, key


@dataclass
class SlowOpenAI:
    """One cache. `usages` of a sketch: (read, written, fresh)."""

    expiries: list[tuple[Key, int]] = field(default_factory=list)

    def usages(self, lines: list[Line]) -> list[tuple[int, int, int]]:
        found = []
        pending: list[tuple[int, int, list[Key]]] = []
        for entry in lines:
            now = round(entry["at"] * 10**6)
            for _, arrived, keys in sorted(p for p in pending if p[0] <= now):
                self.expiries += [(key, arrived + LIFE_US) for key in keys]
            pending = [p for p in pending if p[0] > now]
            usage, keys = self.look_up(entry, now)
            found.append(usage)
            if entry["ttft"] is not None:
                pending.append((now + round(entry["ttft"] * 10**6), now, keys))
        return found

    def look_up(self, entry: Line, now: int) -> tuple[tuple[int, int, int], list[Key]]:
        if any(marker(item) and kind(item) in ("tool_use", "thinking") for item in entry["prompt"]):
            return (0, 0, 0), []  # a breakpoint on a wrong block: 400
        places = prefixes(entry)
        explicit = [places[n] for n, item in enumerate(entry["prompt"]) if marker(item)]
        looked_up = explicit[:2] + explicit[-50:]
        written = explicit[-4:]
        if entry.get("cache") != "explicit":
            endings = [places[n] for n in eligible(entry)]
            looked_up += endings[-21:]  # the implicit one and up to 20 earlier ones
            looked_up += [places[n] for n in initial_developer(entry)[-1:]]
            written = endings[-1:] + explicit[-3:]
        hits = [place for place in looked_up if self.live(place[1], now)]
        hit = max(hits, default=None)
        written = [place for place in written if place[0] >= MINIMUM]
        cached = hit[0] if hit is not None else 0
        write = max(0, max((tokens for tokens, _ in written), default=0) - cached)
        total = sum(item[2] for item in entry["prompt"])
        keys = [key for _, key in written] + ([hit[1]] if hit is not None else [])
        return (cached, write, total - cached - write), keys

    def live(self, key: Key, now: int) -> bool:
        return any(stored == key and now <= expiry for stored, expiry in self.expiries)


def marker(item: list[Any]) -> bool:
    return len(item) > 3 and item[3] == "breakpoint"


def kind(item: list[Any]) -> str:
    return item[4].get("kind", "text") if len(item) > 4 else "text"


def prefixes(entry: Line) -> list[Place]:
    """The prefix that ends with each block."""
    found: list[Place] = []
    tokens = 0
    key: Key = (entry["account"], entry["model"])
    for section, name, size, *_ in entry["prompt"]:
        tokens, key = tokens + size, (*key, (section, name))
        found.append((tokens, key))
    return found


def initial_developer(entry: Line) -> list[int]:
    """Indexes of the blocks of the first group of tools, system and developer messages."""
    found = []
    for n, item in enumerate(entry["prompt"]):
        if item[0] not in ("tools", "system", "developer"):
            break
        found.append(n)
    return found


def eligible(entry: Line) -> list[int]:
    """Indexes of the last blocks of eligible messages: the initial developer group, and users."""
    blocks = entry["prompt"]
    joined = [n for n, item in enumerate(blocks) if len(item) > 4 and (item[4] or {}).get("join")]
    users = [n for n, item in enumerate(blocks) if item[0] == "user" and n + 1 not in joined]
    return initial_developer(entry)[-1:] + users
