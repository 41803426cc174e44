"""The vectors of the fact sheet's section on Anthropic, each by its id."""

from pathlib import Path
from typing import Any

import pytest
from conformance.vectors import assert_all_accounted, stated_ids
from rule_sketches import Item, last, line, play, reads

from cachecast_pricing.catalog import load_catalog
from cachecast_pricing.quote import quote
from cachecast_pricing.reading import read_usage

NOT_TESTED = {
    "ANT-23": "about rate limits: no prompt, no usage, no charge",
}
USD = 10**12  # picounits


def blocks(count: int, *marked: int, tokens: int = 600, last_name: str | None = None) -> list[Item]:
    """`count` blocks of 600 tokens, B1 … Bn; markers on the `marked` ones (counted from 1)."""
    names = [f"B{n}" for n in range(1, count + 1)]
    if last_name is not None:
        names[-1] = last_name
    marks = ["5m" if n in marked else None for n in range(1, count + 1)]
    return [("user", name, tokens, mark) for name, mark in zip(names, marks, strict=True)]


def usage_of(raw: dict[str, Any]) -> Any:
    return read_usage("anthropic", raw).usage


def test_ant_01_ten_blocks_with_a_marker_on_the_tenth_write_all_ten() -> None:
    (first,) = play("claude-opus-5", line(0, *blocks(10, 10)))
    assert first.split == (0, 10 * 600, 0)


def test_ant_02_fifteen_blocks_read_the_ten_and_write_five() -> None:
    second = last("claude-opus-5", line(0, *blocks(10, 10)), line(1, *blocks(15, 15)))
    assert second.split == (10 * 600, 5 * 600, 0)


GROWING = (line(0, *blocks(10, 10)), line(1, *blocks(15, 15)))


def test_ant_03_thirty_five_blocks_look_back_to_the_sixteenth_only() -> None:
    third = last("claude-opus-5", *GROWING, line(2, *blocks(35, 35)))
    assert third.split == (0, 35 * 600, 0)
    assert third.reason == "lookback_exceeded"


def test_ant_04_a_second_marker_on_the_fifteenth_finds_the_entry() -> None:
    third = last("claude-opus-5", *GROWING, line(2, *blocks(35, 15, 35)))
    assert third.split == (15 * 600, 20 * 600, 0)


def test_ant_05_a_marker_on_the_block_with_the_timestamp_writes_every_time() -> None:
    lines = [line(n, *blocks(6, 6, last_name=f"time {n}")) for n in range(3)]
    for result in play("claude-opus-5", *lines):
        assert result.split == (0, 6 * 600, 0)


def test_ant_06_a_marker_before_the_timestamp_reads_from_the_second_request_on() -> None:
    lines = [line(n, *blocks(6, 5, last_name=f"time {n}")) for n in range(2)]
    first, second = play("claude-opus-5", *lines)
    assert first.split == (0, 5 * 600, 600)
    assert second.split == (5 * 600, 0, 600)


def test_ant_07_automatic_mode_moves_its_marker_to_the_last_block() -> None:
    sizes = {
        "sys": 5000,
        "U1": 100,
        "A1": 200,
        "U2": 110,
        "A2": 210,
        "U3": 120,
        "A3": 220,
        "U4": 130,
    }

    def turn(at: float, *names: str) -> Any:
        sections = {"s": "system", "U": "user", "A": "assistant"}
        items = [(sections[name[0]], name, sizes[name]) for name in names]
        return line(at, *items, cache="auto")

    history = ("sys", "U1", "A1", "U2")
    one, two, three = play(
        "claude-opus-5",
        turn(0, *history),
        turn(10, *history, "A2", "U3"),
        turn(20, *history, "A2", "U3", "A3", "U4"),
    )
    assert one.split == (0, 5000 + 100 + 200 + 110, 0)
    assert two.split == (5410, 210 + 120, 0)
    assert three.split == (5410 + 330, 220 + 130, 0)


ANT_08 = {
    "input_tokens": 2048, "cache_read_input_tokens": 1800, "cache_creation_input_tokens": 248,
    "cache_creation": {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 100},
    "output_tokens": 503,
}  # fmt: skip


@pytest.mark.parametrize(
    "raw",
    [
        ANT_08,
        # the vector's own, flat spelling
        {k: v for k, v in ANT_08.items() if k != "cache_creation"}
        | {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 100},
    ],
)
def test_ant_08_the_sample_usage_is_a_prompt_of_4096(raw: dict[str, Any]) -> None:
    usage = usage_of(raw)
    assert (usage.fresh, usage.cache_read, usage.output) == (2048, 1800, 503)
    assert (usage.cache_write_5m, usage.cache_write_1h) == (148, 100)
    assert usage.prompt_tokens == 4096


@pytest.mark.parametrize(("read", "prompt"), [(100_000, 100_050), (200_000, 200_050)])
def test_ant_09_10_input_tokens_are_only_what_follows_the_last_marker(
    read: int, prompt: int
) -> None:
    raw = {
        "input_tokens": 50, "cache_read_input_tokens": read, "cache_creation_input_tokens": 0,
        "output_tokens": 0,
    }  # fmt: skip
    assert usage_of(raw).prompt_tokens == prompt


