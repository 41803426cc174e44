"""The vectors of the fact sheet's sections on OpenAI and Azure, each by its id."""

from pathlib import Path
from typing import Any

import pytest
from conformance.vectors import assert_all_accounted, stated_ids
from rule_sketches import last, line, play, reads

from cachecast_pricing.catalog import load_catalog
from cachecast_pricing.quote import quote
from cachecast_pricing.reading import read_usage

NOT_TESTED = {
    "OAI-15": "qualitative: shares measured on somebody's traffic, no prompt is given",
}
USD = 10**12  # picounits
FIRST = [("tools", "T", 2000), ("developer", "D", 8000), ("user", "U1", 2000)]


def responses(prompt: int, cached: int, written: int) -> dict[str, Any]:
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "output_tokens": 0,
    }


def test_oai_01_a_cold_prompt_is_written_up_to_its_user_message() -> None:
    (first,) = play("gpt-5.6-sol", line(0, *FIRST))
    assert first.split == (0, 12000, 0)
    assert first.usage.cache_write_30m == 12000


def test_oai_02_an_appended_user_message_reads_the_rest() -> None:
    second = last("gpt-5.6-sol", line(0, *FIRST), line(10, *FIRST, ("user", "U2", 3000)))
    assert second.split == (12000, 3000, 0)


def test_oai_03_hidden_tokens_are_not_reported() -> None:
    # 3,000 hidden + 12,000 visible: the breakpoint at 15,000 is reported as 12,000, unrounded
    prompt = [("developer", "D", 11000), ("user", "U", 1000)]
    second = last("gpt-6-sol,hidden=3000", line(0, *prompt), line(10, *prompt))
    assert second.read == 15000 - 3000


def test_oai_04_the_chat_sample_includes_its_cached_tokens() -> None:
    usage = read_usage(
        "openai-chat",
        {
            "prompt_tokens": 2006, "completion_tokens": 300, "total_tokens": 2306,
            "prompt_tokens_details": {"cached_tokens": 1920, "cache_write_tokens": 0},
        },
    ).usage  # fmt: skip
    assert (usage.fresh, usage.cache_read, usage.cache_write) == (86, 1920, 0)
    assert usage.cache_read % 128 == 0
    assert usage.prompt_tokens + usage.output == 2306


@pytest.mark.parametrize(("requests", "units"), [(2, 135), (10, 215)])
def test_oai_05_one_write_and_its_reads_in_hundredths_of_an_uncached_pass(
    requests: int, units: int
) -> None:
    results = play("gpt-6-sol", *(line(n, *FIRST) for n in range(requests)))
    one_pass = 12000 * 2 * 10**6  # gpt-6-sol: 2 USD a million
    assert sum(result.charge or 0 for result in results) == one_pass * units // 100


def test_oai_06_a_rewritten_user_message_has_no_boundary_inside() -> None:
    second = last(
        "gpt-6-sol",
        line(0, ("user", "A", 2000)),
        line(10, ("user", "A", 2000), ("user", "B", 500, None, {"join": True})),
    )
    assert second.read == 0


def test_oai_07_explicit_mode_does_not_look_at_message_endings() -> None:
    second = last(
        "gpt-6-sol",
        line(0, ("user", "U1", 3000)),
        line(10, ("user", "U1", 3000), ("user", "U2", 500, "breakpoint"), cache="explicit"),
    )
    assert second.split == (0, 3500, 0)


def questions(marker: str | None) -> list[Any]:
    return [
        line(n, ("developer", "D", 8000, marker), ("user", f"Q{n}", 1000 + n)) for n in range(3)
    ]


def test_oai_09_a_fixed_developer_text_before_changing_questions_is_never_read() -> None:
    results = play("gpt-6-sol", *questions(None))
    assert [result.split for result in results] == [(0, 9000 + n, 0) for n in range(3)]


def test_oai_09_a_developer_only_prewarm_writes_the_entry() -> None:
    prewarm = line(0, ("developer", "D", 8000), prewarm=True, output=0, id="prewarm")
    lines = [prewarm, *(entry | {"at": entry["at"] + 1} for entry in questions(None))]
    assert reads("gpt-6-sol", *lines) == [0, 8000, 8000, 8000]


def test_oai_10_an_explicit_breakpoint_on_the_developer_text_is_read() -> None:
    assert reads("gpt-6-sol", *questions("breakpoint")) == [0, 8000, 8000]


