"""What any API's response becomes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from cachecast_datasets.prompts.parts import Part, hashes_of_part
from cachecast_datasets.request import Observed


@dataclass(slots=True)
class Reply:
    """One response, read.

    `prompt` is the usage of the prompt as it was sent: with several iterations on the server the
    first one's, and so is `prompt_tokens`, while `observed` is the sum that is billed. `status` is
    None where the source does not say how it ended.
    """

    observed: Observed | None = None
    prompt_tokens: int | None = None
    prompt: Observed | None = None
    response_id: str | None = None
    model: str | None = None
    service_tier: str | None = None
    speed: str | None = None
    region: str | None = None
    status: str | None = None
    started: bool = False
    created_s: float | None = None
    answer: list[Part] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def answer_hash(self) -> int | None:
        """The content hash of the answer's text, if that is all that the answer is."""
        spoken = [part for part in self.answer if part.kind != "thinking"]
        if len(spoken) != 1 or spoken[0].kind != "text":
            return None
        return hashes_of_part(spoken[0]).raw

    def output_types(self) -> list[str] | None:
        """The kinds of the answer's blocks; None where the source has no answer."""
        return [part.kind for part in self.answer] or None


def status_of(code: int | None) -> str | None:
    """The request's status by the HTTP status; None if that says nothing."""
    if code is None:
        return None
    if code == 0:
        return "aborted"
    if code >= 500:
        return "error"
    return "rejected" if code >= 400 else "ok"


def word(value: Any) -> str | None:
    """A string that says something, else None."""
    return value if isinstance(value, str) and value.strip() else None


def compact(value: Any) -> str:
    """Compact JSON of what the provider said."""
    return msgspec.json.encode(value).decode()


def prompt_total(observed: Observed | None) -> int | None:
    """The prompt's tokens; None unless every class of them is known."""
    if observed is None:
        return None
    classes = observed[:7]
    if any(tokens is None for tokens in classes):
        return None
    return sum(tokens for tokens in classes if tokens is not None)


def error_kind(reply: Mapping[str, Any]) -> str | None:
    """`error` or `rejected` for a body that is an error, None for any other."""
    error = reply.get("error")
    if not isinstance(error, dict) and reply.get("type") != "error":
        return None
    kind = error.get("type") or error.get("code") if isinstance(error, dict) else error
    server = ("overloaded_error", "api_error", "server_error", "timeout_error", "internal_error")
    return "error" if kind in server or kind is None else "rejected"
