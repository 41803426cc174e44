"""Charts: functions of plain rows that return an Altair chart."""
