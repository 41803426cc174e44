"""The prompts of one Claude Code file: for each call the path of messages from the root to it."""

from collections.abc import Iterator

from cachecast_datasets.block_path import Part
from cachecast_datasets.hashing import content_hash
from cachecast_datasets.readers.claude_code_file import Call, Node, TranscriptFile, output_of
from cachecast_datasets.readers.prompt_growth import Answer, Prompt, PromptGrowth

UNSEEN = "unseen system and tools"
UNSEEN_HISTORY = "unseen system, tools and earlier messages"


class Origin:
    """What a call continues: an earlier call and the lines since, or a root and all its lines."""

    __slots__ = ("before", "missing", "nodes")

    def __init__(self, before: Call | None, nodes: list[Node], missing: str | None) -> None:
        self.before = before
        self.nodes = nodes
        self.missing = missing  # the uuid of a parent that the file does not hold

    def sent_us(self, first_us: int) -> int | None:
        """When the last line that the request needed was written, not after `first_us`."""
        times = [n.time_us for n in self.nodes if n.time_us is not None and n.time_us <= first_us]
        return max(times, default=None)


def origin_of(file: TranscriptFile, call: Call) -> Origin:
    """Up the tree from the call's first line, to the last call on the way."""
    nodes: list[Node] = []
    before, missing = None, None
    visited: set[str] = set()
    uuid = call.parent
    while uuid is not None and uuid not in visited:
        visited.add(uuid)
        node = file.nodes.get(uuid)
        if node is None:
            missing = uuid
            break
        if node.call is None:
            nodes.append(node)
        elif node.call is not call:
            before = node.call
            break
        uuid = node.parent
    if before is not None:
        nodes += _parallel_results(file, before, call, nodes)
    nodes.sort(key=lambda node: node.line)
    return Origin(before, nodes, missing)


def _parallel_results(
    file: TranscriptFile, before: Call, call: Call, known: list[Node]
) -> Iterator[Node]:
    """Results of tool calls in one answer are siblings in the tree, but all go into the prompt."""
    taken = set(map(id, known))
    for asked in before.asked:
        for node in file.results.get(asked, ()):
            if id(node) not in taken and node.line < call.line:
                taken.add(id(node))
                yield node


class FilePrompts:
    """Makes a file's prompts; asked in the order of the lines it never recurses."""

    def __init__(self, file: TranscriptFile) -> None:
        self._file = file
        self._growth = PromptGrowth()
        self.origins = {call.key: origin_of(file, call) for call in file.calls.values()}
        self._waiting: dict[str, int] = {}  # how many calls continue each call
        for origin in self.origins.values():
            if origin.before is not None:
                key = origin.before.key
                self._waiting[key] = self._waiting.get(key, 0) + 1
        self._made: dict[str, tuple[Prompt | None, bool]] = {}

    def ordered(self) -> Iterator[Call]:
        """Every call after the one it continues; else in the order of their lines."""
        done: set[str] = set()
        for call in self._file.calls.values():
            chain: list[Call] = []
            link: Call | None = call
            while link is not None and link.key not in done:
                done.add(link.key)
                chain.append(link)
                link = self.origins[link.key].before
            yield from reversed(chain)

    def prompt(self, call: Call, total: int | None) -> Prompt | None:
        """The prompt, None if no message of it is known."""
        origin = self.origins[call.key]
        before, partial, answer = None, origin.missing is not None, Answer()
        parts: list[Part] = [part for node in origin.nodes for part in node.parts]
        if origin.before is not None:
            answer = Answer(origin.before.parts, output_of(origin.before.usage))
            before, partial = self._made_for(origin.before)
        if before is None and not (answer.parts or parts):
            return None
        size = total if total is not None else (before.total if before else 0)
        lead = self._lead(call, partial)
        if before is None:
            made = self._growth.first(lead, [*answer.parts, *parts], size)
        else:
            made = self._growth.next(before, lead, answer, parts, size)
        if self._waiting.get(call.key):
            self._made[call.key] = (made, partial)
        return made

    def _made_for(self, before: Call) -> tuple[Prompt | None, bool]:
        """The prompt of an earlier call, and whether its start is unknown. Kept while needed."""
        self._waiting[before.key] -= 1
        if self._waiting[before.key]:
            return self._made.get(before.key, (None, True))
        # nothing was known before that call, or the parents form a circle
        return self._made.pop(before.key, (None, True))

    def _lead(self, call: Call, partial: bool) -> Part:
        """What the file does not show. Its hash changes with what certainly changes it."""
        line = call.first
        agent = self._file.agent_of(line) if self._file.is_sidechain(line) else None
        label = UNSEEN_HISTORY if partial else UNSEEN
        known = (label, line.session_id, agent, line.version, call.model)
        value = content_hash("\n".join(str(item) for item in known).encode(errors="replace"))
        return Part("system", "system", "text", 0, value, value, value, label)
