"""The pages in docs/ are complete, and what they show is what happens."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import msgspec
import pytest

from cachecast.cli import cli
from cachecast.scenarios import SCENARIO_KEYS
from cachecast_datasets import format_docs
from cachecast_datasets.readers import sketch
from cachecast_datasets.request import CACHE_MODES, KINDS, MARKERS, SECTIONS, STATUSES
from cachecast_datasets.sources import READERS
from cachecast_datasets.synthetic.workload import KINDS as KINDS_OF_LOGS
from cachecast_pricing.catalog_file import (
    BandTable,
    ModelTable,
    PeakTable,
    PriceTable,
    ProviderFile,
)
from cachecast_pricing.rules.places import PLACES
from cachecast_pricing.rules.reasons import REASONS, UNAVOIDABLE
from cachecast_pricing.rules.settings import MARK_POLICIES, RULE_KEYS
from cachecast_sim.latency import documentation, fitted_file
from cachecast_sim.observed_gap import CAUSES
from cachecast_sim.whatif.changes import CHANGES
from cachecast_sim.why.causes import CAUSES as WHY_CAUSES

RunCli = Callable[..., tuple[int, str, str]]
PAGES = (
    "reasons",
    "scenarios",
    "sketch",
    "rates",
    "observed",
    "log-formats",
    "generate",
    "sharing",
    "curve",
    "latency",
    "why",
    "whatif",
    "optimize",
)


def page(root: Path, name: str) -> str:
    return (root / "docs" / f"{name}.md").read_text("utf-8")


def rows(text: str) -> dict[str, list[str]]:
    """First cell, without its marks -> the other cells, of every table row."""
    found = {}
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("|--"):
            first, *rest = (cell.strip() for cell in line.strip("|").split("|"))
            for name in first.replace("`", "").split(", "):
                found[name] = rest
    return found


def run_examples(text: str, folder: Path) -> str:
    """What the shell blocks of a page print, one after the other in an empty folder."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    ran = subprocess.run(
        ["bash", "-euc", "\n".join(blocks)],
        cwd=folder,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_every_reason_is_explained_with_whether_it_is_avoidable(root: Path) -> None:
    explained = rows(page(root, "reasons"))

    for reason in REASONS:
        avoidable, what_happened, what_to_do = explained[reason]
        assert avoidable == ("no" if reason in UNAVOIDABLE else "yes"), reason
        assert what_happened.endswith(".")
        assert what_to_do.endswith(".")


def test_the_reasons_stand_in_the_order_of_judgement(root: Path) -> None:
    assert tuple(name for name in rows(page(root, "reasons")) if name in REASONS) == REASONS


def test_every_cause_of_a_difference_is_explained_in_the_order_of_judgement(root: Path) -> None:
    explained = {name: row for name, row in rows(page(root, "observed")).items() if name in CAUSES}

    assert tuple(explained) == CAUSES
    assert all(len(cell) > 10 for row in explained.values() for cell in row)


@pytest.mark.parametrize(
    "word",
    ["read", "written", "fresh", "charge", "no cache", "saved", "uncached tail", "block rounding"],
)
def test_every_word_of_the_bill_is_explained(root: Path, word: str) -> None:
    assert rows(page(root, "reasons"))[word][0]


def test_every_key_of_as_is_documented_with_default_and_status(root: Path) -> None:
    documented = rows(page(root, "scenarios"))

    for key in (*RULE_KEYS, *SCENARIO_KEYS):
        assert len(documented[key]) >= 4, key
        assert all(documented[key]), key


def test_every_mark_policy_is_documented_for_every_family(root: Path) -> None:
    documented = rows(page(root, "scenarios"))

    for policy in MARK_POLICIES:
        assert len(documented[policy]) == 4, policy
        assert all(documented[policy])


def test_the_example_of_the_scenarios_runs_on_the_readmes_log(root: Path, tmp_path: Path) -> None:
    readme = (root / "README.md").read_text("utf-8")
    (log,) = re.findall(r"^```sh\n(cat > log\.jsonl.*?)^```", readme, re.MULTILINE | re.DOTALL)

    out = run_examples(f"```sh\n{log}```\n{page(root, 'scenarios')}", tmp_path)
    assert "hour" in out


def test_the_page_of_log_formats_is_what_the_readers_declare(root: Path) -> None:
    """`make docs` writes it anew."""
    assert page(root, "log-formats") == format_docs.page(READERS.values())


@pytest.mark.parametrize("name", READERS)
def test_every_reader_declares_what_became_of_its_fields_and_what_it_cannot_tell(name: str) -> None:
    assert READERS[name].became
    assert READERS[name].cannot_tell


@pytest.mark.parametrize("name", ["generate", "sharing"])
def test_the_commands_of_the_page_work_in_an_empty_folder(
    root: Path, tmp_path: Path, name: str
) -> None:
    assert "requests" in run_examples(page(root, name), tmp_path)


def test_every_kind_of_synthetic_log_is_documented(root: Path) -> None:
    assert set(KINDS_OF_LOGS) <= set(rows(page(root, "generate")))


def test_every_key_of_a_sketch_is_documented(root: Path) -> None:
    documented = rows(page(root, "sketch"))

    for struct in (sketch._Line, sketch._Options):
        for field in msgspec.structs.fields(struct):
            assert field.encode_name in documented, field.encode_name


