"""The dashboard: the command line's answers in a browser, computed once and kept.

`launching` starts it, `frame` draws what every page has, `pages` holds one module a page,
`questions` what a page may ask, `answers` and `work` see that nothing is asked twice.
"""
