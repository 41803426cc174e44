"""One normaliser per API: the provider's raw usage object in, disjoint token classes out."""
