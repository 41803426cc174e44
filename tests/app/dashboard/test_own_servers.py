"""The page Own servers: a fleet's numbers are those of `simulate` and `curve`."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import altair as alt
import pytest
from streamlit.testing.v1 import AppTest

from cachecast.dashboard import own_servers_numbers as numbers
from cachecast.dashboard.answers import Answers
from cachecast.dashboard.charts import servers
from cachecast.dashboard.fleet_rows import timeline
from cachecast.dashboard.fleet_text import FleetForm
from cachecast.dashboard.opened import EXAMPLE_NAME, Opened, example_path, opened
from cachecast.dashboard.questions.curve import CURVE
from cachecast.dashboard.questions.fleet import FLEET, as_argument, priced
from cachecast.dashboard.wording import share
from cachecast.fleet_file import fleet_of
from cachecast.results.reader import read_info

OpenApp = Callable[..., AppTest]
RunCli = Callable[..., tuple[int, str, str]]
Settle = Callable[[AppTest], AppTest]


@pytest.fixture
def example(answers: Answers) -> Opened:
    work = answers.open(example_path(), EXAMPLE_NAME)
    work.wait()
    assert work.answer is not None
    return opened(work.answer)


def asked(answers: Answers, question: Any, about: Opened, *arguments: str) -> Any:
    work = answers.ask(question, about, *arguments)
    work.wait()
    assert work.answer is not None, work.problem
    return work.answer


def test_the_fleets_numbers_are_those_of_simulate(
    answers: Answers, example: Opened, run_cli: RunCli, tmp_path: Path
) -> None:
    form = FleetForm(servers=2, gpu_hour="2.50", cpu_gib=1.0)
    file = tmp_path / "fleet.toml"
    file.write_text(form.text(), encoding="utf-8")
    config = fleet_of(form.text().encode())

    run = Path(asked(answers, FLEET, example, as_argument(config), "")["path"])
    info = priced(read_info(run), config.cost)

    code, out, err = run_cli("simulate", example_path(), "--fleet", file, "--json")
    assert code == 0, err
    printed = json.loads(out)
    assert {**info["fleet"], "api": [], "break_even": []} == printed
    assert printed["cost"]["total"] == info["fleet"]["cost"]["total"] != "0"
    assert info["distributions"]["ttft_s"][50] == printed["ttft_s"]["p50"]
    assert info["distributions"]["itl_s"][90] == printed["itl_s"]["p90"]
    unit, rows = timeline(run, 3)
    assert unit == "min"
    idle = [row for row in rows if row["server"] == 2]
    assert idle == [
        {"server": 2, "at": 0.0, "to": max(r["to"] for r in rows), "waiting": 0, "blocks": 0}
    ]
    assert {row["server"] for row in rows} == {0, 1, 2}


def test_a_change_of_price_asks_nothing_anew() -> None:
    cheap, dear = (fleet_of(FleetForm(gpu_hour=price).text().encode()) for price in ("2", "3"))

    assert cheap != dear
    assert as_argument(cheap) == as_argument(dear)


def test_the_curve_is_that_of_curve_and_its_marks_are_capacities(
    answers: Answers, example: Opened, run_cli: RunCli
) -> None:
    found = asked(answers, CURVE, example, "131072", "16000", "32000")

    _, out, _ = run_cli("curve", example_path(), "--gib", "--model", "llama-3.1-8b", "--json")
    assert found["curve"] == json.loads(out)
    _, out, _ = run_cli("curve", example_path(), "--capacity", "1000,2000", "--json")
    ratios = [row["token_hit_ratio"] for row in json.loads(out)["capacity"]]
    assert [row["token_hit_ratio"] for row in found["marked"]] == ratios
    assert [row["blocks"] for row in found["marked"]] == [1000, 2000]


def fleet(**changes: Any) -> dict[str, Any]:
    spread = {"mean": 0.1, "p50": 0.1, "p90": 0.2, "p99": 0.3}
    return {
        "requests": 10, "rejected": 0, "skipped": 0, "ttft_s": spread,
        "cost": {"total": "8", "currency": "USD"}, **changes,
    }  # fmt: skip


def bill(total: str = "2", currency: str = "USD", unpriced: int = 0) -> dict[str, Any]:
    charge = {"total": total, "currency": currency}
    return {"name": "api", "charge": charge, "unpriced_requests": unpriced}


def test_the_break_even_is_cost_over_bill() -> None:
    """8 / 2: four times the simulated traffic, of a fleet at twice the log's eight times that."""
    times, sentence, more = numbers.break_even(fleet(), bill(), 1.0)
    assert (times, more) == ("4 ×", 4.0)
    assert sentence.startswith("The API is cheaper. At 4 times this log's traffic")
    assert numbers.break_even(fleet(), bill(), 2.0)[0] == "8 ×"
    assert numbers.break_even(fleet(), bill("16"), 1.0)[1].startswith("Own servers are cheaper")
    assert numbers.break_even(fleet(), bill("8.1"), 4.0)[2] is None  # simulated: within 2 %


