"""How large a count or a time may be: far beyond real logs, inside what can be summed."""

MAX_TOKENS = 10**9  # of one prompt or answer; sums over a log and prices in picounits stay 64-bit
MAX_S = 10**10  # 317 years
MAX_US = MAX_S * 1_000_000
MOMENTS = "a time from 1970-01-01T00:00:00Z to 2286-11-20T17:46:40Z (0 to 10^10 s)"
