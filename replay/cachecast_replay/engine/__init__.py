"""A small torch engine that really reuses K and V; it imports nothing of the simulator."""
