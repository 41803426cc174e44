"""What a streamed answer says, chunk by chunk: the first token, the end, the usage."""

from typing import Annotated, Any

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]  # more tokens than that is no count
# of an answer that does not end: a token may come in some pieces, and some servers add empty ones
_PIECES_A_TOKEN, _PIECES = 8, 64


class PromptDetails(msgspec.Struct):
    """Of the usage's prompt tokens."""

    cached_tokens: Count | None = None


class Usage(msgspec.Struct):
    """The server's own counts; None is unknown, whether null or missing."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    prompt_tokens_details: PromptDetails | None = None

    @property
    def cached_tokens(self) -> int | None:
        details = self.prompt_tokens_details
        return None if details is None else details.cached_tokens


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[Any] | None = None

    def __bool__(self) -> bool:
        return any((self.content, self.reasoning_content, self.reasoning, self.refusal,
                    self.tool_calls))  # fmt: skip


class _Choice(msgspec.Struct):
    text: str | None = None
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Usage | None = None
    error: Any = None


_CHUNK = msgspec.json.Decoder(_Chunk)


class StreamProblem(Exception):
    """A stream that is no answer: malformed, cut off, or an error in the midst of it."""


class Reading:
    """One answer of at most `asked_tokens`, as it comes in. Times are the caller's, in nanoseconds.

    The first token is seen in the first chunk with text. A chunk of /v1/completions shows a token
    even where its text is empty (half a character, a special token); the empty first delta of a
    chat, which only names the role, does not. The end is the last chunk with a choice in it: usage
    and [DONE] come after the last token.
    """

    def __init__(self, asked_tokens: int) -> None:
        self._most_pieces = _PIECES_A_TOKEN * asked_tokens + _PIECES
        self.first_token_ns: int | None = None
        self.end_ns: int | None = None
        self.finish: str | None = None
        self.usage = Usage()
        self._pieces = 0
        self._done = False

    def take(self, data: bytes, now_ns: int) -> None:
        """One event's data, which arrived now. StreamProblem for an error or what is no chunk."""
        if data.strip() == b"[DONE]":
            self._done = True
            return
        try:
            chunk = _CHUNK.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise StreamProblem(f"sent what is no chunk of an answer: {problem}") from None
        if chunk.error is not None:
            raise StreamProblem(f"ended with an error: {error_text(chunk.error)}")
        if chunk.usage is not None:
            self.usage = chunk.usage
        for choice in chunk.choices or ():
            self._choice(choice, now_ns)

    def close(self) -> None:
        """The stream has ended. StreamProblem if the answer has not."""
        if self.finish is None and not (self._done and self._pieces):
            pieces = f"{self._pieces:,} piece{'' if self._pieces == 1 else 's'}"
            raise StreamProblem(f"cut the stream off after {pieces} of the answer")
        if self.first_token_ns is None or self.usage.completion_tokens == 0:
            raise StreamProblem("ended the answer without a token")
        cached, prompt = self.usage.cached_tokens, self.usage.prompt_tokens
        if cached is not None and prompt is not None and cached > prompt:
            raise StreamProblem(
                f"counts {cached:,} cached tokens in a prompt of {prompt:,}, expected at most all"
            )

    def _choice(self, choice: _Choice, now_ns: int) -> None:
        shown = bool(choice.text or choice.delta) or (
            choice.text is not None and choice.finish_reason is None
        )
        if shown:
            self._pieces += 1
            if self._pieces > self._most_pieces:
                raise StreamProblem(f"does not end the answer: {self._pieces:,} pieces so far")
        if choice.finish_reason is not None:
            self.finish = choice.finish_reason
        if self.first_token_ns is None and (shown or choice.finish_reason is not None):
            self.first_token_ns = now_ns
        if self.first_token_ns is not None:
            self.end_ns = now_ns


def error_text(error: object) -> str:
    """The words of an error object of the API, in any of its shapes."""
    if isinstance(error, dict):
        for name in ("message", "detail", "error"):
            if error.get(name):
                return error_text(error[name])
    return error if isinstance(error, str) else msgspec.json.encode(error).decode()


def body_error(body: bytes) -> str:
    """The same of a whole response: JSON where it is, else its text."""
    try:
        return error_text(msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body.decode("utf-8", "replace")
