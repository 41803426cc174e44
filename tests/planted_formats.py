"""How the world writes what changes: clocks, ids, counters, examples, passages, tools, summaries.

Lists for the planted logs. They know nothing of `cachecast_sim.why`, and were not made from it.
"""

import base64
import json
import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

Clock = Callable[[datetime], str]
Maker = Callable[[random.Random], str]

_EN = "January February March April May June July August September October November December"
_FR = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
_DE = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
_ES = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
_RU = "января февраля марта апреля мая июня июля августа сентября октября ноября декабря"
_PL = (
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada "
    "grudnia"
)
_DAYS_EN = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_DAYS_FR = ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"]
_DAYS_DE = ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"]


def _month(names: str, at: datetime) -> str:
    return names.split()[at.month - 1]


CLOCKS: dict[str, Clock] = {
    "iso": lambda t: f"It is {t.isoformat(timespec='milliseconds')}Z.",
    "iso space": lambda t: f"Current time: {t:%Y-%m-%d %H:%M:%S}",
    "iso offset": lambda t: f"<now>{t:%Y-%m-%dT%H:%M:%S}+02:00</now>",
    "us": lambda t: f"Today is {t:%m/%d/%Y}, {t:%I:%M:%S %p}.",
    "english": lambda t: (
        f"The current date is {_DAYS_EN[t.weekday()]}, {_month(_EN, t)} {t.day}, {t.year} at "
        f"{t:%I:%M %p} and {t.second} seconds."
    ),
    "rfc 2822": lambda t: f"Date: {t:%a, %d %b %Y %H:%M:%S} +0000",
    "german": lambda t: (
        f"Heute ist {_DAYS_DE[t.weekday()]}, der {t.day}. {_month(_DE, t)} {t.year}, "
        f"{t:%H:%M:%S} Uhr."
    ),
    "german short": lambda t: f"Stand: {t:%d.%m.%Y %H:%M:%S}",
    "french": lambda t: (
        f"Nous sommes le {_DAYS_FR[t.weekday()]} {t.day} {_month(_FR, t)} {t.year} à "
        f"{t.hour}h{t:%M} et {t.second} s."
    ),
    "spanish": lambda t: f"Hoy es {t.day} de {_month(_ES, t)} de {t.year}, son las {t:%H:%M:%S}.",
    "russian": lambda t: f"Сейчас {t.day} {_month(_RU, t)} {t.year} года, {t:%H:%M:%S}.",
    "polish": lambda t: f"Dziś jest {t.day} {_month(_PL, t)} {t.year}, godzina {t:%H:%M:%S}.",
    "chinese": lambda t: (
        f"当前时间:{t.year}年{t.month}月{t.day}日 {t.hour}时{t.minute}分{t.second}秒"
    ),
    "japanese": lambda t: f"現在の日時は{t.year}年{t.month}月{t.day}日{t:%H:%M:%S}です。",
    "korean": lambda t: f"현재 시각은 {t.year}년 {t.month}월 {t.day}일 {t:%H:%M:%S}입니다.",
    "epoch s": lambda t: f"timestamp={int(_epoch(t))}",
    "epoch ms": lambda t: f'{{"ts": {int(_epoch(t) * 1000)}}} is the request time.',
    "epoch us": lambda t: f"[clock {int(_epoch(t) * 1_000_000)}]",
    "epoch ns": lambda t: f"mono_ns {int(_epoch(t)) * 1_000_000_000 + 17}",
    "epoch float": lambda t: f"now = {_epoch(t):.3f}",
    "epoch hex": lambda t: f"t=0x{int(_epoch(t)):08x}",
    "compact": lambda t: f"build stamp {t:%Y%m%dT%H%M%SZ}",
    "compact plain": lambda t: f"run at {t:%Y%m%d%H%M%S}",
    "slashes": lambda t: f"日時 {t:%Y/%m/%d %H:%M:%S}",
    "time only": lambda t: f"Local time {t:%H:%M:%S} (UTC).",
    "uptime": lambda t: f"Process uptime: {int(_epoch(t)) - 1_793_000_000} seconds.",
    "log line": lambda t: f"[{t:%d/%b/%Y:%H:%M:%S +0000}] session opened",
    "am pm": lambda t: f"It's {t.hour % 12 or 12}:{t:%M:%S}{'pm' if t.hour > 11 else 'am'} now",
}


def _epoch(at: datetime) -> float:
    return (at - datetime(1970, 1, 1)) / timedelta(seconds=1)


def _hex(rng: random.Random, length: int) -> str:
    return "".join(rng.choice("0123456789abcdef") for _ in range(length))


