"""Fleets of self-hosted servers: engines with their caches and schedulers, routers, tiers."""
