"""`--as MODEL[,key=value]…`: every key of design §10, its default, and what it refuses."""

from dataclasses import fields
from datetime import UTC, datetime

import pytest

from cachecast.scenarios import scenario_of, scenarios_of
from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog import load_catalog
from cachecast_pricing.rules.settings import RuleSettings
from cachecast_sim.scenario import Scenario


def parsed(text: str) -> Scenario:
    return scenario_of(text, load_catalog())


DEFAULTS = {
    "grace": "0", "lookback": "20", "group_tools": "on", "lookup": "2+50", "upgrade": "off",
    "tool_choice": "on", "hidden": "0", "tail": "0", "interval": "off", "unit": "off",
    "output_units": "on", "build_delay": "2", "overflow": "off",
}  # fmt: skip


@pytest.mark.parametrize(("key", "value"), DEFAULTS.items())
def test_a_default_written_out_changes_nothing(key: str, value: str) -> None:
    for model in ("claude-opus-5", "gpt-6-sol", "deepseek-flash"):
        assert parsed(f"{model},{key}={value}").settings == RuleSettings()


CHANGES = {
    "ttl": "1h", "mark": "last", "first_token": "0", "grace": "1.5", "lookback": "19",
    "group_tools": "off", "lookup": "80", "upgrade": "on", "tool_choice": "off", "hidden": "700",
    "tail": "133", "interval": "4096", "unit": "64", "output_units": "off", "build_delay": "5",
    "overflow": "15",
}  # fmt: skip


@pytest.mark.parametrize(("key", "value"), CHANGES.items())
def test_every_key_changes_exactly_one_setting(key: str, value: str) -> None:
    found, default = parsed(f"claude-opus-5,{key}={value}").settings, RuleSettings()
    names = [f.name for f in fields(found)]
    assert len([n for n in names if getattr(found, n) != getattr(default, n)]) == 1


def test_the_other_keys_are_the_scenario_s_own() -> None:
    found = parsed("deepseek-flash,on=2026-11-16T02:30:00Z,tier=standard,currency=CNY,name=mine")
    assert found.name == "mine"
    assert (found.tier, found.currency) == ("standard", "CNY")
    assert found.settings == RuleSettings()
    assert found.on is not None


def test_a_scenario_is_named_after_its_text() -> None:
    assert parsed("claude-opus-5,ttl=1h").name == "claude-opus-5,ttl=1h"


def test_log_stands_for_each_request_s_own_model() -> None:
    assert parsed("log").model is None
    assert parsed("log,on=2026-11-01").model is None


def test_other_spellings_of_a_model_are_the_same_model() -> None:
    for text in ("claude-opus-4-5-20251101", "anthropic/claude-opus-4.5", "claude-opus-4.5-latest"):
        found = parsed(text).model
        assert found is not None
        assert found.model == "claude-opus-4.5"


def test_no_as_is_the_log_itself() -> None:
    (found,) = scenarios_of([], load_catalog())
    assert (found.name, found.model) == ("log", None)


def test_two_scenarios_of_one_name_are_refused() -> None:
    texts = ["claude-opus-5", "claude-opus-4.8,name=claude-opus-5"]
    with pytest.raises(BadInput, match="name"):
        scenarios_of(texts, load_catalog())


@pytest.mark.parametrize(
    "text",
    [
        "claude-opus-5,ttl=", "claude-opus-5,=5m", "claude-opus-5,", "claude-opus-5,ttl=5M",
        "claude-opus-5,name=", "claude-opus-5,hidden=-1", "claude-opus-5,hidden=1e3",
        "claude-opus-5,grace=inf", "claude-opus-5,grace=one", "claude-opus-5,overflow=on",
        "claude-opus-5,unit=-64", "", ",ttl=5m",
    ],
)  # fmt: skip
def test_everything_else_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(BadInput):
        parsed(text)


def test_a_moment_keeps_its_time_zone() -> None:
    on = parsed("claude-opus-5,on=2026-11-16T10:30:00+08:00").on
    moment = getattr(on, "start", on)
    assert moment == datetime(2026, 11, 16, 2, 30, tzinfo=UTC)
