"""The rich console that tables are printed on."""

from rich.console import Console


class TableConsole(Console):
    """A console that leaves a lost reader to `main`: rich itself would end the process with 1."""

    def on_broken_pipe(self) -> None:
        """Raise the BrokenPipeError that rich caught."""
        raise  # rich calls this where it handles the error
