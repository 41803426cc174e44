"""Synthetic request logs with stated parameters and a seed, for people who have none yet."""
