"""The model and the tokenizer that are made for servers."""

from pathlib import Path

import pytest

from cachecast_replay.engine.shape import read_shape
from cachecast_replay.tiny_llama import VOCABULARY, write_tiny_llama


def test_our_own_engine_reads_its_config(tmp_path: Path) -> None:
    write_tiny_llama(tmp_path / "model")
    shape = read_shape(tmp_path / "model")
    assert (shape.layers, shape.hidden_size, shape.vocab_size) == (2, 64, VOCABULARY)


def test_its_tokenizer_has_one_word_for_each_id(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers comes with Transformers")
    write_tiny_llama(tmp_path)
    made = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert made.get_vocab_size() == VOCABULARY
    assert made.encode("w4 w4095 what <s>").ids == [4, 4095, 3, 1]
    assert made.decode([4, 4095]) == "w4 w4095"
