"""The vectors of the fact sheet's section on DeepSeek, each by its id."""

from fractions import Fraction
from pathlib import Path

import pytest
from conformance.vectors import assert_all_accounted, stated_ids
from rule_sketches import line, reads

from cachecast_pricing.reading import read_usage

NOT_TESTED: dict[str, str] = {}

A, B, C, D = ("system", "A", 3000), ("user", "B", 500), ("user", "C", 600), ("user", "D", 700)


def test_ds_01_a_longer_prompt_reads_the_whole_shorter_one() -> None:
    assert reads("deepseek-flash", line(0, A, B), line(60, A, B, C)) == [0, 3000 + 500]


def test_ds_02_a_common_prefix_is_read_from_the_third_request_on() -> None:
    lines = [line(0, A, B), line(60, A, C), line(120, A, D)]
    assert reads("deepseek-flash", *lines) == [0, 0, 3000]


def test_ds_03_three_questions_about_a_long_document() -> None:
    document = ("user", "document", 20000)
    lines = [
        line(60 * n, A, document, ("user", f"Q{n}", 50, None, {"join": True})) for n in range(3)
    ]
    assert reads("deepseek-flash", *lines) == [0, 0, 3000 + 20000]


USAGE = {
    "prompt_tokens": 5124,
    "completion_tokens": 0,
    "prompt_cache_hit_tokens": 4864,
    "prompt_cache_miss_tokens": 260,
}


def test_ds_04_hit_and_miss_are_the_prompt() -> None:
    usage = read_usage("deepseek", USAGE).usage
    assert (usage.cache_read, usage.fresh, usage.prompt_tokens) == (4864, 260, 5124)
    assert usage.cache_read % 128 == usage.cache_read % 64 == 0
    assert round(usage.cache_read / usage.prompt_tokens, 4) == 0.9493


def test_ds_06_the_same_usage_at_the_article_s_rates() -> None:
    usage = read_usage("deepseek", USAGE).usage
    cny = usage.cache_read * Fraction("0.05") + usage.fresh * Fraction("1.50")
    assert cny / 10**6 == Fraction("0.0006332")


@pytest.mark.parametrize(("common", "hit"), [(63, 0), (64, 64), (130, 128)])
def test_ds_07_the_2024_rule_reads_whole_units_of_64_tokens(common: int, hit: int) -> None:
    lines = [
        line(0, ("system", "S", common), ("user", "Q1", 300)),
        line(60, ("system", "S", common), ("user", "Q2", 301)),
    ]
    assert reads("deepseek-flash,unit=64", *lines) == [0, hit]


def test_ds_08_by_the_rule_the_second_question_about_one_system_text_reads_nothing() -> None:
    lines = [line(60 * n, ("system", "S", 1250), ("user", f"Q{n}", 20)) for n in range(3)]
    assert reads("deepseek-flash", *lines) == [0, 0, 1250]


def test_every_stated_vector_is_tested_or_listed_with_a_reason(shared: Path) -> None:
    assert_all_accounted(stated_ids(shared, "DS-"), list(globals()), NOT_TESTED)
