"""One prefix tree a scope, tidied so that memory follows the live traffic."""

from cachecast_pricing.rules.memory import Scope
from cachecast_pricing.rules.prefix_tree import PrefixTree

TIDY_EVERY = 10_000  # requests


class Trees:
    """The prefix trees of one provider, by scope."""

    def __init__(self) -> None:
        self._trees: dict[tuple[str | None, ...], PrefixTree] = {}
        self._requests = 0

    def of(self, scope: Scope) -> PrefixTree:
        """The scope's tree, made on first use."""
        tree = self._trees.get(scope.key)
        if tree is None:
            tree = self._trees[scope.key] = PrefixTree()
        return tree

    def tidy(self, now_us: int, life_us: int) -> None:
        """Now and then forget runs that have been dead for a lifetime."""
        self._requests += 1
        if self._requests % TIDY_EVERY:
            return
        oldest = now_us - life_us
        for key, tree in list(self._trees.items()):
            if tree.pending == 0 and tree.expiry_us < oldest:
                del self._trees[key]
            else:
                tree.forget(oldest)
