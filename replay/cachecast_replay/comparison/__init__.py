"""Predicted against measured: request by request, step by step, and against the noise floor."""
