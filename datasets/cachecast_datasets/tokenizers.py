"""Tokenizers that carry their vocabulary in a local file; nothing is ever fetched.

Without one the tokens of a block are an estimate by its bytes, and the log says so.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xxhash

from cachecast_datasets.errors import BadInput

ESTIMATE = "estimate: bytes scaled to the reported total, bytes/4 where none is reported"
BYTES_PER_TOKEN = 4

# How text is cut before the ranks apply; a .tiktoken file holds the ranks alone.
# From tiktoken's openai_public, 0.14.
_PATTERNS = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "o200k_base": "|".join(
        (
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    ),
}


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Text to token ids; `name` says which vocabulary, to the byte."""

    name: str
    encode: Callable[[str], Sequence[int]]

    def label(self) -> str:
        """What the log says of its token counts."""
        return f"{self.name}, scaled to the reported total"


def load(path: Path) -> Tokenizer:
    """The tokenizer of a file (or of the tokenizer.json in a folder). BadInput if it is none."""
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise BadInput(
            f"{path}: no such file, expected a tokenizer.json (or a folder with one) or a "
            ".tiktoken file; no vocabulary is fetched"
        )
    digest = xxhash.xxh64_hexdigest(file.read_bytes())
    if file.suffix == ".tiktoken":
        return _tiktoken(file, digest)
    return _tokenizers(file, digest)


def _package(name: str, file: Path) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise BadInput(
            f"{file}: the Python package {name} reads it, and it is not installed"
        ) from None


def _tokenizers(file: Path, digest: str) -> Tokenizer:
    package = _package("tokenizers", file)
    try:
        made = package.Tokenizer.from_file(str(file))
    except Exception as problem:  # the package raises nothing narrower
        raise BadInput(f"{file}: is no tokenizer.json: {problem}") from problem
    name = f"tokenizers {package.__version__} {file.name} xxh64:{digest}"
    return Tokenizer(name, lambda text: made.encode(text, add_special_tokens=False).ids)


def _tiktoken(file: Path, digest: str) -> Tokenizer:
    name = file.name.removesuffix(".tiktoken")
    if name not in _PATTERNS:
        known = ", ".join(f"{known}.tiktoken" for known in _PATTERNS)
        raise BadInput(f"{file}: the file's name says how text is cut, expected one of {known}")
    package = _package("tiktoken", file)
    try:
        ranks = _package("tiktoken.load", file).load_tiktoken_bpe(str(file))
        made = package.Encoding(
            name, pat_str=_PATTERNS[name], mergeable_ranks=ranks, special_tokens={}
        )
    except ValueError as problem:
        raise BadInput(f"{file}: is no file of token ranks: {problem}") from problem
    return Tokenizer(
        f"tiktoken {package.__version__} {name} xxh64:{digest}",
        lambda text: made.encode(text, disallowed_special=()),
    )
