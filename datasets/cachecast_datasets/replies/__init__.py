"""A provider's response in: usage in disjoint classes, status, diagnosis and the answer's hash."""
