"""`cachecast bill`: a request that its log places in a region pays the regional price."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_calls import claude, message, pair, said, text, usage
from rule_sketches import Line, line
from usage_logs import as_lines, litellm, openrouter

Bill = Callable[..., dict[str, Any]]
Sketch = Callable[..., Path]
RunCli = Callable[..., tuple[int, str, str]]

OPUS = "claude-opus-5"  # 5 USD a million fresh, 0.5 read, 25 output; in a region 1.1 times each
USED = usage(1_000, 2_000, out=100)


@pytest.fixture
def log(tmp_path: Path) -> Callable[..., Path]:
    """A log of these lines of JSON."""

    def write(*rows: Any) -> Path:
        path = tmp_path / "log.jsonl"
        path.write_text(as_lines(*rows))
        return path

    return write


def call(geo: str | None = None, **body: Any) -> dict[str, Any]:
    """A call of Opus 5 whose usage names where it was processed."""
    asked = claude(messages=[said("user", [text("Well? " * 50)])], **body)
    return pair(asked, message(USED if geo is None else {**USED, "inference_geo": geo}))


@pytest.mark.parametrize(
    ("geo", "usd"), [("us", "0.00935"), ("global", "0.0085"), ("not_available", "0.0085")]
)
def test_bill_and_price_take_the_same_price_for_the_same_usage(
    geo: str, usd: str, log: Callable[..., Path], bill: Bill, run_cli: RunCli
) -> None:
    # 1000 x 5 + 2000 x 0.5 + 100 x 25 = 8500 millionths; 1.1 times that is 9350
    observed = bill(log(call(geo)))["observed"]
    assert observed["charge"]["total"] == usd
    raw = json.dumps({**USED, "inference_geo": geo})
    _, out, _ = run_cli("price", "--model", OPUS, "--usage", raw, "--json")
    assert json.loads(out)["charge"]["total"] == usd


def test_the_regional_price_stacks_on_batch_and_is_part_of_the_cost_without_a_cache(
    log: Callable[..., Path], bill: Bill
) -> None:
    found = bill(log(call("us")), "--as", f"{OPUS},tier=batch,mark=none")
    # 3000 x 2.5 x 1.1 + 100 x 12.5 x 1.1
    assert found["charge"]["total"] == found["without_cache"] == "0.009625"
    assert f"{OPUS}: 1.1 times the price, as the log names a region" in found["assumptions"]


@pytest.mark.parametrize(
    ("geo", "scenario", "usd"),
    [
        ("us", f"{OPUS},regional=off,mark=none", "0.0175"),  # 3000 x 5 + 100 x 25
        (None, f"{OPUS},regional=on,mark=none", "0.01925"),
        (None, f"{OPUS},mark=none", "0.0175"),
        ("us", "claude-opus-4.5,mark=none", "0.0175"),  # before 4.6 no region costs more
    ],
)
def test_the_scenario_decides_where_it_names_the_regional_price(
    geo: str | None, scenario: str, usd: str, log: Callable[..., Path], bill: Bill
) -> None:
    assert bill(log(call(geo)), "--as", scenario)["charge"]["total"] == usd


def test_requests_in_and_out_of_a_region_each_pay_their_own(
    log: Callable[..., Path], bill: Bill
) -> None:
    rows = [call("us"), call(), call("us")]
    for number, row in enumerate(rows):
        row["response"]["id"] = f"msg_{number}"
    found = bill(log(*rows), "--by", "region", "--as", f"{OPUS},mark=none")
    assert {group["region"]: group["charge"]["total"] for group in found["by"]} == {
        "us": "0.0385", None: "0.0175",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("prefix", "usd"), [("us.", "0.0055"), ("global.", "0.005"), ("", "0.005")]
)
def test_a_bedrock_id_of_a_region_pays_the_regional_price(
    prefix: str, usd: str, log: Callable[..., Path], bill: Bill
) -> None:
    model = f"{prefix}anthropic.claude-opus-5-v1:0"
    plain = {"prompt_tokens": 1_000, "completion_tokens": 0, "total_tokens": 1_000}
    path = log(litellm(usage=plain, model=model, custom_llm_provider="bedrock"))
    assert bill(path)["charge"]["total"] == usd
    assert bill(path, "--as", model)["charge"]["total"] == usd


def test_what_a_router_charges_for_its_regions_is_not_known_and_said(
    log: Callable[..., Path], bill: Bill
) -> None:
    abroad, at_home = (bill(log(openrouter(data_region=where))) for where in ("eu", "global"))
    assert abroad["charge"] == at_home["charge"]
    assert (
        "what a router charges for its regions is not known: no regional price for them"
        in (abroad["assumptions"])
    )


@pytest.mark.parametrize(
    ("scenario", "sentence"),
    [
        ("claude-opus-4.5,regional=on", "no regional price is known for anthropic/claude-opus-4.5"),
        ("deepseek-flash,regional=on", "no regional price is known for deepseek/deepseek-flash"),
        (f"{OPUS},regional=eu", "regional=eu: expected on or off"),
    ],
)
def test_a_regional_price_that_nobody_states_is_refused(
    scenario: str, sentence: str, sketch: Sketch, run_cli: RunCli
) -> None:
    row: Line = line(0, ("user", "Q", 10))
    code, out, err = run_cli("bill", sketch(row), "--as", scenario)
    assert (code, out) == (2, "")
    assert sentence in err


def test_a_sketch_in_fast_mode_pays_for_it(bill: Bill, sketch: Sketch) -> None:
    found = bill(sketch(line(0, ("user", "Q", 1_000), settings={"speed": "fast"})), "--as", OPUS)
    assert found["charge"]["total"] == "0.01"  # 10 USD a million
