"""Every policy through every scope in machine code, by the same steps as the rules.

`MarkedBoundaries` and `EntryStore` are the law; a property test holds this copy equal to them. A
scope is simulated once for each policy while its requests are in the processor's cache.
"""

import numba as nb
import numpy as np

from cachecast_sim.curve.jit import compiled

MOST_MARKS = 5  # four of the caller, one that the API adds on a server tool's result
FIRST_TOKEN_BASE_US = 500_000  # as in the provider world
FIRST_TOKEN_US_PER_TOKEN = 100
_FIVE_MINUTES_US = 300_000_000

_inline = nb.njit(cache=True, inline="always")


@compiled
def judge(
    first_scope, last_scope, scope_events, event_time, event_request, event_ping, event_price,
    offsets, ids, tokens, ordinals, placed, server_mark, minimum, total, size, output, first_us,
    end_us, lost, session, scope_entries, scope_sessions, prices, chosen, lives, times,
    lookback, grace_us, upgrade, fixed_us, most_entries, most_sessions, most_events,
    totals, best,
):  # fmt: skip
    """Adds each policy's charge to `totals`, lowers `best` (per session) to its charge.

    Requests are rows of `offsets`; `placed[request, place]` is the index among the request's
    positions, -1 for none. `chosen[policy]` are places (-1: none), `lives` their lifetimes in
    microseconds, `times` the pings sent at most. Everything else as in `layout.py`.
    """
    expiry = np.empty(most_entries, dtype=np.int64)
    ready = np.empty(most_entries, dtype=np.int64)
    life = np.empty(most_entries, dtype=np.int64)
    costs = np.empty(most_sessions, dtype=np.int64)
    mark_at = np.empty(MOST_MARKS, dtype=np.int64)
    mark_life = np.empty(MOST_MARKS, dtype=np.int64)
    # responses that have not started, by the moment when they do
    due = np.empty((most_events, 5), dtype=np.int64)  # at, arrival, hit, read, number of writes
    due_id = np.empty((most_events, MOST_MARKS), dtype=np.int64)
    due_life = np.empty((most_events, MOST_MARKS), dtype=np.int64)
    due_tokens = np.empty((most_events, MOST_MARKS), dtype=np.int64)
    now_id = np.empty(MOST_MARKS, dtype=np.int64)
    now_life = np.empty(MOST_MARKS, dtype=np.int64)
    now_tokens = np.empty(MOST_MARKS, dtype=np.int64)
    for scope in range(first_scope, last_scope):
        first_event, last_event = scope_events[scope], scope_events[scope + 1]
        first_session = scope_sessions[scope]
        sessions = scope_sessions[scope + 1] - first_session
        for policy in range(len(times)):
            expiry[: scope_entries[scope]] = -1
            costs[:sessions] = 0
            waiting = 0
            for event in range(first_event, last_event):
                ping = event_ping[event]
                if ping > times[policy]:
                    continue
                now, request = event_time[event], event_request[event]
                started = 0
                while started < waiting and due[started, 0] <= now:
                    _write(
                        expiry, ready, life, grace_us, upgrade, due[started, 0],
                        due[started, 1], due[started, 2], due[started, 3], due[started, 4],
                        due_id[started], due_life[started], due_tokens[started],
                    )  # fmt: skip
                    started += 1
                if started:
                    waiting -= started
                    for i in range(waiting):
                        due[i] = due[i + started]
                        due_id[i] = due_id[i + started]
                        due_life[i] = due_life[i + started]
                        due_tokens[i] = due_tokens[i + started]
                start = offsets[request]
                marks = _marks(
                    chosen[policy], lives[policy], placed[request], server_mark[request],
                    mark_at, mark_life,
                )  # fmt: skip
                usable = 0
                while usable < marks and tokens[start + mark_at[usable]] < minimum[request]:
                    usable += 1
                hit, read = -1, 0
                if usable < marks:
                    found = _find(
                        ids, ordinals, start, mark_at, marks, lookback, ready, expiry, now
                    )
                    if found >= 0:
                        hit, read = ids[found], tokens[found]
                last, hour = read, read
                writes = marks - usable
                for i in range(writes):
                    at = start + mark_at[usable + i]
                    if tokens[at] > last:
                        last = tokens[at]
                    if mark_life[usable + i] > _FIVE_MINUTES_US and tokens[at] > hour:
                        hour = tokens[at]
                    now_id[i] = ids[at]
                    now_life[i] = mark_life[usable + i]
                    now_tokens[i] = tokens[at]
                price = prices[event_price[event]]
                answer = 1 if ping else output[request]
                costs[session[request] - first_session] += (
                    (total[request] - last) * price[0] + read * price[1]
                    + (last - hour) * price[2] + (hour - read) * price[3] + answer * price[4]
                )  # fmt: skip
                if lost[request] and not ping:
                    continue
                delay = _delay(
                    ping, first_us[request], end_us[request], fixed_us, size[request] - read
                )
                at = now + delay
                if delay == 0 or (
                    waiting == 0 and (event + 1 == last_event or event_time[event + 1] >= at)
                ):
                    _write(
                        expiry, ready, life, grace_us, upgrade, at, now, hit, read, writes,
                        now_id, now_life, now_tokens,
                    )  # fmt: skip
                    continue
                slot = waiting
                while slot > 0 and due[slot - 1, 0] > at:
                    due[slot] = due[slot - 1]
                    due_id[slot] = due_id[slot - 1]
                    due_life[slot] = due_life[slot - 1]
                    due_tokens[slot] = due_tokens[slot - 1]
                    slot -= 1
                due[slot, 0], due[slot, 1], due[slot, 2] = at, now, hit
                due[slot, 3], due[slot, 4] = read, writes
                due_id[slot] = now_id
                due_life[slot] = now_life
                due_tokens[slot] = now_tokens
                waiting += 1
            for i in range(sessions):
                totals[policy] += costs[i]
                if costs[i] < best[first_session + i]:
                    best[first_session + i] = costs[i]


