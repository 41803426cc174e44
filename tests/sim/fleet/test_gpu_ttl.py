"""A life for blocks on the GPU, which no engine has of its own."""

from fleets import asked, fleet, served


def test_a_block_is_alive_up_to_its_last_moment_after_its_last_use() -> None:
    """Freed at 1 s, when the one-second prefill ends; wanted at 11 s with a TTL of 10 s."""
    for at_s, hit, reason in ((11.0, 8, None), (11.001, 0, "ttl_expired")):
        run = fleet(engine={"ttl_s": 10.0})
        _, again = served(run, asked(0, [1, 2, 3]), asked(at_s, [1, 2, 3]))
        assert (again.hit_tokens, again.reason) == (hit, reason or "last_token_rule")


def test_a_use_begins_the_life_anew() -> None:
    run = fleet(engine={"ttl_s": 10.0})
    hits = [job.hit_tokens for job in served(run, *(asked(9.0 * n, [1, 2, 3]) for n in range(4)))]
    assert hits == [0, 8, 8, 8]