def test_every_value_that_a_sketch_accepts_is_documented(root: Path) -> None:
    text = page(root, "sketch")

    for value in (*SECTIONS, *MARKERS, *KINDS, *STATUSES, *CACHE_MODES):
        assert f"`{value}`" in text, value


def test_the_sketch_of_the_page_shows_a_hit_and_a_volatile_value(
    root: Path, tmp_path: Path
) -> None:
    out = run_examples(page(root, "sketch"), tmp_path)

    assert '"cache_read":8200' in out
    assert '"reason":"volatile_value"' in out


def test_a_null_ttft_and_an_absent_output_do_what_the_page_says(
    run_cli: RunCli, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    line = '{"at": %d, "model": "claude-opus-5", %s"prompt": [["user", "Q", 1000, "5m"]]}\n'
    log.write_text(line % (0, '"ttft": null, "output": 10, ') + line % (60, ""), "utf-8")

    code, out, _ = run_cli("bill", log, "--as", "log", "--per-request", "--json")
    first, second = (msgspec.json.decode(row) for row in out.splitlines())
    assert code == 0
    # the first never started and wrote nothing; the second's unknown output is not charged
    assert (second["reason"], second["usage"]["cache_read"]) == ("aborted_writer", 0)
    assert (first["status"], second["usage"]["output"]) == ("aborted", 0)
    assert second["charge"]["total"] == "0.00625"


def test_every_field_of_a_rates_file_is_documented(root: Path) -> None:
    text = page(root, "rates")

    for struct in (ProviderFile, ModelTable, PriceTable, BandTable, PeakTable):
        for field in msgspec.structs.fields(struct):
            assert re.search(rf"\b{field.encode_name}\b", text), field.encode_name


@pytest.mark.parametrize("name", ["rates", "curve", "whatif", "optimize"])
def test_the_example_of_the_page_prints_what_it_says(root: Path, tmp_path: Path, name: str) -> None:
    """`make docs` writes it anew."""
    text = page(root, name)
    marked = rf"<!-- output of {name}\.md -->\n```text\n(.*?)```\n"
    shown = re.search(marked, text, re.DOTALL)
    assert shown

    out = run_examples(text, tmp_path)
    assert shown[1].splitlines() == [line.rstrip() for line in out.splitlines()]


def test_every_option_of_curve_is_documented(root: Path) -> None:
    documented = " ".join(rows(page(root, "curve")))
    command = cli.get_command(click.Context(cli), "curve")
    assert command is not None

    options = {param.opts[0] for param in command.params if param.opts[0].startswith("--")}
    told = options - {"--refresh", "--force", "--skip-bad"}  # the first is the default
    assert [option for option in told if option not in documented] == []


@pytest.mark.parametrize(("number", "name"), [(0, "why.md"), (1, "lint")])
def test_the_examples_of_why_print_what_the_page_says(
    root: Path, tmp_path: Path, number: int, name: str
) -> None:
    """`make docs` writes it anew."""
    text = page(root, "why")
    shown = re.search(rf"<!-- output of {name} -->\n```text\n(.*?)```\n", text, re.DOTALL)
    blocks = re.findall(r"^```sh\n.*?^```", text, re.MULTILINE | re.DOTALL)
    assert shown
    assert len(blocks) == 2

    out = run_examples(blocks[number], tmp_path)
    assert shown[1].splitlines() == [line.rstrip() for line in out.splitlines()]


def test_every_cause_is_explained(root: Path) -> None:
    explained = rows(page(root, "why"))

    assert {name for name in explained if name in WHY_CAUSES} == set(WHY_CAUSES)
    assert all(explained[name][0].endswith(".") for name in WHY_CAUSES)


def test_the_tables_of_the_latency_page_are_what_the_code_and_the_catalogue_hold(
    root: Path,
) -> None:
    """`make docs` writes them anew."""
    text = page(root, "latency")

    for name, table in documentation.tables().items():
        assert f"<!-- {name} -->\n{table}\n<!-- end of {name} -->" in text, name


def test_the_fitted_file_of_the_page_is_read(root: Path) -> None:
    examples = re.findall(r"^```toml\n(format = .*?)^```", page(root, "latency"), re.M | re.S)
    assert len(examples) == 1

    file = fitted_file.read_fitted(examples[0], "docs/latency.md")
    assert file.held_out == fitted_file.HeldOutError(steps=104, mean_pct=3.6, p90_pct=6.5)


@pytest.mark.parametrize("name", PAGES)
def test_the_readme_links_to_each_page(root: Path, name: str) -> None:
    assert f"](docs/{name}.md)" in (root / "README.md").read_text("utf-8")


def test_the_links_between_our_pages_lead_somewhere(root: Path) -> None:
    for path in (root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)", path.read_text("utf-8")):
            assert "://" in target or (path.parent / target).exists(), f"{path.name}: {target}"


def test_every_change_is_documented(root: Path) -> None:
    text = page(root, "whatif")

    for name in set(CHANGES) - set(RULE_KEYS) - {"on", "tier", "currency"}:
        assert f"`{name}=" in text, name


def test_every_place_of_a_marker_is_documented(root: Path) -> None:
    assert set(PLACES) <= set(rows(page(root, "optimize")))
