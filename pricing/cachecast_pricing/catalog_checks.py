"""What no single field of a price list shows: cards, thresholds and periods that contradict."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from cachecast_datasets.errors import BadInput
from cachecast_pricing.model_ids import key_of
from cachecast_pricing.rates import RateCard


def check_period(start: datetime | None, end: datetime | None, first: str, last: str) -> None:
    """BadInput for a period that ends before it starts, or is empty."""
    if start is not None and end is not None and start >= end:
        raise BadInput(
            f"{first} {moment(start)} is not before {last} {moment(end)}, so it holds on no day"
        )


def check_thresholds(card: RateCard) -> None:
    """BadInput for a long-context threshold that is no size of a prompt, or stands there twice."""
    seen: set[int] = set()
    for threshold in card.thresholds():
        shown = f"long_context: threshold {threshold.operator} {threshold.tokens}"
        if threshold.tokens <= 0:
            raise BadInput(f"{shown}, expected > 0")
        if threshold.first_tokens in seen:
            raise BadInput(f"{shown} stands there twice")
        seen.add(threshold.first_tokens)


def check_cards(cards: Sequence[RateCard], tables: Sequence[int], place: str) -> None:
    """BadInput for two cards of one model and currency that hold at the same time.

    `tables` has the number of the [[models]] table that each card comes from.
    """
    of_model: dict[tuple[str, str, str], list[tuple[int, RateCard]]] = defaultdict(list)
    for number, card in zip(tables, cards, strict=True):
        others = of_model[(card.provider, key_of(card.model), card.currency)]
        for earlier, other in others:
            if _meet(card, other):
                both = (
                    f"[[models]] {earlier + 1} and [[models]] {number + 1} both state"
                    if earlier != number
                    else f"`prices` and `cny` of [[models]] {number + 1} both state"
                )
                raise BadInput(
                    f"{place}: {both} {card.currency} prices of {card.provider}/{card.model} "
                    f"{_when(card, other)}"
                )
        others.append((number, card))


def _meet(one: RateCard, other: RateCard) -> bool:
    """Whether both hold at some moment."""
    return (
        one.valid_from is None or other.valid_to is None or one.valid_from < other.valid_to
    ) and (other.valid_from is None or one.valid_to is None or other.valid_from < one.valid_to)


def _when(one: RateCard, other: RateCard) -> str:
    """From and until when both hold."""
    starts = [card.valid_from for card in (one, other) if card.valid_from is not None]
    ends = [card.valid_to for card in (one, other) if card.valid_to is not None]
    words = [f"from {moment(max(starts))}"] if starts else []
    words += [f"until {moment(min(ends))}"] if ends else []
    return " ".join(words) or "for all dates"


def moment(at: datetime) -> str:
    """A date, with the time where it is not midnight."""
    return str(at.date()) if (at.hour, at.minute, at.second) == (0, 0, 0) else at.isoformat()
