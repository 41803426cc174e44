"""What SGLang's radix tree is made of, and how far two runs of pages agree."""

from array import array
from typing import Optional


class Node:
    """A run of pages below `parent`; what is above it is its prefix. The root has no pages.

    A page is one id: equal ids after equal prefixes are equal tokens. `children` is looked up by
    the first page of a child. `queued` says that the leaf queue has an entry of this node, stale or
    not.
    """

    __slots__ = ("children", "last_access", "locks", "number", "pages", "parent", "queued")

    def __init__(
        self, number: int, parent: Optional["Node"], pages: "array[int]", last_access: int
    ) -> None:
        self.number = number
        self.parent = parent
        self.pages = pages
        self.last_access = last_access
        self.locks = 0
        self.children: dict[int, Node] = {}
        self.queued = False


def common_pages(edge: "array[int]", pages: "array[int]", at: int, most: int) -> int:
    """How many of the first `most` pages of `edge` equal those of `pages` from `at` on.

    One comparison of slices where all are equal, else bisection: no Python loop over pages.
    """
    if edge[:most] == pages[at : at + most]:
        return most
    same, differ = 0, most  # edge[:same] agrees, edge[:differ] does not
    while differ - same > 1:
        middle = (same + differ) // 2
        if edge[same:middle] == pages[at + same : at + middle]:
            same = middle
        else:
            differ = middle
    return same
