"""What the search for the best policy has replayed is known to What-if, and nothing else is."""

import gc
from pathlib import Path
from weakref import ref

import pytest
from sim.token_logs import META, built

from cachecast.dashboard.catalogue import catalogue
from cachecast.dashboard.folder import Folder
from cachecast.dashboard.opened import Opened, example_path, open_input, opened
from cachecast.dashboard.questions.optimum import OPTIMUM
from cachecast.dashboard.questions.what_if import WHAT_IF, whatifs_of
from cachecast.dashboard.what_if.sections import best_draft
from cachecast.progress import nothing_to_report
from cachecast.scenarios import scenario_of
from cachecast.whatif_job import WhatIf, WhatIfs
from cachecast.whatif_report import whatif_json
from cachecast_datasets.encode import batch_of
from cachecast_datasets.parquet_writer import log_writer

SCENARIO = "claude-opus-5"
TURN = {
    "after_s": 20, "session": "a", "keep": 0.5, "new_blocks": 9, "tail": 3, "first_token_s": 1.0,
    "end_s": 5.0, "model": "claude-opus-5", "typed": True,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def about(folder: Folder) -> Opened:
    """The built-in example."""
    return opened(open_input(example_path(), "example", folder, nothing_to_report))


def fresh(about: Opened, scenario: str = SCENARIO) -> WhatIfs:
    return WhatIfs(about.trace(), scenario_of(scenario, catalogue()), catalogue())


@pytest.mark.parametrize("scenario", [SCENARIO, f"{SCENARIO},ttl=1h"])
def test_taking_over_the_best_policy_replays_nothing_and_says_what_a_replay_says(
    about: Opened, folder: Folder, monkeypatch: pytest.MonkeyPatch, scenario: str
) -> None:
    """Also where the scenario has a lifetime for all markers, which the policy's replace."""
    best = OPTIMUM.answer(about, (scenario,), folder, nothing_to_report)
    text = best_draft(best, scenario, None).text
    new = fresh(about, scenario)
    expected = whatif_json(new.baseline(), [new.change(text)])

    whatifs_of(about, scenario).baseline()
    monkeypatch.setattr(WhatIfs, "_replay", None)
    found = WHAT_IF.answer(about, (scenario, text), folder, nothing_to_report)

    assert found == expected
    assert found["scenarios"][0]["charge"]["total"] == best["charge"]["total"]


def test_a_replay_under_another_lifetime_is_not_taken(about: Opened) -> None:
    """The search puts its own lifetimes in the place of the scenario's `ttl=`."""
    made = fresh(about).change("mark=end:5m")
    assert isinstance(made, WhatIf)
    hour = fresh(about, f"{SCENARIO},ttl=1h")

    hour.remember("mark=end:5m", made.replay)
    found = hour.change("mark=end:5m")

    assert isinstance(found, WhatIf)
    assert found.replay.scenario.settings.ttl == "1h"
    assert found.replay.totals is not made.replay.totals


def log_of(path: Path, folder: Folder, turns: int) -> Opened:
    """A log of our own format with that many requests, written there and opened."""
    with log_writer(path, META) as out:
        out.write(batch_of(built([TURN] * turns, False)))
    return opened(open_input(path, path.name, folder, nothing_to_report))


def test_a_log_that_was_replaced_is_read_anew(tmp_path: Path, folder: Folder) -> None:
    path = tmp_path / "log.parquet"
    before = log_of(path, folder, 3)
    assert whatifs_of(before, SCENARIO).baseline().totals.requests == 3

    after = log_of(path, folder, 5)
    assert after.log == before.log
    assert after.key != before.key
    assert after.trace().rows == 5
    assert whatifs_of(after, SCENARIO).baseline().totals.requests == 5


def test_no_more_than_two_logs_are_kept_in_memory(tmp_path: Path, folder: Folder) -> None:
    """The turns of a third one take the place of the first one's, under all its scenarios."""
    kept = []
    for number in range(3):
        about = log_of(tmp_path / f"{number}.parquet", folder, 3 + number)
        for scenario in (SCENARIO, f"{SCENARIO},ttl=1h"):
            whatifs_of(about, scenario).baseline()
        kept.append(ref(whatifs_of(about, SCENARIO)._turns))
        assert whatifs_of(about, f"{SCENARIO},ttl=1h")._turns is kept[-1]()
    gc.collect()
    assert [one() is None for one in kept] == [True, False, False]
