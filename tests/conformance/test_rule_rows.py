"""Every rule row of the fact sheet's sections 2, 3 and 7: the test that holds it, or why none."""

import re
from pathlib import Path

NO_PROMPT = "says nothing about a prompt, a usage or a charge"
UNSEEN = "the log format has no field for it"

ROWS: dict[str, dict[str, str]] = {
    "## 2. Anthropic (Claude API)": {
        "Opt-in": "test_without_any_marker_nothing_is_read_or_written",
        "Render order": "test_changed_text_loses_its_level_and_every_later_one",
        "Marker in the key?": "test_the_marker_itself_is_not_part_of_the_key",
        "Explicit markers": "test_four_markers_are_accepted_and_cost_nothing_by_themselves",
        "Automatic mode": "test_automatic_mode_is_refused",
        "What is written": "test_an_entry_is_written_at_the_marker_and_at_no_earlier_block",
        "What can be read": "test_the_marker_s_own_position_is_the_first_of_twenty",
        "What is a position": "test_a_run_of_tool_blocks_is_one_position_unless_grouping_is_off",
        "Cacheable blocks": "test_a_marker_on_a_thinking_block_is_refused",
        "Marker placement limits": UNSEEN,
        "Minimum prefix 512": "test_a_prefix_one_token_below_the_minimum_is_not_cached",
        "Minimum prefix 1,024": "test_a_prefix_one_token_below_the_minimum_is_not_cached",
        "Minimum prefix 2,048": "test_a_prefix_one_token_below_the_minimum_is_not_cached",
        "Minimum prefix 4,096": "test_a_prefix_one_token_below_the_minimum_is_not_cached",
        "Superseded minimums": "test_a_prefix_one_token_below_the_minimum_is_not_cached",
        "Below minimum": "test_a_marker_below_the_minimum_does_not_stop_a_later_one",
        "TTL": "test_a_life_includes_its_last_moment_and_counts_from_the_request_s_start",
        "Availability": "test_an_entry_is_readable_from_its_writer_s_first_token_on",
        "Mixed TTL order": "test_markers_that_the_provider_refuses",
        "Mixed TTL billing": "test_the_split_between_reads_and_writes_of_both_lifetimes",
        "Multipliers": "test_anthropic_writes_at_1_25_and_2_and_reads_at_a_tenth",
        "Read exceptions": "test_anthropic_writes_at_1_25_and_2_and_reads_at_a_tenth",
        "Old rounded prices": "test_anthropic_writes_at_1_25_and_2_and_reads_at_a_tenth",
        "Stacking": (
            "test_the_regional_price_stacks_on_batch_and_is_part_of_the_cost_without_a_cache"
        ),
        "Long context": "test_the_whole_request_moves_to_the_long_context_price",
        "Server tools": "test_the_api_itself_puts_a_5m_marker_on_a_server_tool_result",
        "Batch": "hits are best effort: no number is promised; the price is tested",
        "Prewarm": "test_a_prewarm_writes_at_its_marker_and_puts_nothing_out",
        "Isolation": "test_accounts_models_and_platforms_do_not_share",
        "Rate limits": NO_PROMPT,
        "Streaming": NO_PROMPT,
        "Not in the key": "test_a_changed_setting_loses_its_level_and_every_later_one",
        "Diagnostics": NO_PROMPT,
        "Thinking blocks": "test_thinking_blocks_inside_the_prefix_are_cached_with_it",
        "Rounding": "test_no_rounding_counts_are_exact_block_boundaries",
    },
    "### 2.1 What invalidates which level": {
        "tool definitions (name, text, schema, order)": (
            "test_changed_text_loses_its_level_and_every_later_one"
        ),
        "model": "test_accounts_models_and_platforms_do_not_share",
        "web search or web fetch toggle, citations toggle, speed fast/standard": (
            "test_a_changed_setting_loses_its_level_and_every_later_one"
        ),
        "system text": "test_changed_text_loses_its_level_and_every_later_one",
        "tool_choice, disable_parallel_tool_use": (
            "test_a_changed_setting_loses_its_level_and_every_later_one"
        ),
        "adding or removing images anywhere": "test_adding_an_image_anywhere_loses_the_messages",
        "thinking settings, output_config.effort": (
            "test_an_explicit_default_equals_leaving_the_setting_out"
        ),
        "markers, max_tokens, stream": "test_the_marker_itself_is_not_part_of_the_key",
    },
    "### 3.1 GPT-5.6 and later": {
        "Key": "test_scopes_do_not_share",
        "Settings that change the prefix": "test_settings_that_change_the_key",
        "Not breaking": "test_settings_that_do_not",
        "Modes": "test_the_default_mode_is_implicit",
        "Implicit breakpoint": "test_which_message_ends_the_implicit_prefix",
        "Explicit breakpoint": "test_a_breakpoint_on_a_tool_definition_is_refused",
        "Writes per request": (
            "test_the_latest_four_or_beside_the_implicit_one_the_latest_three_are_written"
        ),
        "Explicit mode, no breakpoint": (
            "test_explicit_mode_without_a_breakpoint_does_not_even_read"
        ),
        "Text after the last breakpoint": (
            "test_text_after_the_latest_eligible_message_is_neither_read_nor_written"
        ),
        "Lookup boundaries, explicit mode": "test_which_explicit_breakpoints_are_looked_up",
        "Lookup boundaries, implicit mode": "test_twenty_earlier_message_endings_are_looked_up",
        "Lookup count, conflict": "test_which_explicit_breakpoints_are_looked_up",
        "Search": "test_no_partial_match_of_a_longest_common_prefix",
        "Minimum": "test_the_minimum_is_1024_visible_tokens",
        "Reporting": "test_counts_are_exact_and_not_rounded_to_128",
        "Write price": "test_openai_from_5_6_on_writes_at_1_25",
        "Read price": "test_openai_from_5_6_on_writes_at_1_25",
        "Lifetime": "test_reuse_starts_the_thirty_minutes_again",
        "12 h tier": "test_a_model_with_the_twelve_hour_tier_keeps_it_twelve_hours",
        "prompt_cache_key": "test_settings_that_change_the_key",
        "Routing": "test_traffic_above_the_overflow_setting_meets_another_machine",
        "Prewarm": "test_a_prewarm_writes_at_the_write_price_and_puts_nothing_out",
        "Diagnostics": NO_PROMPT,
        "Rate limit": NO_PROMPT,
        "Long context": "prices above 272K are tests of the price list",
        "Tiers": "test_a_write_price_that_no_source_states_is_no_price",
        "Trailing tokens": "test_oai_14_the_measured_tail_of_133_tokens_is_never_cached",
        "Availability after write": (
            "test_an_entry_is_readable_when_its_writer_s_response_starts"
        ),
    },
    "### 3.2 GPT-5.5, 5.5 Pro, and earlier": {
        "5.5 / 5.5 Pro breakpoints": "test_gpt_5_5_has_a_breakpoint_every_2048_tokens",
        "Older models": "test_older_models_read_multiples_of_128_from_1024_on",
        "Reported cached_tokens": (
            "test_breakpoints_count_from_the_hidden_text_which_is_taken_off_before_rounding"
        ),
        "Minimum": "test_older_models_read_multiples_of_128_from_1024_on",
        "Write fee": "test_nothing_is_ever_billed_as_written",
        "Retention": "test_the_lower_end_of_the_stated_idle_life_always_hits",
        "Default": "test_the_lower_end_of_the_stated_idle_life_always_hits",
        "24h list": "test_the_lower_end_of_the_stated_idle_life_always_hits",
        "Key": "test_scopes_and_settings_do_not_share",
        "Read discount": "test_the_reads_of_each_generation_are_priced_at_its_own_discount",
    },
    "## 7. DeepSeek": {
        "Mode": "test_nothing_is_ever_written_for_money",
        "Hit condition": "test_part_of_a_unit_gives_nothing",
        "Units are created": (
            "test_a_common_prefix_becomes_a_unit_with_the_second_request_and_is_read_by_the_third"
        ),
        "Minimum": "test_the_2024_rule_reads_units_of_64_tokens_at_once",
        "Reported multiples": "measured on dashboards, promised nowhere",
        "Availability": "test_building_a_unit_takes_two_seconds_from_the_first_token",
        "Lifetime": "test_units_live_for_hours_but_not_for_weeks_without_use",
        "Output": "test_settings_are_not_in_the_key",
        "Anthropic-style endpoint": "test_markers_are_accepted_and_ignored",
        "Isolation": "test_scopes_do_not_share",
        "Peak": "test_deepseek_s_peak_hours_are_judged_by_the_arrival",
        "deepseek-flash (V4.1-Flash-1017)": "test_another_currency_of_the_price_list",
        "deepseek-v4-pro": "prices and their conflict are tests of the price list",
        "Price history, USD hit/miss/out": "dated prices are tests of the price list",
    },
}  # fmt: skip


def stated_rows(sheet: str) -> dict[str, list[str]]:
    """The first column of every rule table in those sections, by heading."""
    found: dict[str, list[str]] = {}
    rows: list[str] = []
    for text in sheet.splitlines():
        if text.startswith("#"):
            heading = next((name for name in ROWS if text.startswith(name)), None)
            rows = [] if heading is None else found.setdefault(heading, [])
        elif text.startswith("| "):
            rows.append(text.split("|")[1].strip())
    heads = ("rule", "change")
    return {name: [row for row in rows if row not in heads] for name, rows in found.items()}


def test_every_row_is_held_by_a_test_or_has_a_reason_not_to_be(shared: Path) -> None:
    sheet = (shared / "provider-rules.md").read_text(encoding="utf-8")
    assert stated_rows(sheet) == {heading: list(rows) for heading, rows in ROWS.items()}


def test_the_named_tests_exist(root: Path) -> None:
    texts = (
        path.read_text(encoding="utf-8") for path in sorted((root / "tests").rglob("test_*.py"))
    )
    defined = {name for text in texts for name in re.findall(r"^def (test_\w+)\(", text, re.M)}
    named = {name for rows in ROWS.values() for name in rows.values() if name.startswith("test_")}
    assert named - defined == set()
