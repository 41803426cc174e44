"""Small random logs of token blocks: sessions that grow, are cut back and start anew."""

from collections.abc import Iterator
from itertools import count

import numpy as np
from hypothesis import strategies as st

from cachecast_datasets.boundaries import TokenBoundaryTracker
from cachecast_datasets.hashing import content_hash
from cachecast_datasets.log_meta import LogMeta
from cachecast_datasets.request import Request

META = LogMeta(source_format="test", evidence="token_blocks", carries_markers=False)
SIZE = 256

MODELS = ("m1", "m1", "m1", "m2")


def steps_with(models: tuple[str, ...]) -> st.SearchStrategy[dict[str, object]]:
    """`step` with other models."""
    return st.builds(lambda one, model: {**one, "model": model}, step, st.sampled_from(models))


step: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {
        "after_s": st.sampled_from((0, 0, 1, 2, 20, 299, 300, 301, 1800, 3601)),
        "session": st.sampled_from("ab"),
        "keep": st.sampled_from((1.0, 1.0, 1.0, 0.5, 0.0)),  # share of the last prompt kept
        "new_blocks": st.integers(0, 12),
        "tail": st.sampled_from((0, 1, 255)),
        "first_token_s": st.sampled_from((None, None, 0.0, 1.0, 20.0)),
        "end_s": st.sampled_from((None, 0.5, 30.0)),
        "model": st.sampled_from(MODELS),
        "typed": st.sampled_from((True, True, True, False)),
    }
)


def built(
    steps: list[dict[str, object]], system: bool, names: Iterator[int] | None = None
) -> list[Request]:
    """Requests of two sessions that grow, are cut back and start anew; ids are never reused, unless
    `names`, what they are made of, come back."""
    ids = count() if names is None else names
    last: dict[object, list[int]] = {}
    tracker, at, made = TokenBoundaryTracker(), 0, []
    for number, one in enumerate(steps):
        at += int(str(one["after_s"])) * 1_000_000
        kept = last.get(one["session"], [])
        kept = kept[: int(len(kept) * float(str(one["keep"])))]
        blocks = kept + [
            content_hash(b"%d" % next(ids)) for _ in range(int(str(one["new_blocks"])))
        ]
        last[one["session"]] = blocks
        request = Request(request_id=str(number), arrival_us=at)
        request.session_id = request.hash_scope = str(one["session"])
        request.model = str(one["model"])
        request.token_blocks = np.array(blocks, dtype=np.uint64)
        request.token_block_size = SIZE
        request.prompt_tokens = len(blocks) * SIZE + int(str(one["tail"]))
        request.output_tokens = number
        if system:
            request.tools_tokens, request.system_tokens = SIZE, 2 * SIZE + 5
        if one["typed"]:
            request.input_types, request.output_types = ["text"], ["text", "tool_use"]
        request.first_token_s = one["first_token_s"]  # type: ignore[assignment]
        request.end_s = one["end_s"]  # type: ignore[assignment]
        request.boundaries = tracker.boundaries(request)
        made.append(request)
    return made
