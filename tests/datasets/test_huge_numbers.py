"""Numbers that are short to write and would fill the memory as integers or fractions."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from usage_logs import LOGS

from cachecast_datasets.errors import LogError
from cachecast_datasets.importing import import_log
from cachecast_datasets.readers.fields import count_of, number_of

Write = Callable[..., Path]


@pytest.mark.parametrize("text", ["0e999999999", "-0E+400", "0e-999999999", "0.000"])
def test_zero_is_zero_whatever_its_exponent(text: str) -> None:
    assert (number_of(text, "n"), count_of(text, "n")) == (Decimal(0), 0)


def test_the_limits_of_an_exponent_stand_in_pairs() -> None:
    assert number_of("9e30", "n") == Decimal(9) * 10**30
    assert number_of("1e-30", "n") == Decimal(1).scaleb(-30)
    for text in ("1e31", "9e-31", "1e999999999", "-1e-999999999"):
        with pytest.raises(ValueError, match=r"expected 0 or a number from 1e-30 to 1e30"):
            number_of(text, "n")


def test_a_number_has_at_most_a_hundred_characters() -> None:
    assert number_of("0." + "1" * 98, "n") > 0
    with pytest.raises(ValueError, match="expected a number"):
        number_of("0." + "1" * 99, "n")


def test_a_price_of_a_billion_digits_is_one_sentence_and_no_hang(write: Write) -> None:
    row: dict[str, Any] = json.loads(LOGS["litellm.jsonl"][1].splitlines()[0])
    prices = {"input_cost_per_token": "1e999999999", "output_cost_per_token": 1.5e-05}
    row["metadata"]["model_map_information"] = {"model_map_value": prices}
    log = write(row)
    with pytest.raises(LogError, match=r"line 1: .*input_cost_per_token is \"1e999999999\""):
        import_log([log], log.with_name("out.parquet"))
