"""Causes planted into agent logs, alone and in pairs, and what `why` says of them.

A case is right if the certain causes are exactly those planted. A certain cause that was not
planted is wrong; `unknown`, with candidates or without, is neither. A failure prints the
confusion matrix.
"""

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import planted_causes
import planted_formats as formats
import planted_histories
import planted_requests
import pytest
from planted_causes import into_system, other_order
from planted_logs import Case, base_case, conversations, write_case
from planted_table import PLANTS

from cachecast.scenarios import scenario_of
from cachecast.why_job import ask
from cachecast_datasets.importing import open_or_import
from cachecast_datasets.kept_texts import kept_texts
from cachecast_pricing.catalog import load_catalog
from cachecast_sim.why.causes import CAUSES, Finding

FILES = (planted_causes, planted_histories, planted_requests)  # each enters its plants
SEEDS = 8  # of each single cause
# a prompt, or a fan-out, of its own: nothing else can be planted beside it
WHOLE = {"aborted_writer", "below_minimum", "lookback_exceeded", "concurrent_with_writer",
         "marker_misplaced", "auxiliary_call", "rewind"}  # fmt: skip
HISTORY = {"history_summarised", "history_truncated", "message_edited", "string_or_block",
           "image_replaced", "thinking_stripped"}  # fmt: skip
TOOLS = {"tools_added", "tools_removed", "tools_changed"}
MODELS = {"model_changed", "model_alias_changed"}
FIRST = ("ttl_expired",)  # it moves the clock that others write down


@dataclass(frozen=True)
class Answer:
    """What `why` said of the planted request."""

    reason: str | None
    finding: Finding

    @property
    def certain(self) -> set[str]:
        """Every cause that it is sure of."""
        found = {self.finding.cause, *(d.cause for d in self.finding.also)}
        return {cause for cause in found if cause is not None}

    @property
    def candidates(self) -> set[str]:
        """Every cause that it does not exclude."""
        both = (self.finding.candidates, *(d.candidates for d in self.finding.also))
        return {cause for candidates in both for cause in candidates}


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Conversations of a coding agent to plant into."""
    return conversations(tmp_path_factory.mktemp("base"), seed=3)


def answer(case: Case, folder: Path, with_text: bool = True) -> Answer:
    log = folder / "log.jsonl"
    ids = write_case(case, log)
    catalog = load_catalog()
    trace = open_or_import([log], tmp_dir=folder, keep_text=True)
    texts = kept_texts(trace.path)
    assert texts is not None
    with texts:
        why = ask(
            trace, scenario_of("log", catalog), catalog, texts=texts if with_text else None,
            keep_rows=True,
        )  # fmt: skip
    for row, finding in why.rows:
        if row.request.request_id == ids[case.at]:
            return Answer(row.outcome.explanation.reason, finding)
    raise AssertionError(f"{ids[case.at]} missed nothing")


def planted(names: tuple[str, ...], seed: int, bases: list[Any]) -> Case:
    rng = random.Random(f"{' '.join(names)} {seed}")
    case = base_case(rng.choice(bases), rng)
    case.alone = len(names) == 1
    for name in sorted(names, key=lambda name: name not in FIRST):
        PLANTS[name](case)
    return case


def pairs() -> Iterator[tuple[str, str]]:
    """Pairs of causes of which neither takes away what the other one changed."""
    names = [name for name in PLANTS if name not in WHOLE]
    for pair in itertools.combinations(names, 2):
        both = set(pair)
        if both <= HISTORY and both != {"thinking_stripped", "image_replaced"}:
            continue
        if not (both <= TOOLS or both <= MODELS):
            yield pair


def matrix(rows: Sequence[tuple[tuple[str, ...], Answer]]) -> str:
    """planted -> said, with counts, for the message of a failing test."""
    counts = Counter((names, tuple(sorted(a.certain)), a.finding.candidates) for names, a in rows)
    return "\n".join(
        f"{n:4} {' + '.join(names):45} said {said or 'nothing certain'} {candidates or ''}"
        for (names, said, candidates), n in counts.items()
        if set(said) != set(names)
    )


@pytest.fixture(scope="module")
def singles(bases: list[Any], tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Every cause alone, SEEDS times."""
    folder = tmp_path_factory.mktemp("singles")
    return [
        ((name,), answer(planted((name,), seed, bases), folder))
        for name in PLANTS
        for seed in range(SEEDS)
    ]


