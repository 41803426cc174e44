"""Every change of `--change`, by name: one file here and one line below."""

from collections.abc import Callable

from cachecast_datasets.errors import BadInput
from cachecast_pricing.catalog import Catalog
from cachecast_pricing.rules.settings import RULE_KEYS
from cachecast_sim.whatif.change import Change
from cachecast_sim.whatif.changes import (
    batch,
    compaction,
    keep_alive,
    model,
    prewarm,
    response,
    scenario_key,
    stable_order,
    summary_last,
    tenant,
    ttl,
    volatile,
)

Maker = Callable[[str, str, Catalog], Change]  # (as it was written, its value, prices)

CHANGES: dict[str, Maker] = {
    **dict.fromkeys((*RULE_KEYS, "tier", "on", "currency"), scenario_key.make),
    "ttl": ttl.make,
    "keep-alive": keep_alive.make,
    "batch": batch.make,
    "model": model.make,
    "volatile": volatile.make,
    "order": stable_order.make,
    "summary": summary_last.make,
    "compaction": compaction.make,
    "tenant": tenant.make,
    "cache-key": tenant.make_key,
    "prewarm": prewarm.make,
    "response": response.make,
}


def change_of(text: str, catalog: Catalog, *also: str) -> Change:
    """The change that `NAME=VALUE` asks for; BadInput lists the names, `also` among them."""
    name, _, value = (part.strip() for part in text.partition("="))
    if name not in CHANGES:
        known = ", ".join((*CHANGES, *also))
        raise BadInput(f"--change {text}: unknown change {name!r}; known: {known}")
    return CHANGES[name](f"{name}={value}" if value else text.strip(), value, catalog)