def test_ant_11_a_prewarm_writes_and_puts_nothing_out() -> None:
    usage = usage_of(
        {
            "input_tokens": 8, "cache_creation_input_tokens": 5120, "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 5120, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 0,
        }
    )  # fmt: skip
    assert (usage.prompt_tokens, usage.cache_write_5m, usage.output) == (5128, 5120, 0)


def test_ant_12_another_thinking_budget_loses_the_messages() -> None:
    prompt = [("user", "long text", 1370, "5m")]
    lines = [
        line(0, *prompt, settings={"thinking": {"type": "enabled", "budget_tokens": 4000}}),
        line(10, *prompt, settings={"thinking": {"type": "enabled", "budget_tokens": 4000}}),
        line(20, *prompt, settings={"thinking": {"type": "enabled", "budget_tokens": 8000}}),
    ]
    _, second, third = play("claude-sonnet-4.6", *lines)
    assert second.split == (1370, 0, 0)
    assert third.split == (0, 1370, 0)


def test_ant_13_another_effort_loses_the_messages() -> None:
    prompt = [("user", "long text", 3546, "5m")]
    lines = [
        line(0, *prompt, settings={"output_config.effort": "high"}),
        line(10, *prompt, settings={"output_config.effort": "medium"}),
    ]
    assert last("claude-opus-5", *lines).split == (0, 3546, 0)


def test_ant_14_mixed_lifetimes_split_the_write() -> None:
    (only,) = play(
        "claude-opus-5",
        line(0, ("system", "S", 3000, "1h"), ("user", "Q", 2000, "5m"), ("user", "tail", 200)),
    )
    usage = only.usage
    assert (usage.cache_read, usage.cache_write_1h) == (0, 3000)
    assert (usage.cache_write_5m, usage.fresh) == (2000, 200)


@pytest.mark.parametrize(
    ("model", "prefix", "total", "written"),
    [
        pytest.param("claude-opus-5", 511, 600, 0, id="ANT-17"),
        pytest.param("claude-opus-5", 512, 600, 512, id="ANT-18"),
        pytest.param("claude-opus-4.6", 3000, 3100, 0, id="ANT-19"),
    ],
)
def test_ant_17_18_19_the_shortest_cached_prefix_depends_on_the_model(
    model: str, prefix: int, total: int, written: int
) -> None:
    prompt = [("system", "S", prefix, "5m"), ("user", "Q", total - prefix)]
    (only,) = play(model, line(0, *prompt))
    assert only.split == (0, written, total - written)


@pytest.mark.parametrize(("seconds_after_end", "read"), [(60, 5000), (60.000001, 0)])
def test_ant_20_a_response_of_four_minutes_leaves_one_minute(
    seconds_after_end: float, read: int
) -> None:
    prompt = [("system", "S", 5000, "5m")]
    first = line(0, *prompt, ttft=2, took=240)
    second = line(240 + seconds_after_end, *prompt)
    assert reads("claude-opus-5", first, second) == [0, read]


def test_ant_21_the_sample_usage_costs_this_at_opus_5_rates() -> None:
    found = quote(load_catalog(), "claude-opus-5", ANT_08)
    by_hand = 2048 * 5 + 1800 * 0.5 + 148 * 6.25 + 100 * 10 + 503 * 25  # USD per million
    assert by_hand == 25640
    assert found.charge.total == 25640 * USD // 10**6


@pytest.mark.parametrize(
    ("ttl", "passes", "cached", "plain"), [("5m", 2, "1.35", "2"), ("1h", 3, "2.2", "3")]
)
def test_ant_22_a_write_and_its_reads_in_units_of_one_uncached_pass(
    ttl: str, passes: int, cached: str, plain: str
) -> None:
    prompt = [("system", "S", 1000, ttl)]
    results = play("claude-opus-5", *(line(n, *prompt) for n in range(passes)))
    one_pass = 1000 * 5 * 10**6
    total = sum(result.charge or 0 for result in results)
    assert total == round(float(cached) * 100) * one_pass // 100
    assert int(plain) * one_pass == passes * one_pass > total


@pytest.mark.parametrize(
    ("read_share", "usd"), [(0, "11.20"), (90, "1.62"), (96, "0.99")], ids=["0%", "90%", "96%"]
)
def test_ant_24_forty_turns_of_opus_5_5(read_share: int, usd: str) -> None:
    read = 2_800_000 * read_share // 100
    raw = {
        "input_tokens": 2_800_000 - read, "cache_read_input_tokens": read,
        "cache_creation_input_tokens": 0, "output_tokens": 0,
    }  # fmt: skip
    found = quote(load_catalog(), "claude-opus-5.5", raw, on="2026-10-08")
    # 4 USD fresh, 0.20 USD read a million; the source shows cents
    assert found.charge.total == ((2_800_000 - read) * 40 + read * 2) * USD // 10**7
    assert f"{found.charge.total / USD:.2f}" == usd


def test_ant_26_at_exactly_100_000_tokens_haiku_5_5_keeps_its_read_price() -> None:
    raw = {
        "input_tokens": 0, "cache_read_input_tokens": 100_000, "cache_creation_input_tokens": 0,
        "output_tokens": 0,
    }  # fmt: skip
    found = quote(load_catalog(), "claude-haiku-5.5", raw, on="2026-10-08")
    assert found.charge.total == USD // 1000


def test_every_stated_vector_is_tested_or_listed_with_a_reason(shared: Path) -> None:
    assert_all_accounted(stated_ids(shared, "ANT-"), list(globals()), NOT_TESTED)