@pytest.mark.parametrize(
    ("changed", "billed", "why"),
    [
        ({"cost": None}, bill(), "the fleet names no price of a GPU hour"),
        ({"rejected": 3}, bill(), "the fleet leaves 3 requests unserved"),
        ({}, bill(currency="CNY"), "the fleet costs USD, the API bills CNY"),
        ({}, bill(unpriced=2), "2 requests have no price at the API"),
        ({}, bill() | {"charge": None}, "no request has a price at an API"),
        ({}, bill("0"), "the API bills nothing for this log"),
    ],
)
def test_a_break_even_that_the_evidence_does_not_decide_is_unknown(
    changed: dict[str, Any], billed: dict[str, Any], why: str
) -> None:
    assert numbers.break_even(fleet(**changed), billed, 1.0) == (
        "unknown",
        f"Unknown: {why}.",
        None,
    )


def test_twice_the_traffic_halves_the_span_of_the_arrivals(run_cli: RunCli, tmp_path: Path) -> None:
    log, file = tmp_path / "log.jsonl", tmp_path / "fleet.toml"
    rows = [{"timestamp": t, "input_length": 512, "output_length": 1, "hash_ids": [t]}
            for t in (0, 10_000)]  # fmt: skip
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    file.write_text(FleetForm(latency="fixed", prefill_step_ms=1000, servers=1).text())
    spans = {}
    for traffic in (1, 2):
        _, out, _ = run_cli(
            "simulate", log, "--fleet", file, "--set", f"fleet.traffic={traffic}", "--json"
        )
        spans[traffic] = json.loads(out)["makespan_s"]

    assert spans == {1: 11.0, 2: 6.0}


def test_the_page_shows_the_fleets_cost_beside_the_bill(
    open_app: OpenApp, answers: Answers
) -> None:
    app = open_app(example_path(), page="own-servers", scenario="claude-opus-5")
    assert not app.exception
    assert not app.error
    metrics = {metric.label: metric.value for metric in app.metric}
    assert metrics["GPU cost"] == "no price"
    assert metrics["Break-even traffic"] == "unknown"
    app.text_input(key="fleet gpu_hour").set_value("2.50")
    app.run()
    answers.workshop.settle()
    app.run()
    metrics = {metric.label: metric.value for metric in app.metric}
    assert metrics["GPU cost"].startswith("$")
    assert metrics["Break-even traffic"].endswith("×")


def test_requests_that_fit_nowhere_are_said_first(open_app: OpenApp, answers: Answers) -> None:
    app = open_app(example_path(), page="own-servers", scenario="claude-opus-5")
    app.number_input(key="fleet blocks").set_value(2)
    app.run()
    answers.workshop.settle()
    app.run()
    (said,) = app.error
    assert said.value.startswith("All 60 requests were rejected")


def test_a_model_that_does_not_fit_is_a_sentence(open_app: OpenApp) -> None:
    app = open_app(example_path(), page="own-servers")
    app.selectbox(key="fleet model").set_value("deepseek-v3")
    app.run()
    (said,) = app.error
    assert "does not fit" in said.value
    assert not app.exception


