"""Causes planted beside the prompt: settings, scope, time, markers, and who wrote before."""

import copy
from typing import Any

from planted_logs import Case
from planted_table import later, plant

SETTINGS: list[dict[str, Any]] = [
    {"tool_choice": {"type": "any"}},
    {"thinking": {"type": "enabled", "budget_tokens": 2048}},
    {"output_config": {"effort": "low"}},
    {"speed": "fast"},
]


@plant("settings_changed")
def settings_changed(case: Case) -> None:
    changed = case.rng.choice(SETTINGS)
    for call in later(case):
        call.settings |= changed


@plant("model_alias_changed")
def model_alias(case: Case) -> None:
    name = case.rng.choice(["claude-opus-5-20260801", "claude-opus-5-latest"])
    for call in later(case):
        call.model = name


@plant("model_changed")
def model_changed(case: Case) -> None:
    for call in later(case):
        call.model = "claude-sonnet-5"


@plant("account_changed")
def account_changed(case: Case) -> None:
    for call in later(case):
        call.account = "other-workspace"


@plant("host_changed")
def host_changed(case: Case) -> None:
    for call in later(case):
        call.host = "us-east5-aiplatform.googleapis.com"


@plant("ttl_expired")
def ttl_expired(case: Case) -> None:
    pause = case.rng.choice([301, 320, 900, 3_000])
    for call in later(case):
        call.at_s += pause


@plant("not_requested")
def not_requested(case: Case) -> None:
    for call in later(case):
        call.marked = False


@plant("below_minimum")
def below_minimum(case: Case) -> None:
    for call in later(case):
        call.tools, call.system = [], ["Write a title."]
        call.messages = [{"role": "user", "content": [{"type": "text", "text": "Hello there."}]}]


@plant("lookback_exceeded")
def lookback_exceeded(case: Case) -> None:
    """One turn of 24 blocks, and no marker on tools and system text that would help."""
    blocks = [{"type": "text", "text": f"Note {n}: the file was read again."} for n in range(24)]
    for call in case.calls:
        call.system, call.tools = [], []
        call.messages[0]["content"].insert(0, {"type": "text", "text": "A long brief. " * 300})
    for call in later(case):
        grown = {"role": "user", "content": copy.deepcopy(blocks)}
        call.messages = [*case.calls[case.at - 1].messages, grown]


@plant("concurrent_with_writer")
def concurrent(case: Case) -> None:
    """Two of a fan-out start before the first answers; both have the same new prefix."""
    for call in case.calls[case.at - 1 :]:
        call.system = [*call.system, "A new common brief for the workers. " * 60]
        call.session = f"w{call.at_s}"
    for call in later(case):
        call.at_s = case.calls[case.at - 1].at_s + 0.2
        call.messages = copy.deepcopy(case.calls[case.at - 1].messages)


@plant("marker_misplaced")
def marker_misplaced(case: Case) -> None:
    """A large stable text behind the system's marker, the next marker behind what varies."""
    brief = {"type": "text", "text": "The brief that all agents get. " * 200}
    for n, call in enumerate(case.calls):
        call.session = f"agent{n}"
        ask = {"type": "text", "text": f"Take part {'abcdef'[n]}."}
        call.messages = [{"role": "user", "content": [copy.deepcopy(brief), ask]}]


@plant("aborted_writer")
def aborted_writer(case: Case) -> None:
    """The call that brings a new system text ends before its first token; the next one repeats it.

    Nothing of it was stored, and its prompt is all that the planted call has.
    """
    writer = case.calls[case.at - 1]
    for call in case.calls[case.at - 1 :]:
        call.system = [*call.system, "A new house rule for everything that follows. " * 60]
    for call in later(case):
        call.messages = copy.deepcopy(writer.messages)
    writer.aborted = True
