"""Charts: functions of plain rows that return an Altair chart."""

import altair as alt

# how an axis writes its numbers: 40k, but 0.04 and not 40m, which nobody reads as thousandths
NUMBER = "abs(datum.value) < 1000 ? format(datum.value, ',.4~r') : format(datum.value, '~s')"

AnyChart = alt.Chart | alt.LayerChart | alt.FacetChart


def fading(colour: str, most: float) -> alt.Scale:
    """From almost nothing to the full colour: little fades into the background of either theme."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    ends = [f"rgba({red}, {green}, {blue}, {opacity})" for opacity in (0.1, 1)]
    return alt.Scale(domain=[0, most], range=ends)
