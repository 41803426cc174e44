"""A link over which KV blocks travel, one transfer after the other."""

from dataclasses import dataclass
from fractions import Fraction

NS = 1_000_000_000


@dataclass(slots=True)
class Link:
    """Bandwidth and latency of one way; `free_ns` is when the transfers before have left it."""

    bytes_per_s: Fraction
    latency_ns: int
    free_ns: int = 0

    def send(self, size_bytes: int, now_ns: int) -> int:
        """When `size_bytes`, handed over now, have arrived: they wait for those before them."""
        start = max(now_ns, self.free_ns)
        self.free_ns = start + -(-size_bytes * NS // self.bytes_per_s)
        return self.free_ns + self.latency_ns
