"""Why requests missed: finer causes than the closed list of reasons, and their sums by spend."""
