"""Colours. A class of tokens has the same one on every page, in both themes, for every eye.

The six differ by at least 20 in CIELAB under normal sight and under each kind of colour blindness,
and stand out from both backgrounds; a test computes it.
"""

from typing import Final

CLASS_COLOURS: Final[dict[str, str]] = {
    "read": "#1AAD8D",
    "written": "#83540A",
    "fresh": "#DE8254",
    "output": "#2454E2",
    "storage": "#BD2CAF",
    "uncached": "#565F69",
}
# what a charge is made of, in the keys of the JSON contract
CHARGES: Final = ("fresh", "cache_read", "cache_write", "output", "storage")
# the class of each key of the JSON contract
CLASS_OF: Final[dict[str, str]] = {
    "fresh": "fresh", "cache_read": "read", "cache_write": "written", "output": "output",
    "storage": "storage", "cache_write_5m": "written", "cache_write_30m": "written",
    "cache_write_1h": "written", "cache_write_12h": "written", "cache_write_unknown": "written",
}  # fmt: skip
LABEL: Final = "#737C87"  # text marks in charts have no theme of their own; this reads on both
ACCENT: Final = "#1AAD8D"
MISS: Final = "#DE8254"
TOTAL: Final = "#7C8794"  # a whole bill: no class of tokens has it
SERVER: Final = "#2454E2"  # what own servers do; money and tokens keep their classes' colours
BACKGROUNDS: Final = {"light": "#FFFFFF", "dark": "#0E1117"}

# Streamlit's own options, so that both themes are ours and the person's system chooses.
STREAMLIT_THEME: Final[dict[str, str | int]] = {
    "theme.light.primaryColor": "#0F7F68",
    "theme.light.backgroundColor": BACKGROUNDS["light"],
    "theme.light.secondaryBackgroundColor": "#F4F6F8",
    "theme.light.textColor": "#1B2430",
    "theme.dark.primaryColor": "#128A70",  # white stands on it, and it on the background
    "theme.dark.backgroundColor": BACKGROUNDS["dark"],
    "theme.dark.secondaryBackgroundColor": "#1A1F29",
    "theme.dark.textColor": "#E8ECF1",
    "theme.baseRadius": "small",
    "theme.metricValueFontSize": "1.3rem",
    "theme.baseFontSize": 15,
}

# Tiles, charts and, on a narrow screen, controls side by side wrap where they would be squeezed;
# less air above the first line. The navigation stands where Streamlit's own would. Texts in charts
# take the colour of the page; LABEL is for charts with thousands of marks, which are pictures.
STYLE: Final = """<style>
.stMainBlockContainer { padding-top: 4.5rem; }
.st-key-navigation {
  position: fixed; top: 0; height: 3.75rem; width: auto; z-index: 999991; align-items: center;
}
[data-testid="stButtonGroup"] button { min-height: 2.45rem; }
[data-testid="stVegaLiteChart"] .mark-text text { fill: currentColor; fill-opacity: .8; }
[class*="st-key-tiles"] [data-testid="stColumn"] { min-width: 10.2rem; flex-basis: 10.2rem; }
[class*="st-key-panels"] [data-testid="stColumn"] { min-width: 17rem; flex-basis: 17rem; }
@media (max-width: 1000px) {
  [data-testid="stSidebar"] { width: 15rem !important; min-width: 0 !important; }
  [class*="st-key-tiles"] [data-testid="stColumn"] { min-width: 12rem; flex-basis: 12rem; }
  [class*="st-key-panels"] [data-testid="stColumn"] { min-width: 20rem; flex-basis: 20rem; }
  [class*="st-key-form"] [data-testid="stColumn"] { min-width: 7.4rem; flex-basis: 7.4rem; }
  [class*="st-key-stack"] [data-testid="stColumn"] { min-width: 100%; }
}
</style>"""
