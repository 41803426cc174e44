from cachecast_datasets.boundaries import content_boundaries
from cachecast_datasets.hashing import content_hash
from cachecast_datasets.request import ContentBlock


def block(section: str, name: str, tokens: int, marker: str | None = None) -> ContentBlock:
    return ContentBlock(
        section, None, "text", 0, tokens, content_hash(name.encode()), marker=marker
    )


def test_there_is_one_boundary_per_content_block_named_after_its_section() -> None:
    found = content_boundaries([block("tools", "T", 20), block("system", "S", 0)])
    assert found.tokens == [20, 20]
    assert found.names == ["tools", "system"]
    assert found.positions == [1, 2]


def test_equal_prefixes_have_equal_hashes_and_a_change_shows_from_there_on() -> None:
    first = content_boundaries([block("system", "S", 5), block("user", "Q", 5)])
    same = content_boundaries([block("system", "S", 5, "5m"), block("user", "Q2", 5)])
    assert first.hashes[0] == same.hashes[0]  # a marker is not content
    assert first.hashes[1] != same.hashes[1]


def test_the_same_name_in_another_section_is_another_prefix() -> None:
    tools, system = (
        content_boundaries([block(section, "X", 5)]) for section in ("tools", "system")
    )
    assert tools.hashes != system.hashes


def test_a_prompt_without_blocks_has_no_boundaries() -> None:
    assert content_boundaries([]).tokens == []
