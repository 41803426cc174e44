"""Scenarios of the page What-if as values, text and address: what goes in comes out."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachecast.dashboard.what_if.draft import ORDERS, PINGS_EVERY_S, VOLATILE, Draft, draft_of
from cachecast.dashboard.what_if.fleets import Fleet, fleet_of
from cachecast.dashboard.what_if.kept import Kept, from_address, keep, to_address, without
from cachecast_datasets.errors import BadInput
from cachecast_sim.fleet.config import fleet_config

drafts = st.builds(
    Draft,
    model=st.sampled_from((None, "gpt-6-sol")),
    ttl=st.sampled_from((None, "5m", "1h")),
    mark=st.sampled_from((None, "last", "tools:1h+end:5m")),
    volatile=st.sampled_from((None, *VOLATILE)),
    order=st.sampled_from((None, *ORDERS)),
    summary=st.booleans(),
    batch=st.booleans(),
    more=st.sampled_from(("", "tenant=shared", "prewarm=5,response=exact")),
).flatmap(
    lambda draft: st.sampled_from((None, *PINGS_EVERY_S)).map(
        lambda every: Draft(
            draft.model,
            draft.ttl,
            draft.mark,
            draft.volatile,
            draft.order,
            draft.summary,
            draft.batch,
            draft.more,
            every,
            1 if every is None else 3,
            every is not None,
        )
    )
)


@given(drafts)
def test_the_text_of_a_scenario_reads_back_as_the_same_controls(draft: Draft) -> None:
    assert draft_of(draft.text) == draft


def test_pings_come_last_since_they_repeat_what_the_other_changes_made() -> None:
    draft = draft_of("keep-alive=290x3:paying,ttl=1h,tenant=shared")

    assert draft == Draft(ttl="1h", more="tenant=shared", every_s=290, times=3, paying=True)
    assert draft.text == "ttl=1h,tenant=shared,keep-alive=290x3:paying"


@pytest.mark.parametrize(
    "text", ["ttl=1h/5m", "keep-alive=100x3", "volatile=nothing", "what=ever", "ttl=1h,ttl=5m"]
)
def test_what_no_control_shows_is_kept_as_it_was_written(text: str) -> None:
    assert draft_of(text).text == text


def test_steps_lead_to_the_scenario_and_are_few() -> None:
    assert draft_of("ttl=1h,batch=on").steps == ["ttl=1h", "ttl=1h,batch=on"]
    assert Draft().steps == []
    long = ",".join(f"prewarm={n}" for n in range(9))
    assert draft_of(long).steps == [draft_of(long).text]
    assert len(draft_of(long.rpartition(",")[0]).steps) == 8


def test_a_fleet_beside_other_changes_is_left_for_the_refusal() -> None:
    assert draft_of("ttl=1h,fleet=x").more == "fleet=x"


def test_a_fleet_is_a_text_and_a_fleet_file_of_the_same_servers() -> None:
    fleet = Fleet(4, "h200-sxm", "llama-3.1-70b", 2, "cache_aware", "2.50")
    config = fleet_config(tomllib.loads(fleet.toml()))

    assert fleet.text == "4xh200-sxm:llama-3.1-70b:tp2:cache_aware:2.50"
    assert fleet_of(fleet.text) == fleet
    assert (config.servers, config.gpus) == (4, 8)
    assert config.cost is not None
    assert config.cost.gpu_hour == "2.50"


@pytest.mark.parametrize(
    "text",
    [
        "/etc/passwd", "own.toml", "0xh200-sxm:llama-3.1-8b:tp1:cache_aware",
        "4xh900:llama-3.1-8b:tp1:cache_aware", "4xh200-sxm:llama-3.1-8b:tp1:nowhere",
        "4xh200-sxm:llama-3.1-8b:tp1:cache_aware:free", "4xh200-sxm:llama-3.1-8b:1:cache_aware",
    ],
)  # fmt: skip
def test_a_fleet_that_is_a_path_or_unknown_is_refused(text: str) -> None:
    """An address that somebody sent opens no files."""
    with pytest.raises(BadInput, match="expected servers as 4xh200-sxm"):
        fleet_of(text)


def test_kept_scenarios_go_through_the_address() -> None:
    kept = keep(keep((), "An  ~hour", "ttl=1h"), "", "batch=on")

    assert kept == (Kept("An -hour", "ttl=1h"), Kept("batch=on", "batch=on"))
    assert from_address(to_address(kept)) == kept
    assert from_address(["no scenario", "empty~"]) == ()


def test_a_name_is_kept_once_and_twelve_are_the_most() -> None:
    kept = keep(keep((), "a", "ttl=1h"), "a", "ttl=5m")
    many = from_address([f"{number}~ttl=1h" for number in range(13)])

    assert kept == (Kept("a", "ttl=5m"),)
    assert without(kept, "a") == ()
    assert [one.name for one in many] == [str(number) for number in range(1, 13)]
