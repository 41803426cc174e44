"""Large memory pages: which memory is moved, and that moving changes nothing else."""

import ctypes
import mmap
import platform

import pytest
import torch
from replay.tiny_models import strong_weights, tiny_shape

from cachecast_replay.engine import engine as engine_module
from cachecast_replay.engine import pages
from cachecast_replay.engine.engine import Engine
from cachecast_replay.engine.pages import (
    LARGE_BYTES,
    own_memory,
    return_free_memory,
    use_large_pages,
)

MAPS = """\
55e0c0000000-55e0c0800000 r-xp 00000000 08:01 1234       /usr/bin/python3.11
55e0c1000000-55e0c1400000 rw-p 00000000 00:00 0          [heap]
7f0000000000-7f0000a00000 rw-p 00000000 00:00 0
7f0001000000-7f0001a00000 ---p 00000000 00:00 0
7f0002000000-7f0002a00000 rw-s 00000000 00:05 99         /dev/shm/shared
7f0003000000-7f0003a00000 rw-p 00002000 08:01 77         /usr/lib/libtorch_cpu.so
7ffd00000000-7ffd00a00000 rw-p 00000000 00:00 0          [stack]
"""


def test_only_heap_and_mappings_without_a_file_are_moved() -> None:
    """Neither code nor files, nor what others share, nor what is reserved, nor the stack."""
    assert list(own_memory(MAPS)) == [
        (0x55E0C1000000, 0x55E0C1400000),
        (0x7F0000000000, 0x7F0000A00000),
    ]


@pytest.mark.skipif(platform.system() != "Linux", reason="large pages are asked for on Linux only")
def test_moving_memory_leaves_its_content_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """8 MiB of known numbers hold at least three whole large pages, wherever they begin."""
    numbers = torch.arange(1 << 20, dtype=torch.int64)
    start = numbers.data_ptr()
    monkeypatch.setattr(pages, "own_memory", lambda maps: iter([(start, start + (8 << 20))]))
    assert use_large_pages() in (0, 6 << 20, 8 << 20)  # 0: this kernel gives none
    assert torch.equal(numbers, torch.arange(1 << 20, dtype=torch.int64))
    return_free_memory()
    assert torch.equal(numbers, torch.arange(1 << 20, dtype=torch.int64))


def test_elsewhere_than_on_linux_nothing_is_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert use_large_pages() == 0
    return_free_memory()


def test_a_model_gains_nothing_until_it_outgrows_the_processors_translations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Asked for from WORTH_BYTES of weights and cache on, and not a byte below."""
    monkeypatch.setattr(engine_module, "use_large_pages", lambda: 4096)
    shape = tiny_shape()
    engine = Engine(
        shape, strong_weights(shape), blocks=30, block_tokens=4, max_batch_tokens=8, max_seqs=4
    )
    monkeypatch.setattr(engine_module, "WORTH_BYTES", engine.memory_bytes)
    assert engine.use_large_pages() == 4096
    monkeypatch.setattr(engine_module, "WORTH_BYTES", engine.memory_bytes + 1)
    assert engine.use_large_pages() == 0


def test_memory_is_that_of_all_weights_and_the_cache() -> None:
    """Layers of 48 x 48 and 48 x 32 (out, q; k, v), 3 x 40 x 48 and two norms; two vocabularies of
    50 x 48, a norm; a cache of 2 layers, K and V, 30 blocks of 4, 2 heads of 16; all float32.

    q and out: 6 heads of 16 are 96 wide."""
    shape = tiny_shape()
    engine = Engine(
        shape, strong_weights(shape), blocks=30, block_tokens=4, max_batch_tokens=8, max_seqs=4
    )
    layer = 2 * 96 * 48 + 2 * 32 * 48 + 3 * 40 * 48 + 2 * 48
    assert engine.memory_bytes == 4 * (2 * layer + 2 * 50 * 48 + 48 + 2 * 2 * 30 * 4 * 2 * 16)


@pytest.mark.skipif(platform.system() != "Linux", reason="large pages are asked for on Linux only")
def test_a_hole_in_a_mapping_keeps_no_page_behind_it_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 16 MiB only the first and the last 4 are touched: the hole of 8 holds three large pages
    or four, which are not there to be moved, and all others are."""
    size, touched = 16 << 20, 4 << 20
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[:touched] = memory[-touched:] = b"x" * touched
    with memoryview(memory) as view:
        start = ctypes.addressof(ctypes.c_char.from_buffer(view))
    monkeypatch.setattr(pages, "own_memory", lambda maps: iter([(start, start + size)]))
    low, high = start + touched, start + size - touched
    last = start + size - LARGE_BYTES
    firsts = range(-(-start // LARGE_BYTES) * LARGE_BYTES, last + 1, LARGE_BYTES)
    there = [first for first in firsts if first < low or first + LARGE_BYTES > high]
    assert use_large_pages() in (0, len(there) * LARGE_BYTES)  # 0: this kernel gives none
    assert memory[:touched] == memory[-touched:] == b"x" * touched
