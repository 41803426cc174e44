"""docs/log-formats.md from what the readers declare: `python -m cachecast_datasets.format_docs`."""

import sys
from collections.abc import Iterable

from cachecast_datasets.readers.reader import Reader
from cachecast_datasets.sources import READERS

_EVIDENCE = {
    "text": "the text of the prompts was there to hash",
    "tokens": "token ids",
    "blocks": "content blocks: tools, system text, messages, by hash",
    "token_blocks": "hashes of blocks of so many tokens",
    "counts": "numbers of tokens only",
}
_HEAD = """\
# Log formats

This page is written by `make docs` from what the readers say of themselves; what is in it is what
happens. Which format a file is, is found by its content; JSON may be packed as gz or zst.

**Evidence** is what a source carries, the strongest first:

"""
_MARKERS = """
**Markers**: whether the source can show where caching was asked for. Where it can, no marker means
that none was sent; where it cannot, `mark=auto` stands in ([scenarios.md](scenarios.md)).
Account ids are hashed always. Whatever a source does not tell is unknown, never zero.

"""


def page(readers: Iterable[Reader]) -> str:
    """The whole page in Markdown."""
    readers = list(readers)
    lines = [_HEAD + "\n".join(f"* `{name}`: {text}" for name, text in _EVIDENCE.items())]
    lines.append(
        _MARKERS + "| format | what is recognised | evidence | markers |\n|---|---|---|---|"
    )
    lines += [
        f"| [{reader.name}](#{_anchor(reader)}) | {_cell(reader.description)} "
        f"| {_evidence(reader)} | {_markers(reader)} |"
        for reader in readers
    ]
    for reader in readers:
        lines += [
            "",
            f"## {reader.name}",
            "",
            "| in the source | in the request log |",
            "|---|---|",
        ]
        lines += [f"| {_cell(a)} | {_cell(b)} |" for a, b in reader.became.items()]
        lines += ["", "What nobody can know from it:", ""]
        lines += [f"* {text}" for text in reader.cannot_tell]
    return "\n".join(lines) + "\n"


def _anchor(reader: Reader) -> str:
    return reader.name.lower().replace(" ", "-")


def _evidence(reader: Reader) -> str:
    return "as its columns" if reader.name == "parquet" else f"`{reader.meta.evidence}`"


def _markers(reader: Reader) -> str:
    if reader.name == "parquet":
        return "as its source"
    return "yes" if reader.meta.carries_markers else "no"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page(READERS.values()))