def test_a_log_of_counts_has_a_sentence_instead_of_a_fleet(
    open_app: OpenApp, tmp_path: Path
) -> None:
    log = tmp_path / "azure.csv"
    log.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.979960,374,44\n", "utf-8"
    )
    app = open_app(log, page="own-servers")
    assert not app.exception
    assert any("does not say which prompts share what" in text.value for text in app.markdown)


def test_the_table_of_simulate_has_the_break_even_of_its_json(
    run_cli: RunCli, tmp_path: Path
) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text(FleetForm(gpu_hour="2.50").text(), encoding="utf-8")
    words = ("simulate", example_path(), "--fleet", file, "--as", "claude-opus-5")
    (even,) = json.loads(run_cli(*words, "--json")[1])["break_even"]
    code, out, err = run_cli(*words)
    assert code == 0, err
    assert f"{Decimal(even['traffic']):,.3g} × the traffic" in out


def test_the_gpu_cost_is_exact() -> None:
    """Two GPUs for half an hour at 2.50."""
    config = fleet_of(FleetForm(gpu_hour="2.50").text().encode())
    assert config.cost is not None
    assert config.cost.of(2 * 1_800_000_000_000) == Decimal("2.50")


def test_the_break_even_button_simulates_that_traffic(open_app: OpenApp, settle: Settle) -> None:
    app = open_app(example_path(), page="own-servers", scenario="claude-opus-5")
    app.text_input(key="fleet gpu_hour").set_value("2.50")
    settle(app)
    button = next(one for one in app.button if one.label.startswith("Simulate "))
    times = button.label.removeprefix("Simulate ").removesuffix(" × the traffic")
    button.click()
    settle(app)

    assert app.number_input(key="fleet traffic").value == pytest.approx(float(times), rel=0.01)
    assert not app.exception
    assert not app.error


def test_a_fleet_file_replaces_the_form_and_a_broken_one_is_a_sentence(
    open_app: OpenApp, settle: Settle
) -> None:
    app = open_app(example_path(), page="own-servers")
    app.segmented_control(key="fleet how").set_value("As a file")
    settle(app)
    text = app.text_area(key="fleet as text")
    assert "[fleet]" in str(text.value)
    text.set_value(FleetForm(servers=1, blocks=2).text())
    settle(app)
    assert app.error[0].value.startswith("All 60 requests were rejected")

    app.text_area(key="fleet as text").set_value("<b>no toml")
    settle(app)
    (said,) = app.error
    assert "fleet.toml" in said.value
    assert not app.exception


def test_a_run_of_simulate_is_shown_without_form_and_with_its_own_numbers(
    open_app: OpenApp, run_cli: RunCli, tmp_path: Path
) -> None:
    file, run = tmp_path / "fleet.toml", tmp_path / "run"
    file.write_text(FleetForm(servers=2).text(), encoding="utf-8")
    _, out, _ = run_cli("simulate", example_path(), "--fleet", file, "--json")
    code, _, err = run_cli("simulate", example_path(), "--fleet", file, "-o", run)
    assert code == 0, err

    app = open_app(run, page="own-servers")
    metrics = {metric.label: metric.value for metric in app.metric}
    assert metrics["Prompt tokens hit"] == share(json.loads(out)["token_hit_ratio"])
    assert "What it costs" not in [head.value for head in app.subheader]  # no bill was asked for
    assert not app.number_input
    assert not app.exception


def test_the_last_interval_of_a_server_is_drawn_to_its_end() -> None:
    rows = [{"server": 0, "at": 0.0, "to": 1.0, "waiting": 3, "blocks": 5}]
    chart = servers.timeline(rows, "waiting", "requests that wait", "s")
    assert isinstance(chart, alt.LayerChart)
    data = chart.layer[0].data
    assert isinstance(data, alt.InlineData)
    assert isinstance(data.values, list)
    assert [row["at"] for row in data.values] == [0.0, 1.0]
