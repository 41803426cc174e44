"""The views of a run: their SQL, what they are for and what each column means.

This is the one place that says it: the database, `cachecast sql RUN` and docs/sql.md show it.
"""

from dataclasses import dataclass
from typing import Final

from cachecast.results import columns

_CHARGES: Final = (
    "charge_fresh", "charge_cache_read", "charge_cache_write", "charge_output", "charge_total",
    "without_cache", "charge_low", "charge_high",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class View:
    """A view: what it is for, its columns in order with their meaning, an example, its SQL."""

    meaning: str
    columns: dict[str, str]
    example: str
    sql: str


def money(picounits: str) -> str:
    """SQL for an exact DECIMAL(38,12) of the currency; NULL stays NULL.

    A product of decimals is exact in DuckDB, while `/` would be a float.
    """
    return f"CAST({picounits} AS DECIMAL(25,0)) * CAST('0.000000000001' AS DECIMAL(13,12))"


# A request without a price has no currency of its own. Where its scenario has just one, it is
# counted there, so that a group shows its priced and unpriced requests in one row.
_PRICED: Final = """
    WITH of_scenario AS (
        SELECT scenario, CASE WHEN count(DISTINCT currency) = 1 THEN min(currency) END AS only_one
        FROM raw_ledger GROUP BY scenario
    ),
    priced AS (
        SELECT l.* REPLACE (coalesce(l.currency, s.only_one) AS currency)
        FROM raw_ledger l JOIN of_scenario s USING (scenario)
    )
"""

_TOTALS: Final = f"""
    count(*) AS requests,
    CAST(sum(prompt_tokens) AS BIGINT) AS prompt_tokens,
    CAST(sum(cache_read) AS BIGINT) AS cache_read,
    CAST(sum(cache_write_5m + cache_write_30m + cache_write_1h + cache_write_12h
        + cache_write_unknown) AS BIGINT) AS cache_write,
    CAST(sum(fresh) AS BIGINT) AS fresh,
    CAST(sum(output) AS BIGINT) AS output,
    sum(cache_read) / nullif(sum(prompt_tokens), 0) AS token_hit_ratio,
    coalesce(sum(charge_total) FILTER (cache_read > 0), 0)
        / nullif(sum(charge_total), 0) AS spend_hit_ratio,
    {money("sum(charge_total)")} AS charge,
    {money("sum(coalesce(charge_low, charge_total))")} AS charge_low,
    {money("sum(coalesce(charge_high, charge_total))")} AS charge_high,
    {money("sum(without_cache)")} AS without_cache,
    {money("sum(without_cache - charge_total)")} AS net_saving,
    count(*) FILTER (charge_total IS NULL AND charge_low IS NULL) AS unpriced_requests
"""


def _grouped(keys: dict[str, str]) -> str:
    """SQL that sums the ledger over the keys (name -> expression), scenario and currency."""
    by = {"scenario": "scenario", **keys}
    select = ", ".join(f"{expression} AS {name}" for name, expression in by.items())
    places = ", ".join(str(place) for place in range(1, len(by) + 2))  # the keys and the currency
    # in order, so that the same run gives the same rows in the same places
    return (
        f"{_PRICED} SELECT {select}, currency, {_TOTALS} FROM priced"
        f" GROUP BY {places} ORDER BY {places}"
    )


def _columns(keys: dict[str, str]) -> dict[str, str]:
    return {"scenario": columns.SCENARIO, **keys, "currency": columns.CURRENCY, **columns.TOTALS}


def _at(unit: str) -> str:
    return f"date_trunc('{unit}', arrival)"


VIEWS: Final[dict[str, View]] = {
    "requests": View(
        "the log's own rows, without prompts and their hashes",
        columns.REQUESTS,
        "SELECT model, count(*), sum(prompt_tokens) FROM requests GROUP BY model",
        "SELECT * FROM raw_requests",
    ),
    "ledger": View(
        "one row per request and scenario: tokens by class, exact charges, the main reason",
        columns.LEDGER,
        "SELECT request_id, charge_total, without_cache FROM ledger"
        " ORDER BY charge_total DESC LIMIT 10",
        "SELECT * REPLACE ("
        + ", ".join(f"{money(name)} AS {name}" for name in _CHARGES)
        + ") FROM raw_ledger",
    ),
    "misses": View(
        "prompt tokens that were not read, one row per request, scenario and reason",
        columns.MISSES,
        "SELECT request_id, tokens, cost FROM misses"
        " WHERE avoidable ORDER BY cost DESC NULLS LAST LIMIT 10",
        f"""{_PRICED}
            SELECT m.scenario, m.row, m.request_id, l.session_id, l.model, m.reason, m.tokens,
            {money("m.cost_picounits")} AS cost, l.currency, m.avoidable
            FROM raw_misses m
            LEFT JOIN priced l USING (scenario, row)""",
    ),
    "served": View(
        "how a fleet served each request: server, hits, preemptions, times",
        columns.SERVED,
        "SELECT server, count(*), avg(ttft_s), sum(hit_tokens) / sum(prompt_tokens) FROM served"
        " GROUP BY server ORDER BY server",
        "SELECT * FROM raw_served",
    ),
    "timeline": View(
        "queue, batch, blocks in use and hits of each server over time",
        columns.TIMELINE,
        "SELECT start_s, sum(running), sum(waiting) FROM timeline GROUP BY start_s ORDER BY 1",
        "SELECT * FROM raw_timeline ORDER BY server, start_s",
    ),
    "measured": View(
        "how a real engine served each request in a replay",
        columns.MEASURED,
        "SELECT request_id, hit_tokens, ttft_s FROM measured ORDER BY ttft_s DESC LIMIT 10",
        "SELECT * FROM raw_measured",
    ),
    "steps": View(
        "the steps of an engine in order: what each computed and how long it took",
        columns.STEPS,
        "SELECT decode_requests, count(*), avg(duration_ns) / 1e6 AS ms FROM steps"
        " WHERE prefill_tokens = 0 GROUP BY 1 ORDER BY 1",
        "SELECT * FROM raw_steps",
    ),
    "by_scenario": View(
        "one row per scenario: the whole bill",
        _columns({}),
        "SELECT scenario, charge, without_cache, net_saving FROM by_scenario ORDER BY charge",
        _grouped({}),
    ),
    "by_reason": View(
        "why prompt tokens were not read, and what that cost above the read price",
        columns.BY_REASON,
        "SELECT reason, tokens, cost FROM by_reason WHERE avoidable ORDER BY cost DESC",
        """SELECT scenario, reason, avoidable, currency, count(DISTINCT row) AS requests,
            CAST(sum(tokens) AS BIGINT) AS tokens, sum(cost) AS cost,
            count(DISTINCT row) FILTER (cost IS NULL) AS unpriced_requests
            FROM misses GROUP BY ALL ORDER BY scenario, tokens DESC, reason""",
    ),
    "by_model": View(
        "the ledger summed by provider and priced model",
        _columns({"provider": columns.LEDGER["provider"], "model": columns.LEDGER["model"]}),
        "SELECT scenario, model, requests, token_hit_ratio, charge FROM by_model",
        _grouped({"provider": "provider", "model": "model"}),
    ),
    "by_session": View(
        "the ledger summed by account and session",
        _columns({"account": columns.LEDGER["account"], "session_id": columns.SESSION}),
        "SELECT session_id, requests, charge, token_hit_ratio FROM by_session"
        " ORDER BY charge DESC LIMIT 10",
        _grouped({"account": "account", "session_id": "session_id"}),
    ),
    "by_hour": View(
        "the ledger summed by the hour of arrival (UTC)",
        _columns({"hour": columns.HOUR}),
        "SELECT hour, requests, token_hit_ratio, charge FROM by_hour ORDER BY hour",
        _grouped({"hour": _at("hour")}),
    ),
    "by_day": View(
        "the ledger summed by the day of arrival (UTC)",
        _columns({"day": columns.DAY}),
        "SELECT day, charge, net_saving FROM by_day ORDER BY day",
        _grouped({"day": f"CAST({_at('day')} AS DATE)"}),
    ),
}
