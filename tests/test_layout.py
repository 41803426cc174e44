"""The shape of the project: who may import whom, what lies where, what every command shows."""

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from cachecast.cli import COMMANDS, cli

RunCli = Callable[..., tuple[int, str, str]]

PACKAGES = {
    "datasets": "cachecast_datasets",
    "pricing": "cachecast_pricing",
    "sim": "cachecast_sim",
    "replay": "cachecast_replay",
    "app": "cachecast",
}
MOST_LINES = 300
# module -> why it may be longer than MOST_LINES
LONG_MODULES: dict[str, str] = {}

_SCREEN = {"click", "rich", "duckdb", "streamlit", "altair"}
# What a folder must not even import: a functional core knows no files, no clock and no screen.
NEVER_IMPORTED = {
    "datasets": {"simpy", "torch", *_SCREEN},
    "pricing": {"simpy", "torch", "time", *_SCREEN},
    "sim": {"os", "io", "pathlib", "torch", "time", "pyarrow", *_SCREEN},
    "replay": {"streamlit", "altair"},
}


def _modules(root: Path, folder: str) -> list[Path]:
    return sorted((root / folder / PACKAGES[folder]).rglob("*.py"))


def _imports(module: Path) -> Iterator[str]:
    """The top names of everything that the module imports, wherever in it."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def _tracked(root: Path) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout: there is no list of tracked files")
    return [root / name for name in listed.stdout.split("\0") if name and (root / name).is_file()]


def test_nothing_imports_upward(root: Path) -> None:
    """The contracts of pyproject.toml hold; .ci/run shows once that the tool can fail."""
    tool = Path(sys.executable).with_name("lint-imports")
    checked = subprocess.run(
        [tool, "--no-logo", "--no-cache"], cwd=root, capture_output=True, text=True, check=False
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "2 kept, 0 broken" in checked.stdout


@pytest.mark.parametrize("folder", NEVER_IMPORTED)
def test_a_folder_does_not_import_what_is_not_its_business(root: Path, folder: str) -> None:
    """No screen below `app`, no files and no clock in `sim`, no SimPy in `pricing`."""
    found = {
        f"{module.relative_to(root)} imports {name}"
        for module in _modules(root, folder)
        for name in _imports(module)
        if name in NEVER_IMPORTED[folder]
    }

    assert not found


@pytest.mark.parametrize("folder", PACKAGES)
def test_each_folder_holds_one_typed_package_and_is_none_itself(root: Path, folder: str) -> None:
    """A folder with an __init__.py would hide a library of the same name."""
    assert not (root / folder / "__init__.py").exists()
    assert (root / folder / PACKAGES[folder] / "__init__.py").is_file()
    assert (root / folder / PACKAGES[folder] / "py.typed").is_file()
    packages = {path.parent.name for path in (root / folder).glob("*/__init__.py")}
    assert packages == {PACKAGES[folder]}


def test_the_datasets_library_wins_over_our_folder_even_from_the_root(
    root: Path, tmp_path: Path
) -> None:
    """`import datasets` in the root finds a regular package that comes later on the path."""
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "__init__.py").write_text("WHOSE = 'theirs'\n")
    code = "import sys, datasets; assert sys.path[0] == ''; print(datasets.WHOSE)"

    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.stdout, found.stderr) == ("theirs\n", "")


@pytest.mark.parametrize("folder", PACKAGES)
def test_modules_stay_short_and_have_names_that_say_something(root: Path, folder: str) -> None:
    """At most 300 lines, or a reason in LONG_MODULES; and nothing called utils."""
    for module in _modules(root, folder):
        name = str(module.relative_to(root))
        lines = len(module.read_text().splitlines())
        assert lines <= MOST_LINES or name in LONG_MODULES, f"{name} has {lines} lines"
        assert module.stem not in {"utils", "util", "helpers", "misc", "common"}, name


def test_long_modules_are_still_there_and_still_long(root: Path) -> None:
    """An exemption that is not needed any more is removed."""
    for name in LONG_MODULES:
        assert len((root / name).read_text().splitlines()) > MOST_LINES, name


@pytest.mark.parametrize("folder", PACKAGES)
def test_every_module_says_what_it_is(root: Path, folder: str) -> None:
    """The first statement is a docstring."""
    for module in _modules(root, folder):
        assert ast.get_docstring(ast.parse(module.read_text())), module.relative_to(root)


def test_no_tracked_file_knows_the_machine_it_was_written_on(root: Path) -> None:
    """A path of one machine is an error on every other."""
    # put together here, so that this file does not find itself
    places = ("work/main", "work/shared", "opt/wheels", "home/[a-z]+/cachecast")
    pattern = re.compile("|".join("/" + place for place in places) + r"|\." + "library")
    found = [
        str(file.relative_to(root))
        for file in _tracked(root)
        if file.suffix in {".py", ".md", ".toml", ".txt", ".json", ".jsonl", ".sh", ""}
        and pattern.search(file.read_text(encoding="utf-8", errors="replace"))
    ]

    assert not found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_an_example_and_is_in_the_docs(
    root: Path, run_cli: RunCli, name: str
) -> None:
    """`--help` has a sentence and one real example; README or docs/ mention the command."""
    code, out, err = run_cli(name, "--help")
    assert (code, err) == (0, "")
    assert "Usage:" in out

    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert f"cachecast {name} " in f"{command.help} {command.epilog} ", "the help has no example"
    assert command.get_short_help_str()
    pages = [root / "README.md", *(root / "docs").glob("*.md")]
    assert any(f"cachecast {name}" in page.read_text() for page in pages)


def test_every_command_is_in_the_list_that_help_prints(run_cli: RunCli) -> None:
    """And the version is the installed one."""
    _, out, _ = run_cli("--help")
    for name in COMMANDS:
        assert re.search(rf"^  {name} +\S", out, re.MULTILINE), name

    version = importlib.metadata.version("cachecast")
    assert run_cli("--version")[1] == f"cachecast {version}\n"


def test_every_dependency_has_a_tested_version(root: Path) -> None:
    """constraints.txt pins all that pyproject.toml names, and nothing twice."""
    project = tomllib.loads((root / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"].values()
    wanted = [
        *project["project"]["dependencies"],
        *(line for extra in extras for line in extra),
        *project["dependency-groups"]["dev"],
    ]
    lines = (root / "constraints.txt").read_text().splitlines()
    pinned = [line.split("==")[0].lower() for line in lines if "==" in line]

    assert len(pinned) == len(set(pinned))
    assert {re.split(r"[<>=]", line)[0] for line in wanted} <= set(pinned)


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/decisions.md"]
)
def test_the_pages_that_a_stranger_looks_for_are_there(root: Path, page: str) -> None:
    """None of them is empty."""
    assert len((root / page).read_text()) > 200


def test_links_between_our_pages_lead_somewhere(root: Path) -> None:
    """A relative link names a file of the repository."""
    for page in [*root.glob("*.md"), *(root / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
