"""How long an engine step takes, and what fits into a server's memory."""
