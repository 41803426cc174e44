"""How a server wants to be asked: the shapes of a request, richest first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from cachecast_replay.endpoint.words import text_of

Prompts = Literal["ids", "text", "chat"]
SHAPES: tuple[Prompts, ...] = ("ids", "text", "chat")


@dataclass(frozen=True, slots=True)
class Dialect:
    """What goes into a request.

    `prompts`: token ids or text to /completions, or one user message to /chat/completions.
    `ignore_eos` forces the length of the answer; `usage` asks for the counts of a stream; `modern`
    is OpenAI's newer way, which refuses `max_tokens` and `temperature`.
    """

    prompts: Prompts
    ignore_eos: bool = True
    usage: bool = True
    modern: bool = False

    @property
    def path(self) -> str:
        return "/chat/completions" if self.prompts == "chat" else "/completions"

    def body(
        self, model: str, tokens: Sequence[int], output_tokens: int, text: str | None = None
    ) -> bytes:
        """The request as JSON: greedy, streamed, with so many tokens of answer at most.

        Where no ids are sent, the prompt is `text`, or a word for each token.
        """
        asked: dict[str, Any] = {"model": model, "stream": True}
        if self.prompts == "ids":
            asked["prompt"] = list(tokens)
        elif self.prompts == "text":
            asked["prompt"] = text or text_of(tokens)
        else:
            asked["messages"] = [{"role": "user", "content": text or text_of(tokens)}]
        if self.modern:
            asked["max_completion_tokens"] = output_tokens
        else:
            asked |= {"max_tokens": output_tokens, "temperature": 0}
        if self.ignore_eos:
            asked["ignore_eos"] = True
        if self.usage:
            asked["stream_options"] = {"include_usage": True}
        return msgspec.json.encode(asked)

    def in_words(self) -> str:
        """For people."""
        return {
            "ids": "token ids to /completions",
            "text": "text to /completions",
            "chat": "one message to /chat/completions",
        }[self.prompts]


def dialects(shapes: Sequence[Prompts] = SHAPES) -> Iterator[Dialect]:
    """What to try, the best first: whatever is dropped, ids before text, forced before free."""
    for shape in shapes:
        yield Dialect(shape)
        yield Dialect(shape, ignore_eos=False)
        if shape == "chat":
            yield Dialect(shape, ignore_eos=False, modern=True)
        yield Dialect(shape, ignore_eos=False, usage=False)
