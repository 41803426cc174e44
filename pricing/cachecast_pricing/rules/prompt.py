"""A request's prompt as the rules see it: positions with keys, the key including settings."""

import json
from collections.abc import Sequence
from functools import lru_cache

from cachecast_datasets.boundaries import content_boundaries
from cachecast_datasets.hashing import content_hash
from cachecast_datasets.request import ContentBlock, Request
from cachecast_pricing.rules.facts import KeySetting
from cachecast_pricing.rules.grid import with_grid

_LEVELS = ("tools", "system", "messages")
_LEVEL_OF = {"tools": 0, "in_tools": 0, "system": 1, "in_system": 1, "developer": 1}
# An image added or removed anywhere loses the messages (Anthropic's table, 2026-08-22).
_HAS_IMAGE = content_hash(b"an image stands in the prompt")
NO_SETTINGS: dict[str, str] = {}


class Prompt:
    """Positions of one prompt, ascending.

    `tokens`, `hashes` (chained, of the text alone), `keys` (hash and settings), `names` and
    `positions` are parallel, `blocks` too if known; `total` is the whole prompt in tokens,
    `output` the answer. `settings` are the key settings that differ from their defaults,
    `has_image` is None where images are not part of the key.
    `grid` adds each multiple of so many token blocks as a position.
    """

    __slots__ = (
        "blocks", "has_image", "hashes", "key_settings", "keys", "names", "output", "positions",
        "request", "settings", "tokens", "total",
    )  # fmt: skip

    def __init__(
        self,
        request: Request,
        key_settings: Sequence[KeySetting],
        images: bool,
        strips_thinking: bool = False,
        grid: Sequence[int] = (),
    ) -> None:
        boundaries = request.boundaries
        assert boundaries is not None  # the world takes requests without them as reported
        if grid:
            boundaries = with_grid(boundaries, request, grid)
        stripped = 0
        self.blocks: Sequence[ContentBlock] | None = request.blocks
        if strips_thinking and self.blocks is not None:
            self.blocks, stripped = without_old_thinking(self.blocks)
            if stripped:
                boundaries = content_boundaries(self.blocks)
        self.request = request
        self.tokens = boundaries.tokens
        self.hashes = boundaries.hashes
        self.names = boundaries.names
        self.positions = boundaries.positions
        total = request.prompt_tokens
        if total is None:
            total, stripped = (self.tokens[-1] if self.tokens else 0), 0
        self.total = total - stripped
        self.output = request.output_tokens or 0
        self.key_settings = key_settings
        self.settings = NO_SETTINGS
        self.has_image: bool | None = None
        self.keys = self.hashes
        if self.blocks is not None or request.settings or request.speed is not None:
            salts = self._salts(request, key_settings, images)
            if salts is not None:
                self.keys = self._keyed(salts)

    def _salts(
        self, request: Request, key_settings: Sequence[KeySetting], images: bool
    ) -> list[int] | None:
        """One salt a level, each including the levels before it; None if nothing is set."""
        if request.settings or request.speed is not None:
            self.settings = active_settings(request, key_settings)
        if images:
            self.has_image = any_image(self.blocks or ())
        has_image = bool(self.has_image)
        if not self.settings and not has_image:
            return None
        salts, salt = [], 0
        for level in _LEVELS:
            for setting in key_settings:
                if setting.level == level and setting.name in self.settings:
                    text = f"{setting.name}={self.settings[setting.name]}"
                    salt ^= content_hash(text.encode())
            if level == "messages" and has_image:
                salt ^= _HAS_IMAGE
            salts.append(salt)
        return salts

    def _keyed(self, salts: list[int]) -> list[int]:
        keys, level = [], 0
        for value, name in zip(self.hashes, self.names, strict=True):
            level = max(level, _LEVEL_OF.get(name, 2))  # what follows a message is one
            keys.append(value ^ salts[level])
        return keys

    def level_start(self, level: str) -> int:
        """Tokens before the first position that a setting of `level` reaches."""
        wanted = _LEVELS.index(level)
        for i, name in enumerate(self.names):
            if _LEVEL_OF.get(name, 2) >= wanted:
                return self.tokens[i - 1] if i else 0
        return self.total


def without_old_thinking(
    blocks: Sequence[ContentBlock],
) -> tuple[Sequence[ContentBlock], int]:
    """The blocks as older Claude models see them, and how many tokens fell out.

    A user turn that is no tool result strips the thinking before it (Anthropic, 2026-08-22).
    """
    turns = [i for i, b in enumerate(blocks) if b.section == "user" and b.kind != "tool_result"]
    last = turns[-1] if turns else 0
    old = {i for i in range(last) if blocks[i].kind == "thinking"}
    if not old:
        return blocks, 0
    kept = [block for i, block in enumerate(blocks) if i not in old]
    return kept, sum(blocks[i].tokens for i in old)


def any_image(blocks: Sequence[ContentBlock]) -> bool:
    """Whether an image stands anywhere among the blocks."""
    return any(block.kind == "image" for block in blocks)


def active_settings(request: Request, key_settings: Sequence[KeySetting]) -> dict[str, str]:
    """The request's settings that are part of the key and differ from the provider's default."""
    found = {}
    for setting in key_settings:
        value = request.settings.get(setting.name)
        if value is None and setting.name == "speed":
            value = request.speed
        if value is not None:
            value = plain(value)
            if value != setting.default:
                found[setting.name] = value
    return found


@lru_cache(maxsize=4_096)
def plain(value: str) -> str:
    """A setting in one spelling: keys sorted, and `{"type":"auto"}` is `auto`."""
    if not value.startswith("{"):
        return value
    try:
        parsed = json.loads(value)
        if list(parsed) == ["type"]:
            return str(parsed["type"])
        return json.dumps(parsed, sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):  # no JSON, or nested too deep: one spelling is enough
        return value


def system_end(prompt: Prompt) -> int | None:
    """Index of the last position of the tools and system part; None if there is none."""
    if prompt.blocks is None:
        return _system_end_in_token_blocks(prompt)
    found = None
    for i, name in enumerate(prompt.names):
        if name not in ("tools", "system", "developer"):
            break
        found = i
    return found


def _system_end_in_token_blocks(prompt: Prompt) -> int | None:
    names = prompt.names
    if names[:1] == ["system"] or names[1:2] == ["system"]:
        return 0 if names[0] == "system" else 1
    request = prompt.request
    if request.tools_tokens is None and request.system_tokens is None:
        return None
    if "system" in names:
        return names.index("system")
    # one position can be both: the end of a prompt that is only tools and system
    length = (request.tools_tokens or 0) + (request.system_tokens or 0)
    return len(names) - 1 if names and prompt.total <= length else None