def test_oai_11_explicit_mode_without_breakpoints_caches_nothing() -> None:
    prompt = [("developer", "D", 49000), ("user", "Q", 1000)]
    lines = [line(n, *prompt, cache="explicit") for n in range(2)]
    for result in play("gpt-6-sol", *lines):
        assert result.split == (0, 0, 50000)
        assert result.reason == "not_requested"


@pytest.mark.parametrize(
    ("ends_at", "read"), [(1, 0), (2, 0), (3, 6000), (4, 8000), (5, 10000), (6, 12000)]
)
def test_oai_13_of_six_breakpoints_the_latest_four_are_written(ends_at: int, read: int) -> None:
    prompt = [("user", f"U{n}", 2000, "breakpoint") for n in range(1, 7)]
    lines = [
        line(0, *prompt, cache="explicit"),
        line(10, *prompt[:ends_at], cache="explicit"),
    ]
    assert reads("gpt-6-sol", *lines) == [0, read]


def test_oai_14_the_measured_tail_of_133_tokens_is_never_cached() -> None:
    prompt = [("developer", "D", 9000), ("user", "Q", 9556 + 133 - 9000)]
    first, second = play("gpt-6-luna,tail=133", line(0, *prompt), line(10, *prompt))
    assert first.split == (0, 9556, 133)
    assert second.split == (9556, 0, 133)


@pytest.mark.parametrize(
    ("hidden", "cached"), [(640, 3456), (641, 3328), (700, 3328), (768, 3328), (769, 3200)]
)
def test_oai_16_gpt_5_5_rounds_down_to_128_after_taking_off_the_hidden_tokens(
    hidden: int, cached: int
) -> None:
    prompt = [("user", "Q", 3741)]
    second = last(f"gpt-5.5,hidden={hidden}", line(0, *prompt), line(10, *prompt))
    assert second.split == (cached, 0, 3741 - cached)


@pytest.mark.parametrize(
    ("visible", "hidden", "cached"),
    [(1323, 724, 0), (1289, 724, 0), (1323, 725, 1280)],  # 1323 + 725 = 2048
)
def test_oai_17_gpt_5_5_has_no_breakpoint_before_2048_tokens(
    visible: int, hidden: int, cached: int
) -> None:
    prompt = [("user", "Q", visible)]
    assert reads(f"gpt-5.5,hidden={hidden}", line(0, *prompt), line(10, *prompt)) == [0, cached]


def cost(tokens: int, requests: int) -> int:
    """Picounits of `requests` equal prompts of so many tokens, sent one after the other."""
    prompt = [("user", "Q", tokens)]
    return sum(
        r.charge or 0 for r in play("gpt-6-sol", *(line(n, *prompt) for n in range(requests)))
    )


@pytest.mark.parametrize(("length", "padding_pays"), [(220, False), (221, True)])
def test_oai_18_padding_a_short_prefix_to_1024_pays_from_221_tokens_on_for_ten_requests(
    length: int, padding_pays: bool
) -> None:
    # 1024 * (0.1 + (1.25 - 0.1) / 10) = 220.16
    assert (cost(1024, 10) < cost(length, 10)) is padding_pays


@pytest.mark.parametrize(
    ("length", "requests", "padding_pays"), [(103, 1962, False), (103, 1963, True)]
)
def test_oai_18_at_103_tokens_it_takes_1963_requests(
    length: int, requests: int, padding_pays: bool
) -> None:
    # 1024 * (0.1 + 1.15 / n) < 103; 102 tokens never pay, as 1024 * 0.1 = 102.4
    assert (cost(1024, requests) < cost(length, requests)) is padding_pays


@pytest.mark.parametrize(
    ("cached", "written", "usd"), [(0, 12000, "0.03"), (12000, 0, "0.0024")], ids=["write", "read"]
)
def test_oai_20_gpt_6_sol_writes_and_reads_12000_tokens(
    cached: int, written: int, usd: str
) -> None:
    found = quote(load_catalog(), "gpt-6-sol", responses(12000, cached, written))
    assert found.as_json()["charge"]["total"] == usd


def test_az_02_a_difference_inside_the_first_1024_tokens_reads_nothing() -> None:
    lines = [
        line(0, ("user", "one", 1000), ("user", "rest", 5000)),
        line(10, ("user", "One", 1000), ("user", "rest", 5000)),
    ]
    assert reads("gpt-5.4", *lines) == [0, 0]


def test_every_stated_vector_is_tested_or_listed_with_a_reason(shared: Path) -> None:
    stated = stated_ids(shared, "OAI-") | stated_ids(shared, "AZ-")
    assert_all_accounted(stated, list(globals()), NOT_TESTED)
