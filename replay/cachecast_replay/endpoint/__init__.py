"""A client for OpenAI-compatible servers: the same requests, streamed, timed and counted."""
