"""Small tables: every cell is text."""

from cachecast.dashboard.html_table import as_html


def test_cells_and_heads_are_text_and_numbers_stand_at_the_right() -> None:
    made = as_html([{"<b>": "<img src=x>", "n": 3}], ("<b>",))

    assert "<img" not in made
    assert "&lt;b&gt;</th>" in made
    assert "&lt;img src=x&gt;</td>" in made
    (head, cell) = [part for part in made.split("<t") if "text-align:right" in part]
    assert head.endswith("n</th></tr></thead>")
    assert cell.startswith("d ")
    assert ">3</td>" in cell
