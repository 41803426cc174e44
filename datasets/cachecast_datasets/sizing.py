"""Tokens of each block of a prompt: the reported total is the truth, the split an estimate.

Where usage tells the exact length of a prefix (what was read and written ends at the last marker),
that length is kept, for this prompt and for later ones that begin alike.
"""

from collections import OrderedDict
from collections.abc import Sequence

from cachecast_datasets.boundaries import content_boundaries
from cachecast_datasets.content import share_out
from cachecast_datasets.prompts.parts import Part, Rendered, opaque
from cachecast_datasets.request import ContentBlock, Observed
from cachecast_datasets.tokenizers import BYTES_PER_TOKEN, Tokenizer

# A picture or file costs by its pixels and pages, not by the bytes of its base64: a fixed
# weight, about one picture of a megapixel.
MEDIA_TOKENS = 1_600
REMEMBERED = 100_000  # prefixes of known length


class Lengths:
    """Prefix lengths that usage has told, by model and chained hash; the oldest go first."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str | None, int], int] = OrderedDict()

    def learn(self, model: str | None, prefix: int, tokens: int) -> None:
        """The prefix that ends with this chained hash has so many tokens."""
        self._known[model, prefix] = tokens
        self._known.move_to_end((model, prefix))
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def get(self, model: str | None, prefix: int) -> int | None:
        """Its tokens, if they were told."""
        return self._known.get((model, prefix))


def weights_of(parts: Sequence[Part], tokenizer: Tokenizer | None) -> list[int]:
    """The relative size of each part: tokens of the tokenizer, else UTF-8 bytes."""
    if tokenizer is None:
        return [_bytes(part) for part in parts]
    return [MEDIA_TOKENS if opaque(part) else len(tokenizer.encode(part.text)) for part in parts]


def _bytes(part: Part) -> int:
    if opaque(part):
        return MEDIA_TOKENS * BYTES_PER_TOKEN
    return len(part.text.encode(errors="surrogatepass"))


def sized(
    blocks: list[ContentBlock],
    rendered: Rendered,
    usage: Observed | None,
    total: int | None,
    weights: list[int],
    per_token: int,
    lengths: Lengths,
    model: str | None,
) -> list[ContentBlock]:
    """The blocks with their tokens; they sum to the prompt, less what follows the last block.

    `per_token` turns a weight into tokens where no total is reported.
    """
    prefixes = content_boundaries(blocks).hashes
    fixed = {} if usage is None else told_by(usage, rendered.ends)
    for index, tokens in fixed.items():
        lengths.learn(model, prefixes[index], tokens)
    last = len(blocks) - 1
    if total is not None and last >= 0 and last not in fixed:
        fixed[last] = total
        if lengths.get(model, prefixes[last]) is None:
            lengths.learn(model, prefixes[last], total)
    earlier = {
        index: known
        for index, prefix in enumerate(prefixes)
        if index not in fixed and (known := lengths.get(model, prefix)) is not None
    }
    points = _agreeing(fixed, earlier, weights)
    if points or not fixed:
        counts = _spread(points, weights, per_token)
    else:  # fewer tokens reported than there are blocks
        counts = share_out(max(fixed.values()), weights)
    return [block._replace(tokens=count) for block, count in zip(blocks, counts, strict=True)]


def told_by(usage: Observed, ends: Sequence[tuple[int, str]]) -> dict[int, int]:
    """Index of a block -> exact tokens up to its end, as far as usage tells.

    Read and written tokens end at the last marker; where tokens were written for an hour, they
    end at the last 1h marker (Anthropic's rule for mixed lifetimes, 2026-08-22).
    """
    classes = usage[1:7]
    if not ends or any(tokens is None for tokens in classes):
        return {}
    cached = sum(tokens for tokens in classes if tokens is not None)
    last, life = ends[-1]
    if not cached or (life not in ("5m", "1h") and not cached - (usage.cache_read or 0)):
        return {}
    told = {last: cached}
    hours = [index for index, life in ends if life == "1h"]
    if hours and hours[-1] != last and usage.cache_write_1h:
        told[hours[-1]] = (usage.cache_read or 0) + usage.cache_write_1h
    return told


def _agreeing(
    fixed: dict[int, int], earlier: dict[int, int], weights: list[int]
) -> list[tuple[int, int]]:
    """Known positions, ascending in both; what this request tells goes before what others told.

    Every block that is not empty keeps at least one token.
    """
    points: list[tuple[int, int]] = []
    for index, tokens in sorted(fixed.items()):
        if _room(points[-1] if points else (-1, 0), (index, tokens), weights):
            points.append((index, tokens))
    for index, tokens in sorted(earlier.items()):
        at = sum(1 for point in points if point[0] < index)
        before = points[at - 1] if at else (-1, 0)
        if _room(before, (index, tokens), weights) and (
            at == len(points) or _room((index, tokens), points[at], weights)
        ):
            points.insert(at, (index, tokens))
    return points


def _room(one: tuple[int, int], other: tuple[int, int], weights: list[int]) -> bool:
    needed = sum(1 for weight in weights[one[0] + 1 : other[0] + 1] if weight)
    return other[1] - one[1] >= needed


def _spread(points: list[tuple[int, int]], weights: list[int], per_token: int) -> list[int]:
    tokens: list[int] = []
    done = 0
    for index, upto in points:
        span = weights[len(tokens) : index + 1]
        shares = share_out(upto - done, span)
        if any(weight and not share for weight, share in zip(span, shares, strict=True)):
            least = [1 if weight else 0 for weight in span]
            rest = share_out(upto - done - sum(least), span)
            shares = [one + more for one, more in zip(least, rest, strict=True)]
        tokens += shares
        done = upto
    tokens += [-(-weight // per_token) for weight in weights[len(tokens) :]]
    return tokens