@_inline
def _delay(ping, first_us, end_us, fixed_us, unread):
    """Microseconds to the first token; -1 stands for what the log does not tell."""
    if first_us >= 0 and not ping:
        return first_us
    if fixed_us >= 0:
        return fixed_us
    estimate = FIRST_TOKEN_BASE_US + FIRST_TOKEN_US_PER_TOKEN * unread
    if end_us >= 0 and not ping and end_us < estimate:
        return end_us
    return estimate


@_inline
def _marks(chosen, lives, placed, server_mark, mark_at, mark_life):
    """The request's markers, ascending, a 1h one lifting those before it; how many there are."""
    marks = 0
    for k in range(len(chosen)):
        if chosen[k] < 0:
            break
        at = placed[chosen[k]]
        if at < 0:
            continue
        i = marks
        while i > 0 and mark_at[i - 1] > at:
            i -= 1
        if i > 0 and mark_at[i - 1] == at:
            mark_life[i - 1] = max(mark_life[i - 1], lives[k])
            continue
        for j in range(marks, i, -1):
            mark_at[j], mark_life[j] = mark_at[j - 1], mark_life[j - 1]
        mark_at[i], mark_life[i] = at, lives[k]
        marks += 1
    for i in range(marks - 1, 0, -1):
        mark_life[i - 1] = max(mark_life[i - 1], mark_life[i])
    if marks and server_mark >= 0:
        i = marks
        while i > 0 and mark_at[i - 1] > server_mark:
            i -= 1
        if i == 0 or mark_at[i - 1] != server_mark:
            for j in range(marks, i, -1):
                mark_at[j], mark_life[j] = mark_at[j - 1], mark_life[j - 1]
            mark_at[i], mark_life[i] = server_mark, _FIVE_MINUTES_US
            marks += 1
    return marks


@_inline
def _find(ids, ordinals, start, mark_at, marks, lookback, ready, expiry, now):
    """Where the entry stands that is read, -1 for none. No position is looked at twice."""
    looked = start + mark_at[marks - 1] + 1
    for k in range(marks - 1, -1, -1):
        at = start + mark_at[k]
        top = ordinals[at]
        if at >= looked:
            at = looked - 1
        while at >= start and top - ordinals[at] < lookback:
            entry = ids[at]
            if expiry[entry] >= now and ready[entry] <= now:
                return at
            at -= 1
        if at + 1 < looked:
            looked = at + 1
    return -1


@_inline
def _write(
    expiry, ready, life, grace_us, upgrade, now, arrived, hit, read, writes, write_id, write_life,
    write_tokens,
):  # fmt: skip
    """A response starts at `now`: `EntryStore.write`."""
    if hit >= 0:
        until = arrived + life[hit] + grace_us
        if until > expiry[hit]:
            expiry[hit] = until
    for i in range(writes):
        entry = write_id[i]
        until = arrived + write_life[i] + grace_us
        if expiry[entry] < now:
            life[entry] = write_life[i]
            ready[entry] = now
        elif write_life[i] > life[entry] and (upgrade or write_tokens[i] > read):
            life[entry] = write_life[i]
        else:
            until = arrived + life[entry] + grace_us
        if until > expiry[entry]:
            expiry[entry] = until
