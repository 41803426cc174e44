"""Axes write numbers as people do."""

import json

import pytest
import vl_convert

from cachecast.dashboard.charts import what_if


@pytest.mark.parametrize(
    ("charge", "written", "never"), [(0.08, "0.02", "20m"), (40_000.0, "10k", "10,000")]
)
def test_hundredths_of_a_dollar_are_not_written_as_thousandths(
    charge: float, written: str, never: str
) -> None:
    bar = {"step": "as it is", "start": 0.0, "end": charge, "class": "total", "text": "",
           "top": charge}  # fmt: skip
    spec = what_if.waterfall([bar], "USD").to_dict()

    drawn = vl_convert.vegalite_to_svg(json.dumps(spec))
    assert f">{written}<" in drawn
    assert f">{never}<" not in drawn
