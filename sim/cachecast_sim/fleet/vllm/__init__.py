"""vLLM's automatic prefix cache and scheduler (0.32.0), to the token."""
