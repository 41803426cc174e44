"""The table of causes that can be planted into a `Case`, by the name that `why` must give them."""

from collections.abc import Callable

from planted_logs import Call, Case, Plant

PLANTS: dict[str, Plant] = {}


def plant(name: str) -> Callable[[Plant], Plant]:
    """Enter a plant under the name of its cause."""

    def enter(function: Plant) -> Plant:
        PLANTS[name] = function
        return function

    return enter


def later(case: Case) -> list[Call]:
    """The planted call and those behind it."""
    return case.calls[case.at :]
