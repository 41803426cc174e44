"""Puts the real output of `cachecast demo` between its marks in README.md (`make docs`)."""

import re
import subprocess
import sys
from pathlib import Path

readme = Path(__file__).resolve().parent.parent / "README.md"
demo = [sys.executable, "-m", "cachecast", "demo"]
output = subprocess.run(demo, capture_output=True, text=True, check=True).stdout
lines = "\n".join(line.rstrip() for line in output.splitlines())
block = f"<!-- demo output -->\n```text\n{lines}\n```\n<!-- end of demo output -->"
text, found = re.subn(
    r"<!-- demo output -->.*?<!-- end of demo output -->",
    lambda _: block,
    readme.read_text(encoding="utf-8"),
    flags=re.DOTALL,
)
if found != 1:
    sys.exit("README.md: the marks around the output of `cachecast demo` were not found once")
readme.write_text(text, encoding="utf-8")
