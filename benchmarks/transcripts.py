"""Seconds and peak memory to import Claude Code transcripts, a generated gigabyte by default.

    python benchmarks/transcripts.py             # 1,000 MB (seeded, in a temporary folder)
    python benchmarks/transcripts.py --mb 100
    python benchmarks/transcripts.py FOLDER      # transcripts of your own
    python benchmarks/transcripts.py --processes 1

The import runs in a process of its own, so that its peak memory is its own; the time includes
sniffing, sorting and writing the Parquet.
"""

import argparse
import json
import multiprocessing
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from cachecast_datasets.importing import import_log
from cachecast_datasets.processes import reading_processes

START = 1_780_000_000.0  # seconds; 2026
VERSION = "2.1.157"
TEXT = """request prompt cache token block prefix session model tool result path line value error
read write import return class def self list dict count total first last time price rules"""
WORDS = TEXT.split()


def main() -> None:
    """Print a line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--mb", type=int, default=1_000, help="how much to generate")
    parser.add_argument("--processes", type=int, default=reading_processes(), help="who read")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        measure(arguments.folder, arguments.one, arguments.processes)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or generate(Path(temporary) / "projects", arguments.mb)
        log = Path(temporary) / "log.parquet"
        command = [sys.executable, __file__, str(folder), "--one", str(log)]
        command += ["--processes", str(arguments.processes)]
        subprocess.run(command, check=True)


def measure(folder: Path, log: Path, processes: int) -> None:
    """The import, in this process: a child would inherit its peak memory."""
    files = list(folder.rglob("*.jsonl"))
    size = sum(path.stat().st_size for path in files)
    samples: list[int] = []
    threading.Thread(target=sample, args=(samples,), daemon=True).start()
    started, waiting = time.perf_counter(), os.getloadavg()[0]
    summary = import_log([folder], log, processes=processes)
    took, cpu = time.perf_counter() - started, sum(os.times()[:4])
    print(
        f"{size / 1e6:,.0f} MB in {len(files):,} files: {summary.rows:,} requests in {took:.1f} s "
        f"({size / took / 1e6:.0f} MB/s, {cpu:.1f} s of processor), {processes} reading, peak "
        f"{max(samples) >> 20:,} MB together, Parquet {log.stat().st_size / 1e6:,.0f} MB; load "
        f"average {waiting:.1f} before"
    )


def sample(samples: list[int]) -> None:
    """Resident bytes of this process and those that help it, ten times a second (Linux)."""
    while True:
        total = 0
        for process in (os.getpid(), *(p.pid for p in multiprocessing.active_children())):
            with suppress(OSError):  # it has just ended
                pages = Path(f"/proc/{process}/statm").read_text().split()[1]
                total += int(pages) * resource.getpagesize()
        samples.append(total)
        time.sleep(0.1)


def generate(folder: Path, megabytes: int, seed: int = 1) -> Path:
    """Coding sessions until they have that size; every fifth one has sub-agents."""
    rng = random.Random(seed)
    code = [_code_line(rng) for _ in range(20_000)]
    written, number = 0, 0
    while written < megabytes * 1_000_000:
        session = f"{number:08x}-0000-4000-8000-{rng.getrandbits(48):012x}"
        project = folder / f"-home-me-project{number % 7}"
        paths: list[tuple[Path, str | None]] = [(project / f"{session}.jsonl", None)]
        if number % 5 == 0:
            agents = [f"{rng.getrandbits(28):07x}" for _ in range(3)]
            paths += [(project / session / "subagents" / f"agent-{a}.jsonl", a) for a in agents]
        for path, agent in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            turns = min(600, int(rng.lognormvariate(4.0, 0.9)) + 2)
            start = START + number * 900
            lines = Session(rng, code, session, agent, start).lines(turns)
            path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
            written += path.stat().st_size
        number += 1
    return folder


def _code_line(rng: random.Random) -> str:
    words = [rng.choice(WORDS) for _ in range(rng.randint(2, 9))]
    if rng.random() < 0.3:
        words.insert(rng.randrange(len(words)), f"{rng.choice(WORDS)}_{rng.randrange(1000)}")
    return " " * rng.choice((0, 4, 8)) + " ".join(words)


class Session:
    """The lines of one file, in the client's shape."""

    def __init__(
        self, rng: random.Random, code: list[str], session: str, agent: str | None, at: float
    ) -> None:
        self._rng = rng
        self._code = code
        self._at = at
        self._parent: str | None = None
        self._prompt = 18_000
        self._cached = 0
        self._common: dict[str, Any] = {
            "isSidechain": agent is not None, "userType": "external", "cwd": "/home/me/project",
            "sessionId": session, "version": VERSION, "gitBranch": "main",
        }  # fmt: skip
        if agent is not None:
            self._common["agentId"] = agent

    def lines(self, turns: int) -> Iterator[dict[str, Any]]:
        """`turns` requests: a question now and then, tool results in between."""
        yield self._line("user", {"role": "user", "content": self._text(40)})
        for number in range(turns):
            asked, output = f"toolu_{self._rng.getrandbits(96):024x}", self._rng.randint(80, 900)
            yield from self._answer(asked, output)
            text = self._numbered(self._rng.randint(5, 160))
            result = {"type": "tool_result", "tool_use_id": asked, "content": text}
            line = self._line("user", {"role": "user", "content": [result]})
            yield line | {"toolUseResult": {"type": "text", "file": {"content": text}}}
            self._prompt += output + len(text) // 4
            if number % 12 == 11:
                self._at += self._rng.choice((20, 60, 400))
                yield self._line("user", {"role": "user", "content": self._text(60)})
            if self._prompt > 160_000:  # the client compacts: a new root
                self._parent, self._prompt, self._cached = None, 24_000, 0
                yield self._line("user", {"role": "user", "content": self._text(900)})

    def _answer(self, asked: str, output: int) -> Iterator[dict[str, Any]]:
        rng = self._rng
        usage = {
            "input_tokens": 4, "cache_creation_input_tokens": self._prompt - self._cached,
            "cache_read_input_tokens": self._cached, "output_tokens": output,
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard", "speed": "standard", "iterations": [],
            "cache_creation": {
                "ephemeral_5m_input_tokens": self._prompt - self._cached,
                "ephemeral_1h_input_tokens": 0,
            },
        }  # fmt: skip
        self._cached = self._prompt
        message = {
            "model": "claude-opus-4-8", "id": f"msg_{rng.getrandbits(96):024x}",
            "type": "message", "role": "assistant", "stop_reason": "tool_use", "usage": usage,
        }  # fmt: skip
        request = {"requestId": f"req_{rng.getrandbits(96):024x}"}
        signature = f"{rng.getrandbits(1600):0400x}"
        contents: list[dict[str, Any]] = [
            {"type": "text", "text": self._text(rng.randint(5, 80))},
            {
                "type": "tool_use", "id": asked, "name": "Edit",
                "input": {"file_path": "/home/me/a.py", "new_string": self._numbered(12)},
            },
        ]  # fmt: skip
        if rng.random() < 0.5:
            contents.insert(0, {"type": "thinking", "thinking": "", "signature": signature})
        for content in contents:
            yield self._line("assistant", message | {"content": [content]}) | request

    def _line(self, kind: str, message: dict[str, Any]) -> dict[str, Any]:
        self._at += self._rng.uniform(0.3, 6)
        uuid = f"{self._rng.getrandbits(128):032x}"
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self._at))
        line = {
            "parentUuid": self._parent, **self._common, "type": kind, "message": message,
            "uuid": uuid, "timestamp": f"{moment}.{int(self._at * 1000) % 1000:03}Z",
        }  # fmt: skip
        self._parent = uuid
        return line

    def _text(self, words: int) -> str:
        return " ".join(self._rng.choices(WORDS, k=words))

    def _numbered(self, lines: int) -> str:
        start = self._rng.randrange(1500)
        chosen = self._rng.choices(self._code, k=lines)
        return "\n".join(f"{start + i:6}\u2192{text}" for i, text in enumerate(chosen))


if __name__ == "__main__":
    main()
