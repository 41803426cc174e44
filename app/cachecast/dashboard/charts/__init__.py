"""Charts: functions of plain rows that return an Altair chart."""

import altair as alt

AnyChart = alt.Chart | alt.LayerChart | alt.FacetChart
