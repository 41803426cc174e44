"""One module a page, each with `show(page)`: thin, the numbers come from plain functions."""
