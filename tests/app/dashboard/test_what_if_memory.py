"""What the search for the best policy has replayed is known to What-if, and nothing else is."""

from pathlib import Path

import pytest

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

SCENARIO = "claude-opus-5"


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
