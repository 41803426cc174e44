"""How a content block joins the hash of everything before it."""

from cachecast_datasets.hashing import chain, content_hash
from cachecast_datasets.request import SECTIONS

# Equal names mean equal content, but a tool definition and a system text of the same bytes are
# rendered differently: the section joins the chain before the block does.
_SECTION_HASH = {section: content_hash(section.encode()) for section in SECTIONS}


def extended(prefix: int, section: str, block_hash: int) -> int:
    """The hash of a prefix and the block after it. The first block comes after ROOT."""
    return chain(chain(prefix, _SECTION_HASH[section]), block_hash)
