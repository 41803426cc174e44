"""The page What-if: scenarios as values and text, their numbers, their export. No Streamlit but in
`controls` and `sections`."""
