"""A changed replay against the replayed baseline: money, hits, who wins and who loses."""

from dataclasses import dataclass

from cachecast_sim.whatif.replay import Replay


@dataclass(frozen=True, slots=True)
class Difference:
    """Changed minus baseline. `charge` in picounits, None where the two have no common currency.

    Sessions count as better or worse by what they paid; None with `charge`.
    """

    charge: int | None
    hit_tokens: int
    prefill_tokens: int
    sessions: int
    better: int | None
    worse: int | None

    @property
    def share_worse(self) -> float | None:
        """Sessions that pay more, of all."""
        return self.worse / self.sessions if self.worse is not None and self.sessions else None


def difference(changed: Replay, baseline: Replay) -> Difference:
    """What the changes did."""
    sessions = baseline.sessions
    charge = better = worse = None
    if _comparable(changed, baseline):
        charge = changed.totals.money.total - baseline.totals.money.total
        steps = [changed.sessions.get(key, 0) - paid for key, paid in sessions.items()]
        better, worse = sum(step < 0 for step in steps), sum(step > 0 for step in steps)
    return Difference(
        charge=charge,
        hit_tokens=changed.hit_tokens - baseline.hit_tokens,
        prefill_tokens=changed.prefill_tokens - baseline.prefill_tokens,
        sessions=len(sessions),
        better=better,
        worse=worse,
    )


def _comparable(changed: Replay, baseline: Replay) -> bool:
    """Both price the same requests in one currency (or nothing was left for the provider)."""
    ours, theirs = changed.totals, baseline.totals
    if ours.unpriced_requests != theirs.unpriced_requests:
        return False
    if not theirs.priced or not (ours.priced or not ours.requests):
        return False
    return not ours.priced or ours.money.currency == theirs.money.currency
