"""Runs of blocks in the pool, by hand: how they are found, split, evicted and let go."""

from fleet_runs import extents_in, queue_of

from cachecast_sim.fleet.extents import Holding
from cachecast_sim.fleet.prefixes import PrefixTree
from cachecast_sim.fleet.vllm.pool import BlockPool


def test_a_run_of_100_000_blocks_is_one_piece_of_work() -> None:
    """Known fault 21: 2 s to allocate 1,000 blocks by a linear scan. Counted, not timed."""
    path, _ = PrefixTree().enter(range(100_000))
    evicted: list[tuple[int, int]] = []
    pool = BlockPool(150_000, lambda segment, low, high: evicted.append((low, high)))
    held: list[Holding] = []
    pool.take(100_000)
    pool.fill(held, path, 0, 100_000)
    pool.release(held, 0, 0)
    assert [(extent.low, extent.high) for extent in extents_in(pool)] == [(0, 100_000)]
    assert len(pool.find(path, 100_000)[0]) == 1
    pool.take(110_000)
    assert evicted == [(40_000, 100_000)]
    assert pool.find(path, 100_000)[1:] == (40_000, 40_000)


def test_the_middle_of_a_free_run_can_be_hit_where_an_older_copy_covers_its_start() -> None:
    """The first job holds blocks 0 to 2; the second hits 0 and 1 and computes 2 again, 3 and 4.

    Both gone, a third may hit four blocks: 0 to 2 of the first, and 3 from the middle of 2 3 4. In
    the queue stay 4 and then 2 of the second job, 4 the sooner to go.
    """
    path, _ = PrefixTree().enter(range(5))
    evicted: list[int] = []
    pool = BlockPool(6, lambda segment, low, high: evicted.extend(reversed(range(low, high))))
    first: list[Holding] = []
    pool.take(3)
    pool.fill(first, path, 0, 3)
    second = pool.touch(pool.find(path, 2)[0])
    pool.take(3)
    pool.fill(second, path, 2, 5)
    pool.release(second, 0, 1)
    pool.release(first, 0, 2)
    assert [at for _, at in queue_of(pool)] == [4, 3, 2, 2, 1, 0]
    found, hits, free = pool.find(path, 4)
    assert (hits, free) == (4, 4)
    pool.touch(found)
    assert [at for _, at in queue_of(pool)] == [4, 2]
    pool.take(1)
    assert evicted == [4]
    pool.expire(1)  # let go at 1 ns: alive for those who allow no earlier use
    assert [at for _, at in queue_of(pool)] == [2]
    pool.expire(2)
    assert queue_of(pool) == []


def test_parts_of_a_run_that_were_let_go_at_different_times_expire_one_by_one() -> None:
    """Four blocks, the first two of them used by a second job too, until 10 ns instead of 5."""
    path, _ = PrefixTree().enter(range(4))
    pool = BlockPool(4)
    first: list[Holding] = []
    pool.take(4)
    pool.fill(first, path, 0, 4)
    second = pool.touch(pool.find(path, 2)[0])
    pool.release(first, 0, 5)
    pool.release(second, 0, 10)
    assert [at for _, at in queue_of(pool)] == [3, 2, 1, 0]
    pool.expire(5)
    assert pool.unhashed == 0
    pool.expire(6)
    assert [at for _, at in queue_of(pool)] == [1, 0]
    pool.expire(11)
    assert pool.unhashed == 4