def _uuid(rng: random.Random) -> str:
    h = _hex(rng, 32)
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"


def _base32(rng: random.Random) -> str:
    return base64.b32encode(rng.randbytes(10)).decode().rstrip("=")


def _ulid(rng: random.Random) -> str:
    crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    return "01" + "".join(rng.choice(crockford) for _ in range(24))


def _mixed(rng: random.Random, length: int) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    return "".join(rng.choice(letters) for _ in range(length - 2)) + rng.choice("0123456789") + "x"


IDENTIFIERS: dict[str, Maker] = {
    "uuid": lambda r: f"Request ID: {_uuid(r)}",
    "uuid upper": lambda r: f'<conversation id="{_uuid(r).upper()}"/>',
    "uuid bare": lambda r: f"session {_uuid(r).replace('-', '')} is open",
    "hex 5": lambda r: f"x-billing-header: cc_version=2.1.36; cch={_hex(r, 4)}7;",
    "hex 16": lambda r: f"trace_id={_hex(r, 15)}d",
    "hex 40": lambda r: f"workspace at commit {_hex(r, 39)}1",
    "base32": lambda r: f"session key {_base32(r)}2",
    "ulid": lambda r: f"ULID {_ulid(r)}",
    "prefixed": lambda r: f"You are answering req_{_mixed(r, 22)}.",
    "prefixed dash": lambda r: f"user-id: usr-{_hex(r, 11)}9",
    "nano": lambda r: f"conversation: {_mixed(r, 21)}",
    "object id": lambda r: f'{{"_id": "{_hex(r, 23)}5"}}',
    "numeric user": lambda r: f"user_id={r.randrange(10**8, 10**9)}",
    "ticket": lambda r: f"Ticket id: SUP-{r.randrange(10_000, 99_999)}-{_hex(r, 5)}3",
    "base64": lambda r: f"token: {base64.b64encode(r.randbytes(24)).decode()}",
    "urn": lambda r: f"source urn:uuid:{_uuid(r)} applies",
}

Counter = Callable[[int, random.Random], str]  # (how many requests before, rng)
COUNTERS: dict[str, Counter] = {
    "turn": lambda n, r: f"Turn counter: {n + 7}",
    "step": lambda n, r: f"You are at step {n + 3} of the plan.",
    "attempt": lambda n, r: f"attempt={n + 1}",
    "padded": lambda n, r: f"[seq {n + 120:06d}]",
    "message number": lambda n, r: f"Message number {n + 41}",
    "nonce hex": lambda n, r: f"nonce: {_hex(r, 15)}e",
    "nonce decimal": lambda n, r: f"nonce={r.randrange(10**9, 10**10)}",
    "salt": lambda n, r: f"(salt {_base32(r)})",
    "remaining": lambda n, r: f"Tool calls remaining: {250 - n}",
    "tokens used": lambda n, r: f"tokens used: {1_900 + 613 * n}",
    "random seed": lambda n, r: f"random seed {r.randrange(10**5, 10**6)}",
}

# few-shot examples: ten topics, each an input and an output
_SHOTS = [
    ("refund for order", "billing"), ("app crashes on start", "bug"), ("add dark mode", "feature"),
    ("how do I export", "question"), ("password reset fails", "bug"), ("cancel my plan", "billing"),
    ("praise for support", "feedback"), ("invoice shows twice", "billing"),
]  # fmt: skip
EXAMPLES: dict[str, Callable[[Sequence[int]], str]] = {
    "xml": lambda o: "Examples:\n" + "\n".join(
        f"<example>\n<input>{_SHOTS[i][0]}</input>\n<output>{_SHOTS[i][1]}</output>\n</example>"
        for i in o
    ),
    "q and a": lambda o: "Classify as shown.\n\n" + "\n\n".join(
        f"Q: {_SHOTS[i][0]}\nA: {_SHOTS[i][1]}" for i in o
    ),
    "headings": lambda o: "# Few-shot examples\n\n" + "\n\n".join(
        f"### Example {n}\nInput: {_SHOTS[i][0]}\nOutput: {_SHOTS[i][1]}"
        for n, i in enumerate(o, 1)
    ),
    "json": lambda o: "Few-shot examples as JSON:\n" + json.dumps(
        [{"input": _SHOTS[i][0], "output": _SHOTS[i][1]} for i in o]
    ),
    "lines": lambda o: "Here are some examples\n" + "\n".join(
        f"Input: {_SHOTS[i][0]}\nOutput: {_SHOTS[i][1]}" for i in o
    ),
    "german": lambda o: "Beispiele:\n\n" + "\n\n".join(
        f"Beispiel {n}:\nEingabe: {_SHOTS[i][0]}\nAusgabe: {_SHOTS[i][1]}"
        for n, i in enumerate(o, 1)
    ),
}  # fmt: skip

