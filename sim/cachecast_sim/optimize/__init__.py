"""The best marker policy for a log: every candidate judged, and how far it is from the bounds."""
