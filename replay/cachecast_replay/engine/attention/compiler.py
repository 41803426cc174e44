"""Builds a C++ file into a shared library, once per machine and source, where a compiler is."""

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

COMPILERS = ("c++", "g++", "clang++")
# no -ffast-math: linking with it would switch off denormal numbers for the whole process
FLAGS = (
    "-std=c++17", "-O3", "-march=native", "-fno-math-errno", "-fassociative-math",
    "-fno-signed-zeros", "-fno-trapping-math", "-shared", "-fPIC",
)  # fmt: skip


class CannotBuildError(Exception):
    """No library can be made here; the message says why."""


def shared_library(source: Path) -> Path:
    """The library made of `source`, from the cache if it was made before.

    The environment variable CXX names another compiler. Raises CannotBuildError.
    """
    compiler = os.environ.get("CXX") or next(filter(shutil.which, COMPILERS), None)
    if compiler is None:
        raise CannotBuildError(f"no C++ compiler was found (looked for {', '.join(COMPILERS)})")
    made_of = [source.read_text(), compiler, *FLAGS, _processor()]
    name = hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:16]
    try:
        folder = _cache_folder()
        library = folder / f"{source.stem}-{name}.so"
        if not library.is_file():
            _build(compiler, source, library)
    except OSError as problem:
        raise CannotBuildError(f"the library cannot be written: {problem}") from None
    return library


def _build(compiler: str, source: Path, library: Path) -> None:
    """With OpenMP, or without where the compiler has none; nobody sees a half-written library."""
    with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
        made = Path(scratch) / library.name
        for more in (["-fopenmp"], []):
            command = [compiler, *FLAGS, *more, "-o", str(made), str(source)]
            built = subprocess.run(command, capture_output=True, text=True, check=False)
            if built.returncode == 0:
                made.replace(library)
                return
    lines = built.stderr.strip().splitlines() or [f"exit code {built.returncode}"]
    raise CannotBuildError(f"{compiler} failed: {lines[0]}")


def _cache_folder() -> Path:
    """Where built libraries stay; a folder of this user's, because they are executed."""
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "cachecast"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _processor() -> str:
    """What -march=native stands for: a home folder may be shared between machines."""
    about = Path("/proc/cpuinfo")
    flags = ""
    if about.is_file():
        flags = next((row for row in about.read_text().splitlines() if row.startswith("flags")), "")
    return f"{platform.machine()} {platform.processor()} {flags}"