_FACTS = [
    "The retention period of audit logs is ninety days in every region.",
    "Invoices are issued on the first working day after the period ends.",
    "A workspace may hold at most two hundred members on the team plan.",
    "Rate limits are counted per key and reset at the top of each minute.",
    "Exports are delivered as compressed archives to the bucket you name.",
    "Single sign-on needs a verified domain and an administrator's consent.",
    "Webhooks are retried eight times with growing pauses in between.",
    "Deleted projects can be restored by support within fourteen days.",
]
PASSAGES: dict[str, Callable[[Sequence[int]], str]] = {
    "numbered": lambda o: "Use these search results:\n\n" + "\n\n".join(
        f"[{n}] {_FACTS[i]}" for n, i in enumerate(o, 1)
    ),
    "documents": lambda o: "<documents>\n" + "\n".join(
        f'<document index="{n}">\n<source>kb-{i}.md</source>\n{_FACTS[i]}\n</document>'
        for n, i in enumerate(o, 1)
    ) + "\n</documents>",
    "passages": lambda o: "\n".join(f'<passage id="{i}">{_FACTS[i]}</passage>' for i in o),
    "json": lambda o: "Retrieved context:\n" + json.dumps(
        [{"source": f"kb/{i}", "text": _FACTS[i], "score": 0.5 + i / 100} for i in o]
    ),
    "sources": lambda o: "Knowledge base excerpts\n\n" + "\n---\n".join(
        f"Source: https://kb.example/{i}\n{_FACTS[i]}" for i in o
    ),
    "bullets": lambda o: "Context from the knowledge base:\n" + "\n".join(
        f"- {_FACTS[i]}" for i in o
    ),
    "chunks": lambda o: "\n\n".join(f"Chunk {n}: {_FACTS[i]}" for n, i in enumerate(o, 1)),
}  # fmt: skip

_TOOLS = ["grep", "read_file", "write_file", "run_tests", "open_url", "list_dir", "git_diff"]
TOOL_LISTS: dict[str, Callable[[Sequence[int]], str]] = {
    "json": lambda o: "You can call these functions:\n" + json.dumps(
        [
            {"name": _TOOLS[i], "description": f"Runs {_TOOLS[i]} in the workspace.",
             "parameters": {"type": "object", "properties": {"arg": {"type": "string"}}}}
            for i in o
        ]
    ),
    "xml": lambda o: "<tools>\n" + "\n".join(
        f'<tool name="{_TOOLS[i]}"><description>Runs {_TOOLS[i]}.</description></tool>' for i in o
    ) + "\n</tools>",
    "json lines": lambda o: "<functions>\n" + "\n".join(
        "<function>" + json.dumps(
            {"description": f"Runs {_TOOLS[i]}.", "name": _TOOLS[i], "parameters": {"a": "string"}}
        ) + "</function>" for i in o
    ) + "\n</functions>",
}  # fmt: skip

SUMMARIES = [
    "This session is being continued from an earlier one that ran out of context. What was done: "
    "the login form was fixed, two tests were added, and the migration is still open.",
    "Summary of the conversation so far: the user wants the parser to accept blank lines; the "
    "lexer was changed, the tests pass except for one.",
    "Recap: we moved the handler, renamed the module and agreed to drop the old flag.",
    "Zusammenfassung des bisherigen Gesprächs: Der Export wurde repariert, offen ist die Prüfung.",
    "Résumé de la conversation : le module a été renommé et les tests ont été adaptés.",
    "Where things stand: importer done, exporter half done, the flaky test is quarantined, next "
    "is the release note. Files touched: importer.py, exporter.py, tests/test_io.py.",
    "Progress notes carried over. Goal: speed up the nightly job. Done: profiling, batching. "
    "Left: the retry path and its alarm. Keep the public interface as it is.",
    "会話の要約:ログインの不具合を直し、テストを二つ足した。移行はまだ残っている。",
    "<state>\n  <goal>port the service</goal>\n  <done>routing, auth</done>\n"
    "  <open>billing</open>\n</state>",
]
IMAGE_MARKS = ["[image omitted]", "[Image #1 removed to save context]", "(picture)", "<image/>"]
EDITS = [
    ("be brief", "be thorough"), ("Never push", "You may push"),
    ("in English", "in the language of the user"), ("two spaces", "four spaces"),
]  # fmt: skip


def without(value: dict[str, Any], name: str) -> dict[str, Any]:
    """The object without a key."""
    return {key: inner for key, inner in value.items() if key != name}
