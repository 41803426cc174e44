"""Every policy through every scope in machine code, by the same steps as the rules.

`MarkedBoundaries` and `EntryStore` are the law; a property test holds this copy equal to them. A
scope is simulated once for each policy while its requests are in the processor's cache.
"""

import numpy as np
import numpy.typing as npt

from cachecast_sim.curve.jit import compiled, inlined
from cachecast_sim.optimize.tables import Events, Ints, Log, Policies, Rules
from cachecast_sim.provider import FIRST_TOKEN_BASE_US, FIRST_TOKEN_US_PER_TOKEN

MOST_MARKS = 5  # four of the caller, one that the API adds on a server tool's result
FIVE_MINUTES_US = 300_000_000

# Columns of a plan: when the response starts, its request's arrival, the entry that is read (-1:
# none), tokens read, how many entries it writes, and these with their lifetimes and tokens.
START, ARRIVAL, HIT, READ, WRITES, ENTRY = 0, 1, 2, 3, 4, 5
LIFE, TOKENS, PLAN = ENTRY + MOST_MARKS, ENTRY + 2 * MOST_MARKS, ENTRY + 3 * MOST_MARKS


@inlined
def most(first: int, last: int, log: Log, events: Events) -> tuple[int, int, int]:
    """The largest scope in entries, sessions and events."""
    entries = sessions = happens = 0
    for scope in range(first, last):
        entries = max(entries, log.scope_entries[scope])
        sessions = max(sessions, log.scope_sessions[scope + 1] - log.scope_sessions[scope])
        happens = max(happens, events.scope_events[scope + 1] - events.scope_events[scope])
    return entries, sessions, happens


@inlined
def place(
    policy: int,
    request: int,
    chosen: Ints,
    lives: Ints,
    placed: Ints,
    server_mark: Ints,
    mark_at: Ints,
    mark_life: Ints,
) -> int:
    """The request's markers, ascending, a 1h one lifting those before it; how many there are."""
    count = 0
    for k in range(MOST_MARKS):
        own = k < MOST_MARKS - 1
        if own and chosen[policy, k] < 0:
            continue
        if not own:  # the API's own comes last, where there is any other, and lifts nothing
            for i in range(count - 1, 0, -1):
                mark_life[i - 1] = max(mark_life[i - 1], mark_life[i])
        at = placed[request, chosen[policy, k]] if own else server_mark[request]
        if at < 0 or not (own or count):
            continue
        i = count
        while i > 0 and mark_at[i - 1] > at:
            i -= 1
        if i > 0 and mark_at[i - 1] == at:
            if own:
                mark_life[i - 1] = max(mark_life[i - 1], lives[policy, k])
            continue
        for j in range(count, i, -1):
            mark_at[j], mark_life[j] = mark_at[j - 1], mark_life[j - 1]
        mark_at[i] = at
        mark_life[i] = lives[policy, k] if own else FIVE_MINUTES_US
        count += 1
    return count


@inlined
def find(
    start: int,
    count: int,
    now: int,
    ids: npt.NDArray[np.int32],
    ordinals: Ints,
    lookback: int,
    expiry: Ints,
    ready: Ints,
    mark_at: Ints,
) -> int:
    """Where the entry stands that is read, -1 for none. No position is looked at twice."""
    found = -1
    looked = start + mark_at[count - 1] + 1
    for k in range(count - 1, -1, -1):
        top = ordinals[start + mark_at[k]]
        at = min(start + mark_at[k], looked - 1)
        while at >= start and top - ordinals[at] < lookback:
            entry = ids[at]
            if expiry[entry] >= now and ready[entry] <= now:
                found = at
                break
            at -= 1
        if found >= 0:
            break
        looked = min(looked, at + 1)
    return found


@inlined
def written(
    row: int,
    usable: int,
    count: int,
    start: int,
    read: int,
    ids: npt.NDArray[np.int32],
    tokens: Ints,
    plan: Ints,
    mark_at: Ints,
    mark_life: Ints,
) -> tuple[int, int]:
    """Where the last marker stands, and the last 1h one, in tokens; the plan gets the entries."""
    until, hour = read, read
    for i in range(count - usable):
        at = start + mark_at[usable + i]
        until = max(until, tokens[at])
        if mark_life[usable + i] > FIVE_MINUTES_US:
            hour = max(hour, tokens[at])
        plan[row, ENTRY + i] = ids[at]
        plan[row, LIFE + i] = mark_life[usable + i]
        plan[row, TOKENS + i] = tokens[at]
    return until, hour


@inlined
def delay(ping: int, first_us: int, end_us: int, fixed_us: int, unread: int) -> int:
    """Microseconds to the first token (`provider.first_token_us`); a ping's is not in the log."""
    delay = FIRST_TOKEN_BASE_US + FIRST_TOKEN_US_PER_TOKEN * unread
    if first_us >= 0 and not ping:
        delay = first_us
    elif fixed_us >= 0:
        delay = fixed_us
    elif end_us >= 0 and not ping:
        delay = min(delay, end_us)
    return delay


@inlined
def queue_up(row: int, waiting: int, queue: Ints, plan: Ints) -> int:
    """The row waits behind all that start no later; how many wait now."""
    at = waiting
    while at > 0 and plan[queue[at - 1], START] > plan[row, START]:
        queue[at] = queue[at - 1]
        at -= 1
    queue[at] = row
    return waiting + 1


