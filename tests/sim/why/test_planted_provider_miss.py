"""A provider that did not keep what nobody changed: `why` may name it, never a cause of the caller.

Every other request reports the usage that the rules predict, so that nothing else is odd.
"""

import copy
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_calls import message, usage
from planted_logs import Case, base_case, conversations, write_case

from cachecast.scenarios import scenario_of
from cachecast_datasets.importing import open_or_import
from cachecast_datasets.kept_texts import kept_texts
from cachecast_pricing.catalog import load_catalog
from cachecast_sim.billing import Billing
from cachecast_sim.ledger import LedgerRow
from cachecast_sim.why.asking import answers
from cachecast_sim.why.causes import Finding
from cachecast_sim.why.observed_stop import observed_stop

Miss = Callable[[LedgerRow], dict[str, Any]]


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Conversations of a coding agent to plant into."""
    return conversations(tmp_path_factory.mktemp("base"), seed=3)


def asked(case: Case, folder: Path) -> list[tuple[LedgerRow, Finding]]:
    """Every request with its finding, those that read everything too."""
    log = folder / "log.jsonl"
    write_case(case, log)
    catalog = load_catalog()
    trace = open_or_import([log], tmp_dir=folder, keep_text=True)
    texts = kept_texts(trace.path)
    assert texts is not None
    with texts:
        billing = Billing(scenario_of("log", catalog), catalog, trace.meta)
        rows = list(answers(billing, trace.requests(columns=billing.columns()), texts.of))
    return sorted(rows, key=lambda answer: answer[0].outcome.ordinal)


def all_written(row: LedgerRow) -> dict[str, Any]:
    """Nothing read: what could have been read is written again."""
    return usage(row.usage.fresh, 0, row.usage.cache_read + row.usage.cache_write)


def system_read(row: LedgerRow) -> dict[str, Any]:
    """Read up to the end of the system text, the rest written again."""
    found = row.request.boundaries
    assert found is not None
    read = found.tokens[found.names.index("system")]
    assert 0 < read < row.usage.cache_read
    return usage(row.usage.fresh, read, row.usage.cache_read - read + row.usage.cache_write)


def nothing_cached(row: LedgerRow) -> dict[str, Any]:
    """Neither read nor written."""
    return usage(row.usage.prompt_tokens)


@pytest.mark.parametrize("miss", [all_written, system_read, nothing_cached])
@pytest.mark.parametrize("repeated", [False, True])
def test_a_miss_of_the_provider_is_never_put_down_to_the_caller(
    bases: list[Any], tmp_path: Path, miss: Miss, repeated: bool
) -> None:
    for seed in range(6):
        rng = random.Random(f"{miss.__name__} {seed}")
        case = base_case(rng.choice(bases), rng)
        planted = case.calls[case.at]
        if repeated:  # to the byte: then not even the last turn is new
            planted.messages = copy.deepcopy(case.calls[case.at - 1].messages)
        for call, (row, _) in zip(case.calls, asked(case, tmp_path), strict=True):
            told = usage(row.usage.fresh, row.usage.cache_read, row.usage.cache_write)
            call.reply = message(miss(row) if call is planted else told)

        found = asked(case, tmp_path)
        row, finding = found.pop(case.at)
        assert (finding.cause, finding.candidates, finding.also) == (None, (), ())
        stop = observed_stop(row)
        assert stop is not None
        assert "provider_miss" in stop.candidates
        assert {gap.cause for gap in stop.gaps} <= {"provider_miss", "unknown"}
        assert [observed_stop(other) for other, _ in found] == [None] * 5
