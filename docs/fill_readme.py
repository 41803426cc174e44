"""Draws the demo's log, puts output and tables between their marks (`make docs`)."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from cachecast.commands import demo
from cachecast_datasets.source import open_bytes
from cachecast_sim.latency.documentation import tables

_NEXT = "end-of-this-block"
ROOT = Path(__file__).resolve().parent.parent


def fill(page: Path, start: str, end: str, block: str) -> None:
    """Replace the block between two marks, which must stand there exactly once."""
    block = f"<!-- {start} -->\n{block}\n<!-- {end} -->"
    pattern = f"<!-- {re.escape(start)} -->.*?<!-- {re.escape(end)} -->"
    text, found = re.subn(pattern, lambda _: block, page.read_text("utf-8"), flags=re.DOTALL)
    if found != 1:
        sys.exit(f"{page.name}: the marks {start!r} and {end!r} were not found once")
    page.write_text(text, encoding="utf-8")


def fenced(output: str) -> str:
    """What a command printed, as a block of text."""
    return "\n".join(("```text", *(line.rstrip() for line in output.splitlines()), "```"))


def examples(page: Path) -> str:
    """What the shell blocks of a page print, in an empty folder."""
    return "".join(outputs(page))


def outputs(page: Path) -> list[str]:
    """The same, block by block; they run in one folder, one after the other."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            ["bash", "-euc", f"echo {_NEXT}\n".join(blocks)],
            cwd=folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
    return ran.stdout.split(f"{_NEXT}\n")


def draw_demo_log(shipped: Path) -> None:
    """Write the log anew if its lines changed; the same lines may compress to other bytes."""
    with tempfile.TemporaryDirectory() as folder:
        drawn = Path(folder) / demo.LOG
        command = [sys.executable, "-m", "cachecast", "generate", *demo.DRAW.split()]
        subprocess.run([*command, "-o", str(drawn)], capture_output=True, check=True)
        if not shipped.exists() or _lines(shipped) != _lines(drawn):
            shipped.write_bytes(drawn.read_bytes())


def _lines(log: Path) -> bytes:
    with open_bytes(log) as stream:
        return stream.read()


if __name__ == "__main__":
    draw_demo_log(ROOT / "app" / "cachecast" / demo.LOG)
    shows = [sys.executable, "-m", "cachecast", "demo"]
    shown = subprocess.run(shows, capture_output=True, text=True, check=True).stdout
    fill(ROOT / "README.md", "demo output", "end of demo output", fenced(shown))
    for name in ("rates.md", "curve.md", "whatif.md", "optimize.md"):
        page = ROOT / "docs" / name
        fill(page, f"output of {name}", "end of output", fenced(examples(page)))
    why = ROOT / "docs" / "why.md"
    for name, output in zip(("why.md", "lint"), outputs(why), strict=True):
        fill(why, f"output of {name}", f"end of output of {name}", fenced(output))
    for name, table in tables().items():
        fill(ROOT / "docs" / "latency.md", name, f"end of {name}", table)
