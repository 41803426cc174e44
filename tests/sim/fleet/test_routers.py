"""Five requests over two servers under each router."""

import pytest
from fleets import asked, fleet, served

from cachecast_datasets.errors import BadInput

# Prompts of four blocks. A and B share nothing. All come while the first still prefills (1 s).
A, B = [1, 2, 3, 4], [11, 12, 13, 14]
FIVE = [
    asked(0.0, A, session_id="s1"),
    asked(0.1, B, session_id="s2"),
    asked(0.2, A, session_id="s1"),
    asked(0.3, A, session_id="s3"),
    asked(0.4, B, session_id="s2"),
]


def servers(router: str, **more: object) -> list[int | None]:
    run = fleet(fleet={"servers": 2, "router": router, **more})
    return [job.server for job in served(run, *FIVE)]


def test_round_robin_takes_one_server_after_the_other() -> None:
    assert servers("round_robin") == [0, 1, 0, 1, 0]


def test_least_loaded_takes_the_server_with_the_fewest_jobs_and_the_first_of_equals() -> None:
    assert servers("least_loaded") == [0, 1, 0, 1, 0]  # loads 00 10 11 21 22


def test_prefix_hash_sends_equal_first_blocks_to_one_server() -> None:
    first, second, *rest = servers("prefix_hash")
    assert rest == [first, first, second]


def test_cache_aware_follows_the_longest_match() -> None:
    # A is hashed on 0 from its first step on, B on 1 (0 has a job by then)
    assert servers("cache_aware") == [0, 1, 0, 0, 1]


def test_cache_aware_leaves_a_match_whose_server_is_too_busy() -> None:
    # the third finds 1 job on each; the fourth 2 against 1, which is the balance
    assert servers("cache_aware", router_balance=1) == [0, 1, 0, 1, 1]


def test_session_sticky_keeps_a_session_where_it_began() -> None:
    assert servers("session_sticky") == [0, 1, 0, 1, 1]  # s3 finds 2 jobs on 0 and 1 on 1


def test_a_router_changes_what_is_hit() -> None:
    hits = {}
    for router in ("round_robin", "cache_aware"):
        run = fleet(fleet={"servers": 2, "router": router})
        hits[router] = [job.hit_tokens for job in served(run, *FIVE)]
    # four blocks of four tokens, of which the last token, and so its block, is always computed
    assert hits == {"round_robin": [0, 0, 12, 0, 0], "cache_aware": [0, 0, 12, 12, 12]}


def test_an_unknown_router_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(BadInput, match=r"'round_robbin'; did you mean 'round_robin'"):
        fleet(fleet={"router": "round_robbin"})
