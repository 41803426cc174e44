"""What a replay through a server measured: as JSON, as a table, and in sentences."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from cachecast.output import counted, print_table, share, tokens
from cachecast_replay.endpoint.answers import AnswerTotals
from cachecast_replay.endpoint.dialect import Dialect
from cachecast_sim.fleet.summary import Spread, spread

if TYPE_CHECKING:  # it needs httpx, which may not be there
    from cachecast_replay.endpoint.preparing import Found


def answers_json(totals: AnswerTotals) -> dict[str, Any]:
    """Tokens and latencies of the completed requests; hit tokens are null if none is known."""
    known = totals.completed > totals.unknown_hits
    return {
        "requests": totals.requests,
        "completed": totals.completed,
        "failed": totals.failed,
        "retries": totals.retries,
        "retried_requests": totals.retried_requests,
        "stopped_early": totals.stopped_early,
        "prompt_tokens": totals.prompt_tokens,
        "output_tokens": totals.output_tokens,
        "hit_tokens": totals.hit_tokens if known else None,
        "unknown_hit_requests": totals.unknown_hits,
        "token_hit_ratio": totals.token_hit_ratio,
        "recounted_prompts": totals.recounted,
        "send_delay_s": _json(spread(totals.delay_ns)),
        "ttft_s": _json(spread(totals.ttft_ns)),
        "e2e_s": _json(spread(totals.e2e_ns)),
        "makespan_s": totals.makespan_s,
    }


def _json(found: Spread | None) -> dict[str, float] | None:
    if found is None:
        return None
    return {"mean": found.mean, "p50": found.p50, "p90": found.p90, "p99": found.p99}


def print_answers(totals: AnswerTotals, endpoint: str, model: str) -> None:
    """The server's hits and latencies."""
    table = Table(title=f"{model} at {endpoint}, real clock", title_justify="left",
                  header_style="bold", box=box.SIMPLE_HEAD)  # fmt: skip
    names = ("requests", "failed", "retries", "prompt tokens", "hit", "TTFT mean", "p90",
             "E2E mean")  # fmt: skip
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    ttft, e2e = spread(totals.ttft_ns), spread(totals.e2e_ns)
    hit = "unknown" if totals.token_hit_ratio is None else share(totals.token_hit_ratio)
    means = (
        None if ttft is None else ttft.mean, None if ttft is None else ttft.p90,
        None if e2e is None else e2e.mean,
    )  # fmt: skip
    table.add_row(
        tokens(totals.requests), tokens(totals.failed), tokens(totals.retries),
        tokens(totals.prompt_tokens), hit,
        *("–" if s is None else f"{1000 * s:,.1f} ms" for s in means),
    )  # fmt: skip
    print_table(table)


def before(found: "Found") -> Iterator[str]:
    """What the server does not take, one sentence each."""
    taken, wanted = found.dialect, Dialect("ids")
    why = {refused.prompts: words for refused, words in reversed(found.refused)}
    if taken.prompts != wanted.prompts and "ids" in why:
        yield (
            f"the server refuses token ids ({why['ids']}); it gets words instead, sent as "
            f"{taken.in_words()}"
        )
    if not taken.ignore_eos:
        yield "the server refuses ignore_eos: answers may end before their length in the log"
    if not taken.usage:
        yield "the server refuses stream_options: hits and token counts stay unknown"


def after(totals: AnswerTotals) -> Iterator[str]:
    """What a reader of the figures must know, one sentence each."""
    unknown = totals.unknown_hits
    if unknown and unknown == totals.completed:
        yield (
            "the server reports no cached tokens, so hits are unknown; "
            "vLLM does with --enable-prompt-tokens-details"
        )
    elif unknown:
        yield f"{counted(unknown, 'answer')} without cached tokens: left out of the hits"
    if totals.recounted:
        yield (
            f"the server counts other tokens in {counted(totals.recounted, 'prompt')} than were "
            "sent; does it add its own?"
        )
    if totals.stopped_early:
        yield (
            f"{counted(totals.stopped_early, 'answer')} shorter than asked: "
            "the server stopped early"
        )
    if totals.retries:
        yield (
            f"{totals.retries:,} retries of {counted(totals.retried_requests, 'request')}: "
            "their waits are in the TTFT"
        )
    if totals.failed:
        yield (
            f"{counted(totals.failed, 'request')} failed; the first: "
            f"the server {totals.first_error}"
        )
