"""Every numbered fault of the sheet of faults that others had: the tests that make it impossible
here, or why it cannot be. (G, semantic caches, has no numbers.)"""

import re
from pathlib import Path

FAULTS: dict[int, tuple[str, ...]] = {
    # A. hit accounting
    1: (
        "test_every_token_is_computed_as_often_as_the_hits_say",
        "test_a_storm_of_preemptions_ends",
    ),
    2: ("test_rows_20_and_21_a_request_that_waits_is_counted_once_when_it_is_admitted",),
    3: ("test_row_5_a_shared_prefix_shorter_than_a_block_hits_nothing_and_says_so",),
    4: ("test_the_contract_is_filled",),
    5: ("test_row_7_the_look_up_stops_at_the_first_block_that_is_not_there",),
    6: ("test_row_1_the_same_tokens_after_another_prefix_do_not_hit",),
    7: ("test_detail_2_a_chunk_after_the_first_costs_all_its_tokens",),
    8: ("test_the_contract_is_filled",),
    9: ("test_a_bad_field_is_told_with_its_value_and_what_goes",),  # no speculation is simulated
    10: ("test_row_7_the_last_token_is_computed_so_a_repeat_hits_the_blocks_before_it",),
    11: ("test_row_12_the_next_turn_hits_the_answer_but_for_its_last_token",),
    12: ("test_driven_by_a_replays_own_durations_the_simulator_agrees_on_everything",),
    13: ("test_totals_leave_unknown_hits_out_of_the_ratio_and_count_them",),
    # B. eviction and life
    14: ("test_row_7_of_an_evicted_chain_the_tail_is_missing_always",),
    15: ("test_a_storm_of_preemptions_ends",),
    16: ("test_every_token_is_computed_as_often_as_the_hits_say",),
    17: ("test_every_request_comes_out_once_in_the_log_s_order_and_nothing_before_its_cause",),
    18: (
        "test_all_that_counts_as_evictable_can_be_evicted",
        "test_a_preempted_request_loses_what_the_tree_did_not_have",
        "test_ranks_share_the_kv_heads_and_repeat_them_when_there_are_too_few",
    ),
    19: (
        "test_row_19_a_preempted_request_that_is_back_in_time_ends_once",
        "test_a_request_cannot_end_twice",
        "test_blocks_stay_on_the_prefill_server_until_they_have_travelled",
    ),
    20: ("test_an_eviction_looks_at_the_leaf_it_takes_and_not_at_the_tree",),
    21: ("test_a_run_of_100_000_blocks_is_one_piece_of_work",),
    22: ("test_a_prompt_as_large_as_the_pool_hits_when_it_is_sent_again",),
    23: ("test_a_tier_of_two_blocks_saves_two",),
    # C. logs and replay
    24: (
        "test_the_same_log_gives_the_same_results_and_a_replay_of_its_steps_too",
        "test_a_log_that_streams_and_the_same_one_imported_are_served_alike",
    ),
    25: ("test_warm_up_and_reset_come_before_the_log_and_are_not_measured",),
    26: ("test_under_overload_a_session_keeps_its_think_time",),
    27: ("test_seconds_and_milliseconds_are_not_mixed_up",),  # that format is refused by its name
    28: ("test_a_mooncake_fault_is_named",),
    29: ("test_row_1_ids_keep_all_their_64_bits", "test_an_id_of_64_bits_is_not_cut"),
    30: (
        "test_a_mooncake_fault_is_named",
        "test_token_blocks_must_fit_the_prompt_rounded_down_or_up",
    ),
    31: (
        "test_equal_block_ids_give_equal_tokens_and_others_do_not",
        "test_local_ids_of_two_sessions_are_different_blocks_and_global_ones_are_not",
    ),
    32: ("test_a_mooncake_fault_is_named",),
    33: ("test_a_serving_sim_fault_is_named",),
    34: ("test_what_the_file_states_in_vain_is_said",),
    35: ("test_under_overload_a_session_keeps_its_think_time",),
    # D. latency
    36: (
        "test_more_hits_never_raise_the_time_to_the_first_token_of_an_idle_server",
        "test_a_cpu_tier_of_three_blocks_saves_three_blocks_of_prefill_and_costs_their_transfer",
    ),
    37: (
        "test_efficiencies_divide_and_the_overhead_adds",
        "test_cache_aware_leaves_a_match_whose_server_is_too_busy",
        "test_vllm_fits_as_many_blocks_of_16_into_the_memory_that_it_logged",
    ),
    38: ("test_row_19_a_preempted_request_keeps_its_first_token_s_time",),
    39: ("test_warm_up_and_reset_come_before_the_log_and_are_not_measured",),
    40: ("test_vllm_fits_as_many_blocks_of_16_into_the_memory_that_it_logged",),
    # E. lifetimes and money
    41: (  # asks for a cache with lifetimes in vLLM and for usage of what it wrote and read
        "test_a_block_is_alive_up_to_its_last_moment_after_its_last_use",
        "test_the_contract_is_filled",
    ),
    42: (
        "test_a_use_begins_the_life_anew",
        "test_ant_20_a_response_of_four_minutes_leaves_one_minute",
    ),
    43: (
        "test_known_fault_43_cached_tokens_of_an_inclusive_api_are_billed_once",
        "test_br_01_a_write_is_priced_once_and_is_not_part_of_the_input",
    ),
    44: (
        "test_br_04_and_known_fault_44_a_one_hour_write_costs_the_one_hour_price",
        "test_known_fault_44_no_write_price_is_borrowed_from_another_lifetime",
    ),
    45: (
        "test_br_107_the_hit_rate_is_what_was_read_of_every_prompt_of_every_request",
        "test_br_109_and_known_fault_45_a_saving_is_the_read_discount_less_the_write_premium",
        "test_a_model_without_a_price_is_counted_and_the_total_is_partial",  # pricing coverage
    ),
    # F. memory and speed
    46: (
        "test_the_log_is_read_as_far_as_its_arrivals_have_come",
        "test_a_log_that_streams_and_the_same_one_imported_are_served_alike",
    ),
    47: ("test_the_log_is_read_as_far_as_its_arrivals_have_come",),
    48: ("test_events_that_an_arrival_made_idle_do_not_pile_up",),
    49: ("test_the_log_is_read_as_far_as_its_arrivals_have_come",),
}  # fmt: skip


def test_every_fault_of_the_sheet_is_held_by_a_test(shared: Path) -> None:
    sheet = (shared / "peers" / "known-faults.md").read_text(encoding="utf-8")
    stated, section = [], ""
    for line in sheet.splitlines():
        if heading := re.match(r"([A-G])\. ", line):
            section = heading[1]
        if section in set("ABCDEF") and (fault := re.match(r"(\d+)\. ", line)):
            stated.append(int(fault[1]))
    assert sorted(FAULTS) == stated


def test_the_named_tests_exist(root: Path) -> None:
    texts = (path.read_text("utf-8") for path in (root / "tests").rglob("test_*.py"))
    defined = {name for text in texts for name in re.findall(r"^def (test_\w+)\(", text, re.M)}
    assert {name for names in FAULTS.values() for name in names} - defined == set()
