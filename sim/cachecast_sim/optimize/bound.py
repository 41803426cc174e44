"""The clairvoyant bound: what no policy of markers and pings can go below."""

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import compiled

Ints = npt.NDArray[np.int64]

SHORT_US = 300_000_000
LONG_US = 3_600_000_000
_FAR = 1 << 60


@compiled
def clairvoyant(
    first_scope, last_scope, scope_requests, arrival, offsets, ids, tokens, is_segment, total,
    price, output_cost, prices, cheapest_read, scope_entries, grace_us,
):  # fmt: skip
    """Picounits that the scopes cost at least.

    Each segment of the prefix tree decides by itself and knows the future: nothing stored, an
    entry of 5m or one of 1h; between two uses it is kept alive by pings that pay its reads alone,
    or lapses. Whoever reads it may make it live an hour: a 1h marker behind a read pays only for
    the tokens between them. Segments end at positions that every prompt with that prefix has (`is_segment`).
    What stands behind a prompt's last segment is read where an earlier prompt had such a position,
    else fresh.
    """
    most = 0
    for scope in range(first_scope, last_scope):
        most = max(most, scope_entries[scope])
    cost = np.empty((most, 3), dtype=np.int64)  # nothing stored, 5m, 1h
    used = np.empty(most, dtype=np.int64)  # the last use, -1 for none
    width = np.empty(most, dtype=np.int64)
    known = np.empty(most, dtype=np.bool_)
    found = 0
    for scope in range(first_scope, last_scope):
        entries = scope_entries[scope]
        used[:entries] = -1
        known[:entries] = False
        for request in range(scope_requests[scope], scope_requests[scope + 1]):
            fresh, read, short, long = prices[price[request], :4]
            now = arrival[request]
            at_segment, held = 0, 0
            for at in range(offsets[request], offsets[request + 1]):
                entry = ids[at]
                if known[entry]:
                    held = tokens[at]
                if not is_segment[at]:
                    continue
                width[entry] = tokens[at] - at_segment
                at_segment = tokens[at]
                before = cost[entry]
                if used[entry] < 0:
                    before[0], before[1], before[2] = 0, _FAR, _FAR
                gap = now - used[entry]
                least = min(before[0], before[1], before[2])
                kept = read + min(
                    before[1] + cheapest_read * _pings_of_short(gap, grace_us),
                    before[2] + cheapest_read * _pings(gap, LONG_US + grace_us),
                )
                before[0] = least + fresh
                before[1] = least + short
                before[2] = min(least + long, kept)
                used[entry] = now
            for at in range(offsets[request], offsets[request + 1]):
                known[ids[at]] = True
            plain = min(fresh, short, long)
            shared = max(held - at_segment, 0)
            rest = total[request] - at_segment - shared
            found += shared * min(read, plain) + rest * plain + output_cost[request]
        for entry in range(entries):
            if used[entry] >= 0:
                found += min(cost[entry, 0], cost[entry, 1], cost[entry, 2]) * width[entry]
    return found


@compiled
def _pings_of_short(gap, grace_us):
    """The same for a 5m entry, whose first ping can make it live an hour."""
    short = SHORT_US + grace_us
    return 0 if gap <= short else 1 + _pings(gap - short, LONG_US + grace_us)


@compiled
def _pings(gap, life):
    """How many pings keep an entry alive over a pause."""
    return max(0, (gap + life - 1) // life - 1)