def test_every_planted_cause_is_one_that_why_can_name() -> None:
    assert set(PLANTS) <= set(CAUSES)


def test_of_single_causes_with_text_at_least_99_in_100_are_right_and_none_is_wrong(
    singles: list[Any],
) -> None:
    assert len(singles) == SEEDS * len(PLANTS)
    wrong = [names for names, a in singles if a.certain - set(names)]
    right = sum(a.certain == set(names) for names, a in singles)
    assert wrong == [], matrix(singles)
    assert right >= 0.99 * len(singles), matrix(singles)


def test_of_pairs_with_text_at_least_95_in_100_are_right_and_none_is_wrong(
    bases: list[Any], tmp_path: Path
) -> None:
    rows = [(pair, answer(planted(pair, 0, bases), tmp_path)) for pair in pairs()]
    assert len(rows) > 250
    wrong = [names for names, a in rows if a.certain - set(names)]
    right = sum(a.certain == set(names) for names, a in rows)
    assert wrong == [], matrix(rows)
    assert right >= 0.95 * len(rows), matrix(rows)


def test_without_text_no_certain_cause_is_wrong_nor_any_list_of_candidates(
    bases: list[Any], tmp_path: Path
) -> None:
    for name in PLANTS:
        for seed in range(2):
            said = answer(planted((name,), seed, bases), tmp_path, with_text=False)
            assert said.certain <= {name}, (name, said)
            assert not said.candidates or name in said.candidates, (name, said)


SPREAD = (1.0, 0.4, 3.0)  # times the usual gap between two requests: 47, 19 and 141 seconds


@pytest.mark.parametrize("name", formats.CLOCKS)
def test_a_clock_is_one_however_it_is_written(name: str, bases: list[Any], tmp_path: Path) -> None:
    write = formats.CLOCKS[name]
    for factor in SPREAD:
        case = planted_texts(f"{name}{factor}", bases)
        for call in case.calls:
            call.at_s *= factor
        into_system(case, [write(call.moment) for call in case.calls])
        assert answer(case, tmp_path).certain == {"clock"}


@pytest.mark.parametrize("name", formats.IDENTIFIERS)
def test_an_id_is_one_however_it_is_written(name: str, bases: list[Any], tmp_path: Path) -> None:
    for seed in range(3):
        case = planted_texts(f"{name}{seed}", bases)
        into_system(case, [formats.IDENTIFIERS[name](case.rng) for _ in case.calls])
        assert answer(case, tmp_path).certain == {"identifier"}


@pytest.mark.parametrize("name", formats.COUNTERS)
def test_a_counter_or_nonce_is_one_however_it_is_written(
    name: str, bases: list[Any], tmp_path: Path
) -> None:
    for seed in range(3):
        case = planted_texts(f"{name}{seed}", bases)
        into_system(case, [formats.COUNTERS[name](n, case.rng) for n in range(len(case.calls))])
        assert answer(case, tmp_path).certain == {"counter_or_nonce"}


LISTS = [
    *(("examples_shuffled", 1, name) for name in formats.EXAMPLES),
    *(("passages_reordered", 2, name) for name in formats.PASSAGES),
    *(("tools_reordered", 3, name) for name in formats.TOOL_LISTS),
]


@pytest.mark.parametrize(("cause", "block", "name"), LISTS)
def test_the_same_pieces_in_another_order_are_told_from_changed_ones(
    cause: str, block: int, name: str, bases: list[Any], tmp_path: Path
) -> None:
    writers = {**formats.EXAMPLES, **formats.PASSAGES, **formats.TOOL_LISTS}
    tables = {1: formats.EXAMPLES, 2: formats.PASSAGES, 3: formats.TOOL_LISTS}
    write = tables[block][name]
    assert name in writers
    for seed in range(3):
        case = planted_texts(f"{name}{seed}", bases)
        order = other_order(case)
        for n, call in enumerate(case.calls):
            call.system[block] = write(range(6) if n < case.at else order)
        said = answer(case, tmp_path)
        assert said.certain <= {cause}
        assert cause in said.certain | said.candidates


def planted_texts(seed: str, bases: list[Any]) -> Case:
    rng = random.Random(seed)
    return base_case(rng.choice(bases), rng)