@inlined
def start_due(
    now: int,
    waiting: int,
    queue: Ints,
    plan: Ints,
    expiry: Ints,
    ready: Ints,
    life: Ints,
    grace_us: int,
    upgrade: bool,
) -> int:
    """Every response that starts up to `now`; how many still wait."""
    started = 0
    while started < waiting and plan[queue[started], START] <= now:
        start(queue[started], plan, expiry, ready, life, grace_us, upgrade)
        started += 1
    if started:
        for i in range(waiting - started):
            row = queue[i]
            queue[i] = queue[i + started]
            queue[i + started] = row
    return waiting - started


@inlined
def start(
    row: int, plan: Ints, expiry: Ints, ready: Ints, life: Ints, grace_us: int, upgrade: bool
) -> None:
    """A response starts: `EntryStore.write`."""
    now, arrival, hit = plan[row, START], plan[row, ARRIVAL], plan[row, HIT]
    if hit >= 0:
        expiry[hit] = max(expiry[hit], arrival + life[hit] + grace_us)
    for i in range(plan[row, WRITES]):
        entry, asked = plan[row, ENTRY + i], plan[row, LIFE + i]
        if expiry[entry] < now:
            life[entry] = asked
            ready[entry] = now
        elif asked > life[entry] and (upgrade or plan[row, TOKENS + i] > plan[row, READ]):
            life[entry] = asked
        expiry[entry] = max(expiry[entry], arrival + life[entry] + grace_us)


@compiled
def judge(
    first: int,
    last: int,
    log: Log,
    events: Events,
    policies: Policies,
    rules: Rules,
    totals: Ints,
    best: Ints,
) -> None:
    """Adds each policy's charge over the scopes `first <= s < last` to `totals` (picounits).

    `best` (per session) is lowered to the charge of each policy.
    """
    # One function, longer than a screen: cut by scope and by step it took 14 to 45 %
    # longer, whether the columns stayed apart or stood in one table.
    # Arrays out of their tuples once: a tuple's field costs a count of references at every use.
    # Five times slower otherwise (benchmarks/optimize.py).
    offsets, ids, tokens, ordinals = log.offsets, log.ids, log.tokens, log.ordinals
    placed, server_mark, minimum, total = log.placed, log.server_mark, log.minimum, log.total
    size, output, first_us, end_us = log.size, log.output, log.first_us, log.end_us
    lost, session, prices = log.lost, log.session, log.prices
    time, request_of, ping_of, price_of = events.time, events.request, events.ping, events.price
    chosen, lives, times = policies.chosen, policies.lives, policies.times
    lookback, grace_us, upgrade = rules.lookback, rules.grace_us, rules.upgrade
    fixed_us = rules.fixed_us
    most_entries, most_sessions, most_events = most(first, last, log, events)
    # by entry: -1 as its expiry says that there is none
    expiry = np.empty(most_entries, np.int64)
    ready = np.empty(most_entries, np.int64)
    life = np.empty(most_entries, np.int64)
    costs = np.empty(most_sessions, np.int64)
    mark_at = np.empty(MOST_MARKS, np.int64)
    mark_life = np.empty(MOST_MARKS, np.int64)
    # responses that have not started: rows of `plan` in `queue` by their start, then the free rows
    queue = np.arange(most_events + 1)
    plan = np.empty((most_events + 1, PLAN), np.int64)
    for scope in range(first, last):
        first_session = log.scope_sessions[scope]
        sessions = log.scope_sessions[scope + 1] - first_session
        first_event, last_event = events.scope_events[scope], events.scope_events[scope + 1]
        for policy in range(len(times)):
            expiry[: log.scope_entries[scope]] = -1
            costs[:sessions] = 0
            waiting = 0
            for event in range(first_event, last_event):
                ping = ping_of[event]
                if ping > times[policy]:
                    continue
                now, request = time[event], request_of[event]
                waiting = start_due(
                    now, waiting, queue, plan, expiry, ready, life, grace_us, upgrade
                )
                row, base = queue[waiting], offsets[request]
                count = place(
                    policy, request, chosen, lives, placed, server_mark, mark_at, mark_life
                )
                usable = 0
                while usable < count and tokens[base + mark_at[usable]] < minimum[request]:
                    usable += 1
                hit, read = -1, 0
                if usable < count:
                    found = find(base, count, now, ids, ordinals, lookback, expiry, ready, mark_at)
                    if found >= 0:
                        hit, read = ids[found], tokens[found]
                until, hour = written(
                    row, usable, count, base, read, ids, tokens, plan, mark_at, mark_life
                )
                price = price_of[event]
                costs[session[request] - first_session] += (
                    (total[request] - until) * prices[price, 0] + read * prices[price, 1]
                    + (until - hour) * prices[price, 2] + (hour - read) * prices[price, 3]
                    + (1 if ping else output[request]) * prices[price, 4]
                )  # fmt: skip
                if lost[request] and not ping:
                    continue
                starts = now + delay(
                    ping, first_us[request], end_us[request], fixed_us, size[request] - read
                )
                plan[row, START], plan[row, ARRIVAL] = starts, now
                plan[row, HIT], plan[row, READ], plan[row, WRITES] = hit, read, count - usable
                alone = waiting == 0 and (event + 1 == last_event or time[event + 1] >= starts)
                if starts == now or alone:  # nobody looks before it starts
                    start(row, plan, expiry, ready, life, grace_us, upgrade)
                else:
                    waiting = queue_up(row, waiting, queue, plan)
            for i in range(sessions):
                totals[policy] += costs[i]
                best[first_session + i] = min(best[first_session + i], costs[i])
