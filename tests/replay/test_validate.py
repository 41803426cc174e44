"""What replay/validate.py decides: which workloads, how often, within which time."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

CALIBRATED = {
    "machine": "a machine", "engine": "torch",
    "held_out": {"steps": 2, "mean_pct": 1, "p90_pct": 2}, "round_levels_pct": [-0.51, 0, 1.2],
}  # fmt: skip


@pytest.fixture
def script(root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("validate", root / "replay/validate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # its dataclasses look there
    spec.loader.exec_module(module)

    def judged(check: Any, name: str, workload: Any, replays: int) -> Any:
        agents, load, blocks = workload
        on = " ".join(check.on[2:])
        print(f"{name}: {agents.sessions} at {load} on {blocks}, {replays} times {on}")
        wrong = 3 if name == "load 0.9" else 0
        missed = [f"{name}: too long"] if name == "load 0.7" else []
        return module.Judgement(wrong, missed, noisy=name == "load 0.6")

    monkeypatch.setattr(module, "judged", judged)
    monkeypatch.setattr(module.Check, "calibrate", lambda self, seconds: CALIBRATED)
    return module


def run(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    *options: str,
) -> tuple[int, list[str]]:  # fmt: skip
    """The exit code, and what is printed between the calibration and the time in all."""
    monkeypatch.setattr(sys, "argv", ["validate.py", *options])
    code = script.main()
    return code, [line for line in capsys.readouterr().out.splitlines()[3:-2] if line]


def test_loads_sessions_replays_and_a_device_can_be_chosen(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loads, more = ("--load", "0.3", "--load", "0.6"), ("--sessions", "9", "--replays", "4")
    found = run(script, monkeypatch, capsys, *loads, *more, "--device", "cuda", "--raw")
    assert found == (0, [
        "load 0.3: 9 at 0.3 on 4001, 4 times --device cuda",
        "load 0.6: 9 at 0.6 on 4001, 4 times --device cuda",
    ])  # fmt: skip


def test_unasked_it_runs_four_workloads_three_times_on_the_cpu_beside_a_probe(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(script, monkeypatch, capsys) == (0, [
        "load 0.5: 15 at 0.5 on 4001, 3 times --device cpu --normalise",
        "load 0.8: 15 at 0.8 on 4001, 3 times --device cpu --normalise",
        "bursts, load 0.5: 15 at 0.5 on 4001, 3 times --device cpu --normalise",
        "tight cache, load 0.9: 15 at 0.9 on 260, 3 times --device cpu --normalise",
    ])  # fmt: skip


def test_a_lock_step_that_differs_fails_the_whole(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(script, monkeypatch, capsys, "--load", "0.9", "--load", "0.5")[0] == 1


@pytest.mark.parametrize(
    ("loads", "last"),
    [
        (("0.5",), "every goal that was judged is met"),
        (("0.5", "0.7"), "goals missed: load 0.7: too long"),
        (
            ("0.6", "0.7"),
            "goals missed: load 0.7: too long; the free-running goals of 1 were not judged: "
            "machine too noisy",
        ),
    ],
)
def test_the_last_line_says_which_goals_are_missed(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    loads: tuple[str, ...], last: str,
) -> None:  # fmt: skip
    """A missed goal may be the machine's: it is no error, as a difference in lock-step is."""
    options = [option for load in loads for option in ("--load", load)]
    monkeypatch.setattr(sys, "argv", ["validate.py", *options])
    assert script.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == last
    assert lines[1] == (
        "step model, 2 held-out kinds of step: mean 1.0 %, p90 2.0 %; goal 5 %, 10 %: met"
    )
    assert lines[2] == "  its rounds beside their mean: -0.5 %, +0.0 %, +1.2 %"


@pytest.mark.parametrize(("within_s", "left_out"), [("20", False), ("19", True)])
def test_a_workload_that_would_end_too_late_is_left_out_and_named(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    within_s: str, left_out: bool,
) -> None:  # fmt: skip
    """The first is begun at 0 s and ends at 10, so the second would end at 20."""
    times = iter([0.0, 0.0, 10.0, 10.0, 20.0, 20.0])
    monkeypatch.setattr(script.time, "monotonic", lambda: next(times))
    options = ("--load", "0.3", "--load", "0.6", "--within-s", within_s)
    _, lines = run(script, monkeypatch, capsys, *options)
    ran = "load 0.6: 15 at 0.6 on 4001, 3 times --device cpu --normalise"
    out = "load 0.6: left out, 19 s are too few for it"
    assert lines[1:] == [out if left_out else ran]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--replays", "1"], "--replays: expected at least 2, whose difference is the noise floor"),
        (["--load", "0"], "--load: expected more than 0"),
        (["--sessions", "0"], "--sessions: expected at least 1"),
    ],
)
def test_what_cannot_be_validated_is_refused(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    options: list[str], message: str,
) -> None:  # fmt: skip
    with pytest.raises(SystemExit) as leaving:
        run(script, monkeypatch, capsys, *options)
    assert leaving.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"validate.py: error: {message}"
