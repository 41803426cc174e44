"""Own servers and Proof in a real browser: a control is moved and the number changes."""

from collections.abc import Callable

from dashboard_server import settle
from playwright.sync_api import Page, expect

Visit = Callable[..., Page]


def value(page: Page, label: str) -> str:
    metric = page.get_by_test_id("stMetric").filter(has_text=label)
    return metric.get_by_test_id("stMetricValue").inner_text()


def test_a_price_of_a_gpu_hour_gives_a_cost_and_a_break_even(visit: Visit) -> None:
    page = visit("own-servers")
    assert value(page, "GPU cost") == "no price"
    price = page.get_by_role("textbox", name="Price of a GPU hour")
    price.fill("2.50")
    price.press("Enter")
    settle(page)
    expect(page.get_by_role("button", name="Simulate ")).to_be_visible()
    assert value(page, "GPU cost").startswith("$")
    assert value(page, "Break-even traffic").endswith("×")


def test_an_address_never_names_a_file_to_read(visit: Visit) -> None:
    """A fleet in an address would be a path: it is not looked at, and nothing of it is shown."""
    for address in (
        "own-servers?fleet=/etc/passwd",
        "what-if?change=fleet%3D/etc/passwd",
        "overview?log=/etc/passwd",
    ):
        page = visit(address)
        text = page.locator('[data-testid="stApp"]').inner_text()
        assert "root:" not in text
        assert "Traceback" not in text
        page.close()


def test_a_folder_without_runs_is_a_sentence_in_proof(visit: Visit) -> None:
    page = visit("proof")
    folder = page.get_by_label("Folder with runs")
    folder.fill("/etc")
    folder.press("Enter")
    settle(page)
    expect(page.get_by_text("No prediction beside a measurement yet")).to_be_visible()
