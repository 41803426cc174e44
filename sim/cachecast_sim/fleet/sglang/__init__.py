"""SGLang 0.5.23: its radix cache to the token, and a server that batches with it."""
