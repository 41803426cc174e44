"""The command line, the results store and, later, the dashboard."""
