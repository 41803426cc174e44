"""Tokenizers from local files: how they split a prompt, and what becomes of their token ids."""

import base64
import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_calls import claude, message, pair, said, usage

from cachecast_datasets.errors import BadInput
from cachecast_datasets.tokenizers import Tokenizer, load

ImportAll = Callable[..., Any]
Write = Callable[..., Path]

WORDS = Tokenizer("words 1", lambda text: [sum(word.encode()) for word in text.split()])


def prompt(*texts: str) -> dict[str, Any]:
    return claude(system="Be brief. " * 8, messages=[said("user", text) for text in texts])


def test_a_tokenizer_splits_the_reported_total(write: Write, import_all: ImportAll) -> None:
    """16 words and 4: 100 tokens become 80 and 20, whatever their bytes."""
    path = write(pair(prompt("extraordinarily long words indeed"), message(usage(100))))
    trace, _ = import_all(path, tokenizer=WORDS)
    (request,) = trace
    assert [block.tokens for block in request.blocks] == [80, 20]
    assert trace.meta.tokenizer == "words 1, scaled to the reported total"


def test_ids_give_token_blocks_but_are_not_stored(write: Write, import_all: ImportAll) -> None:
    """Ids are text by another name. 16 words are a block; 100 tokens have six full ones."""
    rows = [
        pair(prompt("one two three four"), message(usage(100))),
        pair(prompt("one two three five"), message(usage(100), id="msg_2")),
    ]
    one, other = import_all(write(*rows), tokenizer=WORDS)[0]
    assert one.token_block_size == 16
    assert len(one.token_blocks) == 6
    assert one.token_blocks[0] == other.token_blocks[0]  # the system text
    assert one.token_blocks[1] != other.token_blocks[1]
    assert one.token_ids is None


def test_another_models_tokenizer_gives_no_token_blocks(
    write: Write, import_all: ImportAll
) -> None:
    trace, summary = import_all(
        write(pair(prompt("four words are more"), message(usage(19)))), tokenizer=WORDS
    )
    assert next(iter(trace)).token_blocks is None
    assert summary.warnings == [
        "1 × no token blocks: media, or the tokenizer makes more tokens than reported"
    ]


def test_a_file_without_its_package_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(BadInput, match="package tokenizers reads it, and it is not installed"):
        load(tmp_path)


@pytest.mark.parametrize("name", ["no-such-file", "cl50k.tiktoken"])
def test_nothing_is_fetched_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "cl50k.tiktoken").write_text("")
    with pytest.raises(BadInput, match="expected"):
        load(tmp_path / name)


def test_a_tokenizer_json_is_named_to_the_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a stand-in for the package, which is not needed to use cachecast."""

    class Stand:
        def encode(self, text: str, add_special_tokens: bool) -> Any:
            assert not add_special_tokens
            return types.SimpleNamespace(ids=[len(word) for word in text.split()])

    package = types.ModuleType("tokenizers")
    package.__version__ = "0.1"  # type: ignore[attr-defined]
    package.Tokenizer = types.SimpleNamespace(from_file=lambda path: Stand())  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tokenizers", package)
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {}}))
    made = load(tmp_path)
    assert made.encode("two words") == [3, 5]
    assert made.name.startswith("tokenizers 0.1 tokenizer.json xxh64:")


def test_a_real_tokenizer_json_is_read_where_its_package_is_there(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    model = {"type": "WordLevel", "vocab": {"two": 0, "words": 1, "?": 2}, "unk_token": "?"}
    whole: dict[str, Any] = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None,
        "decoder": None, "model": model,
    }  # fmt: skip
    (tmp_path / "own.json").write_text(json.dumps(whole))
    assert list(load(tmp_path / "own.json").encode("two words more")) == [0, 1, 2]


def test_a_real_file_of_ranks_is_read_where_its_package_is_there(tmp_path: Path) -> None:
    pytest.importorskip("tiktoken")
    path = tmp_path / "o200k_base.tiktoken"
    lines = [f"{base64.b64encode(bytes([n])).decode()} {n}" for n in range(256)]
    path.write_text("\n".join([*lines, f"{base64.b64encode(b'ab').decode()} 256"]))
    assert list(load(path).encode("abc")) == [256, ord("c")]


@pytest.mark.parametrize("tokenizer", [None, WORDS])
def test_a_document_of_plain_text_is_as_long_as_its_text(
    write: Write, import_all: ImportAll, tokenizer: Tokenizer | None
) -> None:
    """800 words of 4 characters and a blank: 1,000 tokens by bytes; a picture is 1,600 always."""
    words = " ".join(["word"] * 800) + "."
    source = {"type": "text", "media_type": "text/plain", "data": words}
    plain = {"type": "document", "source": source}
    picture = {"type": "image", "source": {"type": "base64", "data": "AAAA" * 9_000}}
    path = write(pair(claude(messages=[said("user", [plain, picture])]), message(None)))
    (request,) = import_all(path, tokenizer=tokenizer)[0]

    expected = 1000 if tokenizer is None else 800
    assert [block.tokens for block in request.blocks] == [expected, 1600]
    assert request.blocks[0].kind == "document"
