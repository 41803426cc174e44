"""Rate cards, usage arithmetic and each provider's cache rules; no I/O but the catalogue."""
